// Package oidc verifies the bearer tokens (RFC 6750, RFC 7519) of one issuer by the keys that it publishes (RFC 7517). It makes no
// token, holds no session, decides nothing by claims, and asks nobody about a token whose key it knows.
package oidc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Leeway is how far the issuer's clock and this machine's may be apart.
const Leeway = 30 * time.Second

// algorithms are those that a public key verifies. What is not named here is refused before any key is looked at: none, and HS*, whose
// secret an attacker could take a public key for.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Config says whose tokens are taken.
type Config struct {
	Issuer    string            // exactly as its tokens name it
	KeysURL   string            // where its keys are; empty: where its discovery document says
	Transport http.RoundTripper // towards the issuer
	Now       func() time.Time
	Log       *slog.Logger
}

// Verifier verifies tokens. It has to be served to know keys.
type Verifier struct {
	Config
	keys keys
}

// New makes a verifier that knows no keys yet.
func New(c Config) *Verifier {
	return &Verifier{Config: c, keys: keys{asked: make(chan struct{}, 1), tried: make(chan struct{}), shut: make(chan struct{})}}
}

// Verify answers the claims of a token that the issuer made for this audience and that is valid now. KeysUnavailable says that nobody
// can know: the issuer's keys have never been reached. Every other error is what is wrong with the token.
func (v *Verifier) Verify(ctx context.Context, token, audience string) (Claims, error) {
	t, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, errors.New("it is no JWT with an asymmetric signature (RS, PS, ES or EdDSA)")
	}
	known, err := v.known(ctx, t.Headers[0])
	if err != nil {
		return nil, err
	}
	var registered jwt.Claims
	var all Claims
	for _, key := range known {
		if err = t.Claims(key.Key, &registered, &all); err == nil {
			break
		}
	}
	switch {
	case len(known) == 0 || err != nil:
		return nil, errors.New("no key of the issuer verifies its signature")
	case registered.Expiry == nil:
		return nil, errors.New("it has no exp: a token that never expires is not taken")
	case registered.Subject == "":
		return nil, errors.New("it has no sub: nobody would be named by it")
	}
	return all, registered.ValidateWithLeeway(jwt.Expected{Issuer: v.Issuer, AnyAudience: jwt.Audience{audience}, Time: v.Now()}, Leeway)
}

// Claims are what a verified token says.
type Claims map[string]any

// Values are the values of a claim: the items of a list, and a string with its words (as scope has them). A claim inside another is
// named by its path, as realm_access.roles; a name that is there as it stands, dots and all, comes first.
func (c Claims) Values(path string) []string {
	switch v := find(c, path).(type) {
	case string:
		words := strings.Fields(v)
		if len(words) > 1 {
			words = append(words, v)
		}
		return words
	case bool:
		return []string{strconv.FormatBool(v)}
	case []any:
		var out []string
		for _, item := range v {
			if s, ok := item.(string); ok && s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// Has says that a claim is there, whatever its value.
func (c Claims) Has(path string) bool { return find(c, path) != nil }

// Text is the value of a claim that is one string; empty: it is not.
func (c Claims) Text(path string) string {
	s, _ := find(c, path).(string)
	return s
}

func find(in map[string]any, path string) any {
	if v, ok := in[path]; ok {
		return v
	}
	for i := range len(path) {
		inner, ok := in[path[:i]].(map[string]any)
		if ok && path[i] == '.' {
			if v := find(inner, path[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}
