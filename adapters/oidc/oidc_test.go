package oidc

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/sutra-engine/sutra/ports/fault"
)

const issuer = "https://login.example/realms/sutra"

// server is the issuer, without a network, so that its clock is the test's.
type server struct {
	mu    sync.Mutex
	asked int
	away  bool
	keys  []any
	named string // the issuer of the discovery document
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.away {
		return nil, errors.New("nobody is there")
	}
	var document any = map[string]any{"keys": s.keys}
	if strings.HasSuffix(req.URL.Path, "/.well-known/openid-configuration") {
		document = map[string]string{"issuer": s.named, "jwks_uri": issuer + "/keys"}
	}
	body, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(string(body)))}, nil
}

func (s *server) set(away bool, keys ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.keys = away, keys
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// pair is a key of an issuer.
type pair struct {
	private *ecdsa.PrivateKey
	id      string
}

func newPair(t *testing.T, id string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pair{key, id}
}

func (p pair) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: &p.private.PublicKey, KeyID: p.id, Use: "sig", Algorithm: "ES256"}
}

func (p pair) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.private, KeyID: p.id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func good(change func(map[string]any)) map[string]any {
	claims := map[string]any{"iss": issuer, "aud": []string{"sutra", "other"}, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}
	if change != nil {
		change(claims)
	}
	return claims
}

