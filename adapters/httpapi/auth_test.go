package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/uptrace/bunrouter"
	"go.yaml.in/yaml/v3"

	"github.com/sutra-engine/sutra/adapters/oidc"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

var testKeys = []Key{
	{Name: "ann", Role: Admin, Secret: "a"},
	{Name: "oda", Role: Operate, Secret: "o"},
	{Name: "wim", Role: Worker, Secret: "w", Tenants: []string{"t"}},
}

// issuer makes tokens and publishes the key that verifies them.
type issuer struct {
	url string
	key *rsa.PrivateKey
}

// newIssuer starts one; its discovery document leads to its keys.
func newIssuer(t *testing.T) issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.url, "jwks_uri": i.url + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k", Use: "sig"}}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// tokens takes what the issuer makes for the audience sutra, as an installation with Keycloak would.
func (i issuer) tokens(t *testing.T) Tokens {
	t.Helper()
	v := oidc.New(oidc.Config{Issuer: i.url, Transport: http.DefaultTransport, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	var serving sync.WaitGroup
	serving.Go(func() { _ = v.Serve(t.Context()) })
	t.Cleanup(func() { _ = v.Shut(context.Background()); serving.Wait() })
	return Tokens{
		Verifier: v, Audience: "sutra", NameClaim: "preferred_username", RoleClaim: "realm_access.roles", TenantClaim: "tenants",
		Roles: map[string]Role{"sutra-admin": Admin, "sutra-operator": Operate, "sutra-worker": Worker},
	}
}

// claims are a good token's, with changes; a change to nil takes a claim away.
func (i issuer) claims(role string, changes ...any) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": i.url, "aud": "sutra", "sub": "7f3a", "preferred_username": "mia", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"realm_access": map[string]any{"roles": []string{"offline_access", role}}, "tenants": []string{"t", "u"},
	}
	for n := 0; n < len(changes); n += 2 {
		if c[changes[n].(string)] = changes[n+1]; changes[n+1] == nil {
			delete(c, changes[n].(string))
		}
	}
	return c
}

func (i issuer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	return signed(t, jose.RS256, i.key, claims)
}

func signed(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// unsigned is a token under alg none.
func unsigned(t *testing.T, claims map[string]any) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none","kid":"k","typ":"JWT"}`)) + "." + part(body) + "."
}

// credential is one way to call, and what has to come of it on a route that is not open to all.
type credential struct {
	name    string
	header  string
	value   string
	status  int  // where it proves nothing
	role    Role // where it proves something
	who     string
	tenants []string // nil: all
}

func (c credential) want(route Route) int {
	switch {
	case route.Role == "":
		return http.StatusOK
	case c.status != 0:
		return c.status
	case !c.role.covers(route.Role):
		return http.StatusForbidden
	}
	return http.StatusOK
}

// keys are the ways to call with API keys.
func keys() []credential {
	const header = "X-Api-Key"
	out := []credential{
		{name: "a wrong key", header: header, value: "wrong", status: 401},
		{name: "an empty key", header: header, status: 401},
		{name: "a key without its scheme", header: "Authorization", value: "a", status: 401},
		{name: "a key as basic", header: "Authorization", value: "Basic a", status: 401},
	}
	for _, k := range testKeys {
		c := credential{name: string(k.Role) + " key", header: header, value: k.Secret, role: k.Role, who: k.Name, tenants: k.Tenants}
		out = append(out, c)
		c.name, c.header, c.value = c.name+" as a token", "Authorization", "bearer "+k.Secret
		out = append(out, c)
	}
	return out
}

// tokens are the ways to call with bearer tokens.
func tokens(t *testing.T, i issuer) []credential {
	t.Helper()
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	admin := i.claims("sutra-admin")
	out := []credential{
		{name: "wrong issuer", value: i.token(t, i.claims("sutra-admin", "iss", "https://evil.example")), status: 401},
		{name: "wrong audience", value: i.token(t, i.claims("sutra-admin", "aud", "shop")), status: 401},
		{name: "no audience", value: i.token(t, i.claims("sutra-admin", "aud", nil)), status: 401},
		{name: "expired", value: i.token(t, i.claims("sutra-admin", "exp", at(-time.Minute))), status: 401},
		{name: "never expires", value: i.token(t, i.claims("sutra-admin", "exp", nil)), status: 401},
		{name: "not yet valid", value: i.token(t, i.claims("sutra-admin", "nbf", at(time.Minute))), status: 401},
		{name: "another's key", value: signed(t, jose.RS256, stranger, admin), status: 401},
		{name: "alg none", value: unsigned(t, admin), status: 401},
		{name: "HS256 with the public key", value: signed(t, jose.HS256, public, admin), status: 401},
		{name: "HS256 with the public key's bytes", value: signed(t, jose.HS256, der, admin), status: 401},
		{name: "no JWT", value: "abc.def.ghi", status: 401},
		{name: "no role", value: i.token(t, i.claims("sutra-admin", "realm_access", nil)), who: "mia"},
		{name: "a role of another system", value: i.token(t, i.claims("admin")), who: "mia"},
		{name: "no tenant", value: i.token(t, i.claims("sutra-admin", "tenants", nil)), status: 403},
		{name: "an empty tenant", value: i.token(t, i.claims("sutra-admin", "tenants", []string{""})), status: 403},
		{name: "all tenants", value: i.token(t, i.claims("sutra-admin", "tenants", "*")), role: Admin, who: "mia"},
		{name: "one tenant, no name", value: i.token(t, i.claims("sutra-worker", "tenants", "t", "preferred_username", nil)), role: Worker, who: "7f3a", tenants: []string{"t"}},
	}
	for value, role := range i.tokens(t).Roles {
		out = append(out, credential{name: value, value: i.token(t, i.claims(value)), role: role, who: "mia", tenants: []string{"t", "u"}})
	}
	for n := range out {
		out[n].header, out[n].value = "Authorization", "Bearer "+out[n].value
	}
	return out
}

