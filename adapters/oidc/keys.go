package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sutra-engine/sutra/ports/fault"
)

// How the issuer is asked for its keys.
const (
	refresh = 10 * time.Minute // a key that the issuer took back is taken as long
	pause   = 10 * time.Second // between two questions, however many unknown keys tokens name
	timeout = 5 * time.Second  // of one question
	most    = 1 << 20          // bytes of one answer
)

// keys are what the issuer published last. While it is away they stay.
type keys struct {
	asked chan struct{} // somebody met an unknown key
	shut  chan struct{}
	once  sync.Once

	mu    sync.Mutex
	set   []jose.JSONWebKey // nil: the issuer was never reached
	at    time.Time         // of the last question
	tried chan struct{}     // closed when the question that is open, or the next one, is answered
}

// Serve keeps the keys until Shut, or until ctx ends. It never fails: an issuer that is away is asked again.
func (v *Verifier) Serve(ctx context.Context) error {
	if asked := cmp.Or(v.KeysURL, v.Issuer); plain(asked) {
		v.Log.WarnContext(ctx, "the keys of the token issuer are fetched without TLS: whoever is on the way can put keys in, and then make any token", "url", asked)
	}
	for {
		again := refresh
		set, err := v.fetch(ctx)
		if err != nil && ctx.Err() == nil {
			v.Log.WarnContext(ctx, "cannot read the keys of the token issuer; those known stay, and it is asked again", "issuer", v.Issuer, "error", err)
			again = pause
		}
		at := v.Now()
		v.keys.put(set, at)
		if !v.nap(ctx, at, again) {
			return nil
		}
	}
}

// plain says that an address is asked without TLS, and not on this machine.
func plain(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}

// nap lasts as long as told, or until somebody asks and the last question is not too young; false: it is over.
func (v *Verifier) nap(ctx context.Context, last time.Time, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-v.keys.asked:
			if v.Now().Sub(last) >= pause {
				return true
			}
		case <-timer.C:
			return true
		case <-v.keys.shut:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// Shut ends Serve and lets nobody wait for keys any more.
func (v *Verifier) Shut(context.Context) error {
	v.keys.once.Do(func() { close(v.keys.shut) })
	return nil
}

// put keeps an answer, if it is one, and tells those who wait for it.
func (k *keys) put(set []jose.JSONWebKey, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if set != nil {
		k.set = set
	}
	k.at = at
	close(k.tried)
	k.tried = make(chan struct{})
}

// known are the keys that may have made a signature. One that is unknown has the issuer asked, unless it was asked a moment ago.
func (v *Verifier) known(ctx context.Context, h jose.Header) ([]jose.JSONWebKey, error) {
	fit, reached, next := v.keys.fitting(h, v.Now())
	if next != nil {
		select {
		case v.keys.asked <- struct{}{}:
		default:
		}
		select {
		case <-next:
		case <-v.keys.shut:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		fit, reached, _ = v.keys.fitting(h, v.Now())
	}
	if !reached {
		return nil, fault.KeysUnavailable.With("the keys of the issuer %s have never been reached, so no token can be verified; the log says why", v.Issuer)
	}
	return fit, nil
}

// fitting are the keys that a header names. next, where none does, is closed when the issuer was asked again.
func (k *keys) fitting(h jose.Header, now time.Time) (fit []jose.JSONWebKey, reached bool, next <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.set {
		if (h.KeyID == "" || h.KeyID == key.KeyID) && (key.Algorithm == "" || key.Algorithm == h.Algorithm) {
			fit = append(fit, key)
		}
	}
	if len(fit) == 0 && now.Sub(k.at) >= pause {
		next = k.tried
	}
	return fit, k.set != nil, next
}

func (v *Verifier) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	from := v.KeysURL
	if from == "" {
		var found struct {
			Issuer  string `json:"issuer"`
			KeysURL string `json:"jwks_uri"`
		}
		document := strings.TrimSuffix(v.Issuer, "/") + "/.well-known/openid-configuration"
		if err := v.get(ctx, document, &found); err != nil {
			return nil, err
		}
		if found.Issuer != v.Issuer || found.KeysURL == "" {
			return nil, fmt.Errorf("%s is of the issuer %q with the keys %q; set sutra.admin.oidc.issuer to exactly what the tokens name, and sutra.admin.oidc.jwks-url if need be",
				document, found.Issuer, found.KeysURL)
		}
		from = found.KeysURL
	}
	var published struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := v.get(ctx, from, &published); err != nil {
		return nil, err
	}
	var set []jose.JSONWebKey
	for _, raw := range published.Keys {
		var key jose.JSONWebKey // one of a kind that is not known here costs no other
		if key.UnmarshalJSON(raw) == nil && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("%s has no public key for signatures", from)
	}
	return set, nil
}

func (v *Verifier) get(ctx context.Context, from string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: v.Transport}).Do(req)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", from, res.Status)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s is not what it should be: %w", from, err)
	}
	return nil
}
