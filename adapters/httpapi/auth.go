package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/uptrace/bunrouter"

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

func (r Role) covers(need Role) bool {
	rank := map[Role]int{Worker: 1, Operate: 2, Admin: 3}
	return rank[r] > 0 && rank[r] >= rank[need]
}

// Key is one API key. Its bytes are compared in constant time.
type Key struct {
	Name    string // of its owner, for the audit
	Role    Role
	Secret  string
	Tenants []string // nil: all
}

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
			return fault.AdminForbidden.With("this needs role %s; the key has role %s", route.Role, p.Role)
		}
		return route.handle(w, req, p)
	}
}

func (s *Server) principal(req *http.Request) (Principal, error) {
	switch {
	case s.Open:
		return Principal{Name: "anybody", Role: Admin}, nil
	case len(s.Keys) == 0:
		return Principal{}, fault.AdminClosed.With("no key is configured, so the API is closed; set sutra.admin.auth.keys")
	}
	given := sha256.Sum256([]byte(secret(req, "X-Api-Key")))
	var found *Key
	for i := range s.Keys {
		want := sha256.Sum256([]byte(s.Keys[i].Secret))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			found = &s.Keys[i]
		}
	}
	if found == nil {
		return Principal{}, fault.AdminUnknown.With("the key is missing or wrong; send it in X-Api-Key or as a bearer token")
	}
	return Principal{Name: found.Name, Role: found.Role, Tenants: found.Tenants}, nil
}

// secret reads a key from its header, or from a bearer token.
func secret(req *http.Request, header string) string {
	if key := req.Header.Get(header); key != "" {
		return key
	}
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	return token
}