// TestEveryRouteAsksForItsRole runs the whole route table against every kind of credential, wherever keys, tokens or both are taken.
// What is behind the lock is a handler that only says who reached it.
func TestEveryRouteAsksForItsRole(t *testing.T) {
	i := newIssuer(t)
	none := credential{name: "nothing", status: 401}
	refusing := func(all []credential) []credential {
		for n := range all {
			all[n].status, all[n].role = 401, ""
		}
		return all
	}
	for name, tc := range map[string]struct {
		deps Deps
		all  []credential
	}{
		"keys":   {Deps{Keys: testKeys}, slices.Concat([]credential{none}, keys(), refusing(tokens(t, i)))},
		"tokens": {Deps{Tokens: i.tokens(t)}, slices.Concat([]credential{none}, refusing(keys()), tokens(t, i))},
		"both":   {Deps{Keys: testKeys, Tokens: i.tokens(t)}, slices.Concat([]credential{none}, keys(), tokens(t, i))},
	} {
		t.Run(name, func(t *testing.T) {
			tc.deps.Log, tc.deps.Clock, tc.deps.Watch = slog.New(slog.DiscardHandler), still{}, ports.Blind{}
			s := &Server{Deps: tc.deps}
			for _, route := range s.Routes() {
				for _, c := range tc.all {
					got, p, header := knock(t, s, route, c)
					about := fmt.Sprintf("%s %s with %s", route.Method, route.Path, c.name)
					if want := c.want(route); got != want {
						t.Errorf("%s: got %d, want %d", about, got, want)
					}
					if challenge := header.Get("WWW-Authenticate"); (got == 401) != strings.HasPrefix(challenge, `Bearer realm="sutra"`) {
						t.Errorf("%s: %d challenges with %q", about, got, challenge)
					}
					if got == 200 && route.Role != "" && (p.Name != c.who || p.Role != c.role || !slices.Equal(p.Tenants, c.tenants) || (p.Tenants == nil) != (c.tenants == nil)) {
						t.Errorf("%s: got in as %+v, want %s of %q", about, p, c.who, c.tenants)
					}
				}
			}
		})
	}
}

func TestWithoutKeysAndTokensTheAPIIsClosed(t *testing.T) {
	s := &Server{Deps: Deps{Clock: still{}, Watch: ports.Blind{}, Log: slog.New(slog.DiscardHandler)}}
	i := newIssuer(t)
	for _, route := range s.Routes() {
		want := http.StatusServiceUnavailable
		if route.Role == "" {
			want = http.StatusOK
		}
		for _, c := range append(keys(), tokens(t, i)...) {
			if got, _, _ := knock(t, s, route, c); got != want {
				t.Errorf("%s %s with %s: got %d, want %d", route.Method, route.Path, c.name, got, want)
			}
		}
	}
}

// TestAnIssuerThatWasNeverReachedIsSaidSo: the caller did nothing wrong, and may come again. Keys work meanwhile.
func TestAnIssuerThatWasNeverReachedIsSaidSo(t *testing.T) {
	away := issuer{url: "http://127.0.0.1:1"}
	away.key = newIssuer(t).key
	s := &Server{Deps: Deps{Clock: still{}, Watch: ports.Blind{}, Log: slog.New(slog.DiscardHandler), Keys: testKeys, Tokens: away.tokens(t)}}
	for _, route := range s.Routes() {
		if route.Role == "" {
			continue
		}
		got, _, header := knock(t, s, route, credential{header: "Authorization", value: "Bearer " + away.token(t, away.claims("sutra-admin"))})
		if got != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
			t.Errorf("%s %s: got %d, retry after %q", route.Method, route.Path, got, header.Get("Retry-After"))
		}
		if got, _, _ := knock(t, s, route, credential{header: "X-Api-Key", value: "a"}); got != http.StatusOK {
			t.Errorf("%s %s with a key: got %d", route.Method, route.Path, got)
		}
	}
}

