// Package callback says where the outcome of a deploy may be told: at addresses that a caller of the API named, not an author, and that
// are trusted less for it. It resolves no name and sends nothing.
package callback

import (
	"net/netip"
	"net/url"
	"slices"

	"github.com/sutra-engine/sutra/ports/fault"
)

// maxURL bounds a callback's address, in bytes.
const maxURL = 2048

// Rules are what an engine was told to allow.
type Rules struct {
	Signed  bool // there is a secret to sign with
	Private bool // addresses of this machine and of private networks
	Plain   bool // http to this machine, and without a signature: for development
}

// Check refuses an address that could never be sent to, before anything is done. What a name resolves to is seen when it is dialled.
func (r Rules) Check(address string) error {
	refuse := func(why string) error { return fault.CallbackInvalid.With("callback is %q: %s", address, why) }
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxURL:
		return refuse("that is no URL")
	case u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return refuse("use a URL with a host, without user and fragment")
	}
	ip, literal := literal(u.Hostname())
	switch {
	case u.Scheme == "http" && !(r.Plain && literal && ip.IsLoopback()):
		return refuse("use https; http is for loopback, in sutra dev")
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("use https")
	case !r.Signed && !r.Plain:
		return refuse("callbacks are signed, and this engine has no secret: set sutra.callback.secret")
	case literal:
		return r.Allow(ip)
	}
	return nil
}

// literal is the address that a host says by itself.
func literal(host string) (netip.Addr, bool) {
	if host == "localhost" {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	ip, err := netip.ParseAddr(host)
	return ip, err == nil
}

// Allow refuses addresses that lead back inside, unless they are allowed.
func (r Rules) Allow(ip netip.Addr) error {
	if r.Private || outside(ip) {
		return nil
	}
	return fault.CallbackInvalid.With("a callback may not lead to %s, an address inside; allow it with sutra.callback.allow-private", ip)
}

// outside says that an address is one of the public Internet: not of this machine, a private or link-local network, nor one that is
// reserved, or that a translator turns into one of those.
func outside(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Zone() != "" {
		return false
	}
	return !slices.ContainsFunc(reserved(), func(p netip.Prefix) bool { return p.Contains(ip) })
}

// reserved are the ranges of RFC 6890 and of translation (RFC 6052, 8215, 3056, 4380) that netip takes for public.
func reserved() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "5f00::/16",
	} {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}
