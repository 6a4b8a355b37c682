package scenario_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

// login is an identity provider.
type login struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newLogin(t *testing.T) *login {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l := &login{key: key}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var document any = map[string]string{"issuer": l.URL, "jwks_uri": l.URL + "/keys"}
		if r.URL.Path == "/keys" {
			document = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k", Use: "sig"}}}
		}
		_ = json.NewEncoder(w).Encode(document)
	}))
	t.Cleanup(l.Close)
	return l
}

// token is one for this audience, with more claims.
func (l *login) token(t *testing.T, audience string, more map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: l.key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).
		Claims(map[string]any{"iss": l.URL, "aud": audience, "sub": "7f3a", "name": "mia", "exp": time.Now().Add(time.Hour).Unix()}).Claims(more).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestTokensOpenTheAPIAndDoors goes the way of a person with an identity provider: deploys, is refused what is another
// tenant's, finds their name in the audit, and starts an instance through a door that takes tokens made for it. The provider then goes away.
func TestTokensOpenTheAPIAndDoors(t *testing.T) {
	l := newLogin(t)
	_, replicas := parts(t, scenario.Settings{
		"sutra.admin.oidc.issuer": l.URL, "sutra.admin.oidc.audience": "sutra", "sutra.admin.oidc.name-claim": "name",
		"sutra.admin.oidc.role-claim": "realm_access.roles", "sutra.admin.oidc.roles": "admin=boss,operate=reader",
	}, "a")
	a := replicas[0]
	person := func(role string, tenants ...string) string {
		return l.token(t, "sutra", map[string]any{"realm_access": map[string]any{"roles": []string{role}}, "tenants": tenants})
	}
	command := func(token string, args ...string) scenario.Ran {
		return a.Command(append(args, "--token="+token)...)
	}
	dir := edited(t, orders, "channels.yaml", "name: order\n    transport: http\n    event-id: header:Idempotency-Key\n    auth: {scheme: none}",
		"name: order\n    transport: http\n    event-id: header:Idempotency-Key\n    auth: {scheme: bearer, audience: orders, claims: {scope: write}}")
	for name, tc := range map[string]struct {
		token string
		code  int
		said  string
	}{
		"a reader":              {person("reader", "acme"), 3, "SUTRA.ADMIN.AUTH.FORBIDDEN"},
		"another tenant's boss": {person("boss", "elsewhere"), 3, "SUTRA.DEPLOY.TENANT.FORBIDDEN"},
		"a boss of nothing":     {person("boss"), 3, "names no tenant"},
		"no token":              {"abc", 3, "SUTRA.ADMIN.AUTH.UNAUTHORIZED"},
	} {
		if got := command(tc.token, "deploy", dir); got.Code != tc.code || !strings.Contains(got.Err, tc.said) {
			t.Errorf("deploy by %s: got %d\n%s\nwant %d and %q", name, got.Code, got.Err, tc.code, tc.said)
		}
	}
	boss := person("boss", "acme")
	if got := command(boss, "deploy", dir); got.Code != 0 {
		t.Fatalf("deploy: got %d\n%s", got.Code, got.Err)
	}
	if got := command(boss, "audit", "--action=deploy"); !strings.Contains(got.Out, "mia") {
		t.Errorf("the audit names nobody:\n%s\n%s", got.Out, got.Err)
	}

	send := func(n int, token string) scenario.Answer {
		t.Helper()
		answer, err := a.Call(scenario.Request{
			Method: http.MethodPost, Path: "/channels/order", Event: fmt.Sprintf("order-%d", n), Kind: "application/json", Token: token, Body: fmt.Appendf(nil, `{"order": %d}`, n),
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	ours := l.token(t, "orders", map[string]any{"scope": "read write"})
	for n, tc := range []struct {
		token  string
		status int
	}{
		{"", http.StatusUnauthorized},
		{boss, http.StatusUnauthorized},
		{l.token(t, "orders", map[string]any{"scope": "read"}), http.StatusForbidden},
	} {
		if got := send(n, tc.token); got.Status != tc.status {
			t.Errorf("token %d at the door: got %s, want %d", n, got, tc.status)
		}
	}
	l.Close()
	if got := send(9, ours); !got.Good() {
		t.Fatalf("a good token at the door, while its issuer is away: got %s", got)
	}
	for tenant, want := range map[string]int{"acme": 1, "elsewhere": 0} {
		answer, err := a.Call(scenario.Request{Method: http.MethodGet, Path: "/sutra/instances", Token: person("reader", tenant)})
		var page wire.Page[wire.Instance]
		if err != nil || json.Unmarshal(answer.Body, &page) != nil || len(page.Items) != want {
			t.Errorf("the instances that a reader of %s sees: got %s, %v; want %d", tenant, answer, err, want)
		}
	}
}