// TestNobodyActsForATenantThatIsNotHis calls every route that takes a tenant, by the description, for one that the caller has not.
// Nothing is behind the handlers: one that asked before it refused would fall.
func TestNobodyActsForATenantThatIsNotHis(t *testing.T) {
	i := newIssuer(t)
	s := &Server{Deps: Deps{
		Clock: still{}, Watch: ports.Blind{}, Log: slog.New(slog.DiscardHandler), Tokens: i.tokens(t), MaxPayload: 1 << 10,
		Keys: []Key{{Name: "ann", Role: Admin, Secret: "a", Tenants: []string{"t", "u"}}},
	}}
	router := s.router()
	takes := tenantRoutes(t)
	for _, route := range s.Routes() {
		if !slices.Contains(takes, route.Method+" "+described(route.Path)) {
			continue
		}
		for header, value := range map[string]string{"X-Api-Key": "a", "Authorization": "Bearer " + i.token(t, i.claims("sutra-admin"))} {
			req := httptest.NewRequest(route.Method, strings.NewReplacer(":id", "00000000-0000-7000-8000-000000000001", ":", "").Replace(route.Path)+"?tenant=other", strings.NewReader(`{}`))
			req.Header.Set(header, value)
			req.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			router.ServeHTTP(w, req)
			empty := w.Code == http.StatusOK && strings.TrimSpace(w.Body.String()) == `{"items":[]}` // a list of what is not theirs
			if !empty && (w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "other")) {
				t.Errorf("%s %s: got %d %s", route.Method, route.Path, w.Code, w.Body)
			}
		}
	}
	if len(takes) < 5 {
		t.Errorf("only %q take a tenant: the search is broken", takes)
	}
}

// tenantRoutes are the described routes that have a parameter for the tenant.
func tenantRoutes(t *testing.T) []string {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []map[string]any `yaml:"parameters"`
		} `yaml:"paths"`
	}
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var out []string
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for _, p := range op.Parameters {
				if p["name"] == "tenant" || p["$ref"] == "#/components/parameters/tenant" {
					out = append(out, strings.ToUpper(method)+" "+path)
				}
			}
		}
	}
	return out
}

var parameter = regexp.MustCompile(`:([a-z]+)`)

// described is a route's path as the description has it.
func described(path string) string { return parameter.ReplaceAllString(path, "{$1}") }

func TestAChannelTakesTokensForItselfAlone(t *testing.T) {
	i := newIssuer(t)
	s := &Server{Deps: Deps{Clock: still{}, Watch: ports.Blind{}, Log: slog.New(slog.DiscardHandler), Keys: testKeys, Tokens: i.tokens(t)}}
	door := ports.Auth{Scheme: "bearer", Audience: "orders", Claims: map[string]string{"scope": "orders.write", "realm_access.roles": "shop"}}
	good := []any{"aud", "orders", "scope", "openid orders.write", "tenants", nil}
	token := func(role string, changes ...any) string {
		return "Bearer " + i.token(t, i.claims(role, append(slices.Clone(good), changes...)...))
	}
	for name, tc := range map[string]struct {
		auth   ports.Auth
		header string
		want   error
	}{
		"good":                       {door, token("shop"), nil},
		"nothing":                    {door, "", fault.Unauthorized},
		"an operator's":              {door, "Bearer " + i.token(t, i.claims("sutra-admin")), fault.Unauthorized},
		"an operator's key":          {door, "Bearer a", fault.Unauthorized},
		"expired":                    {door, token("shop", "exp", time.Now().Add(-time.Hour).Unix()), fault.Unauthorized},
		"wrong issuer":               {door, token("shop", "iss", "https://evil.example"), fault.Unauthorized},
		"alg none":                   {door, "Bearer " + unsigned(t, i.claims("shop", good...)), fault.Unauthorized},
		"another scope":              {door, token("shop", "scope", "orders.read"), fault.Forbidden},
		"a scope that begins so":     {door, token("shop", "scope", "orders.write.none"), fault.Forbidden},
		"another role":               {door, token("admin"), fault.Forbidden},
		"a key, where one is named":  {ports.Auth{Scheme: "bearer", Key: "k"}, "Bearer k", nil},
		"a token, where a key is":    {ports.Auth{Scheme: "bearer", Key: "k"}, token("shop"), fault.Unauthorized},
		"nothing, where no key came": {ports.Auth{Scheme: "bearer"}, "Bearer ", fault.Unauthorized},
	} {
		req := httptest.NewRequest(http.MethodPost, "/orders", http.NoBody)
		req.Header.Set("Authorization", tc.header)
		if err := s.admit(tc.auth, req); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
	}
	s.Tokens = Tokens{}
	req := httptest.NewRequest(http.MethodPost, "/orders", http.NoBody)
	req.Header.Set("Authorization", token("shop"))
	if err := s.admit(door, req); !errors.Is(err, fault.AdminClosed) {
		t.Errorf("without an issuer: got %v, want %s", err, fault.AdminClosed)
	}
}

