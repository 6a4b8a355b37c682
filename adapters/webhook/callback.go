package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// CallbackScheme begins the destinations that a caller of the API named, not an author: they are sent with less trust.
const CallbackScheme = "callback+"

// Callback sends to addresses that came from outside: asked about each address that a name resolves to at the moment of the connection;
// signed, so that the receiver knows who speaks.
type Callback struct {
	sender *Sender
	secret []byte
	now    func() time.Time
}

// NewCallback makes a sender of callbacks. Without a secret nothing is signed. allow refuses addresses that may not be dialled.
func NewCallback(timeout time.Duration, secret string, allow func(netip.Addr) error, now func() time.Time) *Callback {
	dialer := &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fault.SendRefused.With("%q is no address: %w", address, err)
		}
		return allow(at.Addr())
	}}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}
	return &Callback{sender: New(timeout, transport), secret: []byte(secret), now: now}
}

// Send posts the emission with Sutra-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body" under the secret>.
func (c *Callback) Send(ctx context.Context, e ports.Emission) (ports.Response, error) {
	e.Destination = strings.TrimPrefix(e.Destination, CallbackScheme)
	if len(c.secret) > 0 {
		at := fmt.Sprint(c.now().Unix())
		e.Headers = append(append([]ports.Header(nil), e.Headers...), ports.Header{Name: "Sutra-Signature", Value: "t=" + at + ",v1=" + Sign(c.secret, at, e.Body)})
	}
	return c.sender.Send(ctx, e)
}

// Sign is the signature of a body sent at a time: what a receiver computes and compares.
func Sign(secret []byte, at string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
