// Package webhook sends emissions over HTTP. It decides nothing: a status is turned into a disposition, and the caller does the rest.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// maxAnswer is the longest answer that a call is given, in bytes.
const maxAnswer = 1 << 20

// Sender is a ports.Sender for http and https destinations.
type Sender struct{ client *http.Client }

// New makes a sender whose sends end after timeout. Redirects are not followed: a destination is the one that was written down.
func New(timeout time.Duration, transport http.RoundTripper) *Sender {
	return &Sender{client: &http.Client{
		Timeout:       timeout,
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Send posts the emission. 2xx is delivered; 408, 425, 429 and 5xx, and no answer at all, are Redeliver; every other status is Reject.
func (s *Sender) Send(ctx context.Context, e ports.Emission) (ports.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Destination, bytes.NewReader(e.Body))
	if err != nil {
		return ports.Response{}, fault.SendRefused.With("destination %q is no URL: %w", e.Destination, err)
	}
	for _, h := range e.Headers {
		req.Header.Add(h.Name, h.Value)
	}
	if e.ContentType != "" {
		req.Header.Set("Content-Type", e.ContentType)
	}
	for _, h := range e.Trace.Headers() {
		req.Header.Set(h.Name, h.Value)
	}
	req.Header.Set("Idempotency-Key", e.ID.String())
	req.Header.Set("Sutra-Instance", e.Instance.String())
	req.Header.Set("Sutra-Sequence", fmt.Sprint(e.Seq))
	req.Header.Set("User-Agent", "sutra")
	if err := unsendable(req); err != nil {
		return ports.Response{}, err
	}
	res, err := s.client.Do(req)
	if refused, ok := errors.AsType[*fault.Fault](err); ok {
		return ports.Response{}, refused // by the dialer
	}
	if err != nil {
		return ports.Response{}, fault.SendFailed.With("no answer from %s: %w", req.URL.Host, err)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return ports.Response{}, fault.SendFailed.With("the answer of %s broke off: %w", req.URL.Host, err)
	}
	out := ports.Response{Status: res.StatusCode, ContentType: res.Header.Get("Content-Type"), Body: body[:min(len(body), maxAnswer)]}
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		out.Headers = append(out.Headers, ports.Header{Name: name, Value: strings.Join(res.Header[name], ", ")})
	}
	switch c := res.StatusCode; {
	case c >= 200 && c < 300 && e.Wait != 0 && len(body) > maxAnswer: // cut off, it would say something else
		return ports.Response{}, fault.SendRefused.With("the answer of %s has more than the %d bytes that a call is given", req.URL.Host, maxAnswer)
	case c >= 200 && c < 300:
		return out, nil
	case c == http.StatusRequestTimeout, c == http.StatusTooEarly, c == http.StatusTooManyRequests, c >= 500:
		return out, fault.SendFailed.With("%s answered %s", req.URL.Host, res.Status)
	default:
		return out, fault.SendRefused.With("%s answered %s", req.URL.Host, res.Status)
	}
}

// unsendable says what no attempt can send, because HTTP has no words for it.
func unsendable(req *http.Request) error {
	if req.URL.Host == "" {
		return fault.SendRefused.With("destination %q names no host", req.URL.Redacted())
	}
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		valid := httpguts.ValidHeaderFieldName(name)
		for _, value := range req.Header[name] {
			valid = valid && httpguts.ValidHeaderFieldValue(value)
		}
		if !valid {
			return fault.SendRefused.With("header %q, or its value, cannot be sent over HTTP", name)
		}
	}
	return nil
}