// TestWhatProvesTheCallerIsNoPartOfTheMessage: neither tokens nor keys reach a process's variables.
func TestWhatProvesTheCallerIsNoPartOfTheMessage(t *testing.T) {
	req := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(`{}`))
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Partner-Key", "X-Trace"} {
		req.Header.Set(name, "value of "+name)
	}
	in, err := incoming(httptest.NewRecorder(), req, ports.Entrance{Limit: 100, Auth: ports.Auth{Scheme: "apikey", Header: "x-partner-key"}})
	if err != nil || !slices.Equal(in.Headers, []ports.Header{{Name: "X-Trace", Value: "value of X-Trace"}}) {
		t.Errorf("got %v, %v", in.Headers, err)
	}
}

func TestRolesContainEachOther(t *testing.T) {
	for _, tc := range []struct {
		has, need Role
		want      bool
	}{
		{Admin, Operate, true},
		{Admin, Worker, true},
		{Operate, Worker, true},
		{Operate, Admin, false},
		{Worker, Operate, false},
		{"", Worker, false},
		{"", "", false},
		{"root", Worker, false},
	} {
		if got := tc.has.covers(tc.need); got != tc.want {
			t.Errorf("%q covers %q: got %v", tc.has, tc.need, got)
		}
	}
}

func TestTheHighestRoleOfATokenCounts(t *testing.T) {
	i := newIssuer(t)
	tokens := i.tokens(t)
	for _, values := range [][]string{{"sutra-worker", "sutra-admin", "sutra-operator"}, {"sutra-admin", "sutra-worker"}} {
		p, err := tokens.principal(t.Context(), i.token(t, i.claims("", "realm_access", map[string]any{"roles": values})))
		if err != nil || p.Role != Admin {
			t.Errorf("%q: got %q, %v", values, p.Role, err)
		}
	}
	tokens.Tenants = []string{"w"}
	for _, tc := range []struct{ claim, want any }{{nil, "w"}, {"t", "t"}, {[]string{}, nil}, {"", nil}, {7, nil}, {map[string]any{"t": true}, nil}} {
		p, err := tokens.principal(t.Context(), i.token(t, i.claims("sutra-worker", "tenants", tc.claim)))
		if tc.want == nil && !errors.Is(err, fault.AdminForbidden) || tc.want != nil && (err != nil || !slices.Equal(p.Tenants, []string{tc.want.(string)})) {
			t.Errorf("tenants %v beside the configured one: got %q, %v", tc.claim, p.Tenants, err)
		}
	}
}

// still is a clock that stands.
type still struct{ ports.Clock }

func (still) Now() time.Time { return time.Time{} }

// knock calls a route whose handler was taken away, and answers the status, who got in, and the answer's header.
func knock(t *testing.T, s *Server, route Route, c credential) (int, Principal, http.Header) {
	t.Helper()
	var who Principal
	route.handle = func(w http.ResponseWriter, _ bunrouter.Request, p Principal) error {
		who = p
		w.WriteHeader(http.StatusOK)
		return nil
	}
	req := httptest.NewRequest(route.Method, "/", http.NoBody)
	if c.header != "" {
		req.Header.Set(c.header, c.value)
	}
	w := httptest.NewRecorder()
	if err := s.watched(route.Path, s.guarded(route))(w, bunrouter.NewRequest(req)); err != nil {
		t.Errorf("%s %s: %v", route.Method, route.Path, err)
	}
	return w.Code, who, maps.Clone(w.Result().Header)
}

// TestAKeyThatIsGivenCounts: who sends a wrong key is told so, whatever else they send.
func TestAKeyThatIsGivenCounts(t *testing.T) {
	i := newIssuer(t)
	s := &Server{Deps: Deps{Keys: testKeys, Tokens: i.tokens(t)}}
	req := httptest.NewRequest(http.MethodGet, "/sutra/instances", http.NoBody)
	req.Header.Set("Authorization", "Bearer "+i.token(t, i.claims("sutra-admin")))
	for key, want := range map[string]error{"wrong": fault.AdminUnknown, "a": nil} {
		req.Header.Set("X-Api-Key", key)
		if p, err := s.principal(req); !errors.Is(err, want) || want == nil && p.Name != "ann" {
			t.Errorf("key %q beside a good token: got %+v, %v; want %v", key, p, err, want)
		}
	}
}