// served is a verifier that knows what the server says. It is for a bubble.
func served(t *testing.T, s *server) *Verifier {
	t.Helper()
	if s.named == "" {
		s.named = issuer
	}
	v := New(Config{Issuer: issuer, Transport: s, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := v.Serve(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if err := v.Shut(t.Context()); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	synctest.Wait()
	return v
}

func TestOnlyAGoodTokenIsTaken(t *testing.T) {
	p, foreign := newPair(t, "one"), newPair(t, "one")
	set := func(name string, value any) func(map[string]any) { return func(c map[string]any) { c[name] = value } }
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	synctest.Test(t, func(t *testing.T) {
		v := served(t, &server{keys: []any{p.public()}})
		for name, tc := range map[string]struct {
			token, want string
		}{
			"good":                  {p.token(t, good(nil)), ""},
			"an audience alone":     {p.token(t, good(set("aud", "sutra"))), ""},
			"just over":             {p.token(t, good(set("exp", in(-Leeway/2)))), ""},
			"hardly begun":          {p.token(t, good(set("nbf", in(Leeway/2)))), ""},
			"expired":               {p.token(t, good(set("exp", in(-2*Leeway)))), "expired"},
			"not yet":               {p.token(t, good(set("nbf", in(2*Leeway)))), "not valid yet"},
			"of tomorrow":           {p.token(t, good(set("iat", in(2*Leeway)))), "future"},
			"for ever":              {p.token(t, good(func(c map[string]any) { delete(c, "exp") })), "no exp"},
			"of nobody":             {p.token(t, good(func(c map[string]any) { delete(c, "sub") })), "no sub"},
			"wrong issuer":          {p.token(t, good(set("iss", issuer+"/"))), "issuer"},
			"no issuer":             {p.token(t, good(func(c map[string]any) { delete(c, "iss") })), "issuer"},
			"wrong audience":        {p.token(t, good(set("aud", "other"))), "audience"},
			"no audience":           {p.token(t, good(func(c map[string]any) { delete(c, "aud") })), "audience"},
			"another's key":         {foreign.token(t, good(nil)), "no key"},
			"cut":                   {strings.TrimSuffix(p.token(t, good(nil)), "A")[:150], "no JWT"},
			"an API key":            {"change-me", "no JWT"},
			"nothing":               {"", "no JWT"},
			"a claim that was made": {tampered(t, p.token(t, good(nil))), "no key"},
		} {
			claims, err := v.Verify(t.Context(), tc.token, "sutra")
			switch {
			case tc.want == "" && (err != nil || claims.Text("sub") != "ann"):
				t.Errorf("%s: got %v, %v", name, claims, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%s: got %v, want %q", name, err, tc.want)
			}
		}
	})
}

// tampered has other claims under the signature of a good token.
func tampered(t *testing.T, token string) string {
	t.Helper()
	other := strings.Split(newPair(t, "one").token(t, good(func(c map[string]any) { c["sub"] = "root" })), ".")
	parts := strings.Split(token, ".")
	return parts[0] + "." + other[1] + "." + parts[2]
}

func TestKeysThatSignNothingAreLeftOut(t *testing.T) {
	p, enc := newPair(t, "one"), newPair(t, "enc")
	encryption := enc.public()
	encryption.Use = "enc"
	private := newPair(t, "private")
	keys := []any{
		map[string]string{"kty": "OKP", "crv": "X-unknown", "kid": "new"},
		jose.JSONWebKey{Key: []byte("a secret that is published"), KeyID: "oct"},
		jose.JSONWebKey{Key: private.private, KeyID: "private"},
		encryption, p.public(),
	}
	synctest.Test(t, func(t *testing.T) {
		v := served(t, &server{keys: keys})
		if _, err := v.Verify(t.Context(), p.token(t, good(nil)), "sutra"); err != nil {
			t.Error(err)
		}
		for _, other := range []pair{enc, private} {
			if _, err := v.Verify(t.Context(), other.token(t, good(nil)), "sutra"); err == nil {
				t.Errorf("a token under the key %s was taken", other.id)
			}
		}
	})
}

func TestANewKeyIsFetchedAndHostileOnesAreNotForEver(t *testing.T) {
	first, second := newPair(t, "first"), newPair(t, "second")
	s := &server{keys: []any{first.public()}}
	synctest.Test(t, func(t *testing.T) {
		v := served(t, s)
		s.set(false, first.public(), second.public())
		time.Sleep(pause)
		if _, err := v.Verify(t.Context(), second.token(t, good(nil)), "sutra"); err != nil {
			t.Errorf("the key that came with a rotation: %v", err)
		}
		before := s.count()
		var hostile sync.WaitGroup
		for i := range 100 {
			hostile.Go(func() {
				time.Sleep(time.Duration(i) * pause / 50) // two pauses long
				token := newPair(t, fmt.Sprint("hostile ", i)).token(t, good(nil))
				if _, err := v.Verify(t.Context(), token, "sutra"); err == nil {
					t.Error("a stranger's token was taken")
				}
			})
		}
		hostile.Wait()
		if asked := (s.count() - before) / 2; asked > 2 {
			t.Errorf("a hundred unknown keys in two pauses had the issuer asked %d times", asked)
		}
	})
}

func TestAnIssuerThatIsAwayBreaksNoKnownKey(t *testing.T) {
	p := newPair(t, "one")
	s := &server{keys: []any{p.public()}}
	synctest.Test(t, func(t *testing.T) {
		v := served(t, s)
		s.set(true)
		time.Sleep(3 * refresh)
		began := time.Now()
		if _, err := v.Verify(t.Context(), p.token(t, good(nil)), "sutra"); err != nil || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := v.Verify(t.Context(), newPair(t, "two").token(t, good(nil)), "sutra"); err == nil || errors.Is(err, fault.KeysUnavailable) {
			t.Errorf("an unknown key is no key, whoever is away: got %v", err)
		}
	})
}

func TestAKeyThatIsTakenBackIsTakenNoMore(t *testing.T) {
	gone, stays := newPair(t, "gone"), newPair(t, "stays")
	s := &server{keys: []any{gone.public(), stays.public()}}
	synctest.Test(t, func(t *testing.T) {
		v := served(t, s)
		s.set(false, stays.public())
		time.Sleep(refresh + time.Second)
		if _, err := v.Verify(t.Context(), gone.token(t, good(nil)), "sutra"); err == nil {
			t.Error("it was taken")
		}
	})
}

func TestAnIssuerThatWasNeverReachedIsNoFaultOfTheToken(t *testing.T) {
	p := newPair(t, "one")
	s := &server{away: true}
	synctest.Test(t, func(t *testing.T) {
		v := served(t, s)
		if _, err := v.Verify(t.Context(), p.token(t, good(nil)), "sutra"); !errors.Is(err, fault.KeysUnavailable) {
			t.Errorf("got %v, want %s", err, fault.KeysUnavailable)
		}
		s.set(false, p.public())
		time.Sleep(pause + time.Second)
		if _, err := v.Verify(t.Context(), p.token(t, good(nil)), "sutra"); err != nil {
			t.Errorf("after it came: %v", err)
		}
	})
}

func TestADiscoveryDocumentOfAnotherIssuerIsRefused(t *testing.T) {
	p := newPair(t, "one")
	synctest.Test(t, func(t *testing.T) {
		v := served(t, &server{keys: []any{p.public()}, named: "https://evil.example"})
		if _, err := v.Verify(t.Context(), p.token(t, good(nil)), "sutra"); !errors.Is(err, fault.KeysUnavailable) {
			t.Errorf("got %v, want %s", err, fault.KeysUnavailable)
		}
	})
}

func TestClaimsAreFoundByTheirPath(t *testing.T) {
	var claims Claims
	if err := json.Unmarshal([]byte(`{
		"roles": ["a", "", 7, "b"], "scope": "read write", "one": "x", "none": "", "flag": true, "number": 1,
		"realm_access": {"roles": ["deep"]}, "resource_access": {"my.client": {"roles": ["deeper"]}},
		"https://acme.example/roles": ["named"], "a": {"b": "inner"}, "a.b": "outer"
	}`), &claims); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"roles": {"a", "b"}, "scope": {"read", "write", "read write"}, "one": {"x"}, "none": {}, "flag": {"true"}, "number": nil, "missing": nil,
		"realm_access.roles": {"deep"}, "resource_access.my.client.roles": {"deeper"}, "https://acme.example/roles": {"named"},
		"realm_access": nil, "realm_access.": nil, "roles.0": nil, "": nil, "a.b": {"outer"},
	} {
		if got := claims.Values(path); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestASecretThatIsPublishedIsNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := served(t, &server{keys: []any{jose.JSONWebKey{Key: []byte("a secret that is published"), KeyID: "one"}}})
		if _, err := v.Verify(t.Context(), newPair(t, "one").token(t, good(nil)), "sutra"); !errors.Is(err, fault.KeysUnavailable) {
			t.Errorf("got %v, want %s", err, fault.KeysUnavailable)
		}
	})
}

// TestWhoAsksTooLateIsNotHeard: the question was answered while it was being asked.
func TestWhoAsksTooLateIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{keys: []any{newPair(t, "one").public()}}
		v := served(t, s)
		before := s.count()
		v.keys.asked <- struct{}{}
		synctest.Wait()
		if s.count() != before {
			t.Error("the issuer was asked twice at once")
		}
	})
}

func TestKeysInTheClearAreWarnedOf(t *testing.T) {
	for _, tc := range []struct {
		issuer, keys string
		want         bool
	}{
		{"https://login.example", "", false},
		{"http://login.example", "", true},
		{"https://login.example", "http://keycloak.auth:8080/keys", true},
		{"http://login.example", "https://login.example/keys", false},
		{"http://127.0.0.1:8080", "", false},
		{"http://[::1]:8080", "", false},
		{"http://localhost:8080", "", false},
		{"http://10.0.0.1", "", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			v := New(Config{Issuer: tc.issuer, KeysURL: tc.keys, Transport: &server{away: true}, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err := v.Shut(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := v.Serve(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(log.String(), "without TLS"); got != tc.want {
				t.Errorf("%s, keys %q: warned %v, want %v", tc.issuer, tc.keys, got, tc.want)
			}
		})
	}
}
