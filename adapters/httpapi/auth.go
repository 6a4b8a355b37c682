package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/adapters/oidc"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Role is what a caller may do. Admin may do what Operate may, and Operate what Worker may.
type Role string

// The roles.
const (
	Admin   Role = "admin"
	Operate Role = "operate"
	Worker  Role = "worker"
)

func (r Role) covers(need Role) bool { return r.Known() && r.rank() >= need.rank() }

// Known says that it is one of the three.
func (r Role) Known() bool { return r.rank() > 0 }

func (r Role) rank() int { return slices.Index([]Role{Worker, Operate, Admin}, r) + 1 }

// Key is one API key. Its bytes are compared in constant time.
type Key struct {
	Name    string // of its owner, for the audit
	Role    Role
	Secret  string
	Tenants []string // nil: all
}

// Tokens says which bearer tokens the API takes, and what their claims mean to it.
type Tokens struct {
	Verifier    *oidc.Verifier // nil: no token is taken
	Audience    string         // that a token has to be made for
	NameClaim   string         // whom the audit names; sub, where a token has it not
	RoleClaim   string
	Roles       map[string]Role // what a value of the role claim means; any other means nothing
	TenantClaim string
	Tenants     []string // of a token without the tenant claim; empty: it may do nothing
}

// anyTenant is the value of a tenant claim that stands for all.
const anyTenant = "*"

// Principal is who calls.
type Principal struct {
	Name    string
	Role    Role
	Tenants []string // nil: all
}

// actor is the principal as those see them who do what is asked for.
func (p Principal) actor() ports.Actor { return ports.Actor{Name: p.Name, Tenants: p.Tenants} }

// guarded is the route behind its lock.
func (s *Server) guarded(route Route) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, req bunrouter.Request) error {
		if route.Role == "" {
			return route.handle(w, req, Principal{})
		}
		p, err := s.principal(req.Request)
		if err != nil {
			return err
		}
		if !p.Role.covers(route.Role) {
			return fault.AdminForbidden.With("this needs role %s; %s has %s", route.Role, p.Name, cmp.Or(string(p.Role), "no role here"))
		}
		return route.handle(w, req, p)
	}
}

func (s *Server) principal(req *http.Request) (Principal, error) {
	switch {
	case s.Open:
		return Principal{Name: "anybody", Role: Admin}, nil
	case len(s.Keys) == 0 && s.Tokens.Verifier == nil:
		return Principal{}, fault.AdminClosed.With("neither keys nor an issuer of tokens are configured, so the API is closed; set sutra.admin.auth.keys or sutra.admin.oidc.issuer")
	}
	key, token := req.Header.Get("X-Api-Key"), bearer(req)
	if p, ok := s.holder(cmp.Or(key, token)); ok {
		return p, nil
	}
	if key != "" || token == "" || s.Tokens.Verifier == nil {
		return Principal{}, fault.AdminUnknown.With("the credentials are missing or wrong; send a key in X-Api-Key, or a bearer token")
	}
	return s.Tokens.principal(req.Context(), token)
}

// holder is whose key this is. How long it takes tells nothing of the keys.
func (s *Server) holder(key string) (Principal, bool) {
	given := sha256.Sum256([]byte(key))
	var found *Key
	for i := range s.Keys {
		want := sha256.Sum256([]byte(s.Keys[i].Secret))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			found = &s.Keys[i]
		}
	}
	if found == nil {
		return Principal{}, false
	}
	return Principal{Name: found.Name, Role: found.Role, Tenants: found.Tenants}, true
}

// bearer reads the token of a request, which may be an API key as well.
func bearer(req *http.Request) string {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// principal is whom a token names, with the highest of its roles.
func (t Tokens) principal(ctx context.Context, token string) (Principal, error) {
	claims, err := t.verify(ctx, token, t.Audience, fault.AdminUnknown)
	if err != nil {
		return Principal{}, err
	}
	p := Principal{Name: cmp.Or(claims.Text(t.NameClaim), claims.Text("sub"))}
	for _, value := range claims.Values(t.RoleClaim) {
		if role := t.Roles[value]; role.covers(p.Role) {
			p.Role = role
		}
	}
	tenants := t.Tenants
	if claims.Has(t.TenantClaim) { // one that names none, or in a way that is not read, is not one that is not there
		tenants = claims.Values(t.TenantClaim)
	}
	if len(tenants) == 0 {
		return p, fault.AdminForbidden.With("the token of %s names no tenant in its claim %s", p.Name, t.TenantClaim)
	}
	if !slices.Contains(tenants, anyTenant) {
		p.Tenants = tenants
	}
	return p, nil
}

// admit checks a token at a channel's door: it has to be made for the channel's audience, and to claim what the channel asks for.
func (t Tokens) admit(ctx context.Context, a ports.Auth, token string) error {
	if t.Verifier == nil {
		return fault.AdminClosed.With("this channel takes bearer tokens, and no issuer of them is configured here; set sutra.admin.oidc.issuer")
	}
	claims, err := t.verify(ctx, token, a.Audience, fault.Unauthorized)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(a.Claims)) {
		if !slices.Contains(claims.Values(path), a.Claims[path]) {
			return fault.Forbidden.With("this channel asks for tokens whose claim %s has %q", path, a.Claims[path])
		}
	}
	return nil
}

// verify answers a token's claims, or why it is refused, under a code of the caller's.
func (t Tokens) verify(ctx context.Context, token, audience string, refused fault.Code) (oidc.Claims, error) {
	claims, err := t.Verifier.Verify(ctx, token, audience)
	if err != nil && !errors.Is(err, fault.KeysUnavailable) {
		return nil, refused.With("the bearer token is refused: %w", err)
	}
	return claims, err
}
