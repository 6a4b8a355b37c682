package callback_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/sutra-engine/sutra/core/callback"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestCallbacksThatCouldNeverBeSentAreRefused(t *testing.T) {
	serving := callback.Rules{Signed: true}
	inside := callback.Rules{Signed: true, Private: true}
	dev := callback.Rules{Private: true, Plain: true}
	for _, c := range []struct {
		rules   callback.Rules
		address string
		taken   bool
	}{
		{serving, "https://hooks.example.com/a?b=c", true},
		{serving, "https://93.184.216.34:8443/", true},
		{serving, "http://hooks.example.com/", false},
		{serving, "ftp://hooks.example.com/", false},
		{serving, "hooks.example.com", false},
		{serving, "https:///path", false},
		{serving, "https://user:secret@hooks.example.com/", false},
		{serving, "https://hooks.example.com/#here", false},
		{serving, "https://127.0.0.1/", false},
		{serving, "https://localhost/", false},
		{serving, "https://[::1]/", false},
		{serving, "https://[::ffff:10.0.0.1]/", false},
		{serving, "https://169.254.169.254/latest/meta-data", false},
		{serving, "http://127.0.0.1/", false},
		{callback.Rules{}, "https://hooks.example.com/", false},
		{inside, "https://10.1.2.3/", true},
		{inside, "http://10.1.2.3/", false},
		{inside, "http://127.0.0.1/", false},
		{dev, "http://127.0.0.1:9000/", true},
		{dev, "http://localhost:9000/", true},
		{dev, "http://10.1.2.3/", false},
		{dev, "http://hooks.example.com/", false},
	} {
		err := c.rules.Check(c.address)
		if c.taken && err != nil || !c.taken && !errors.Is(err, fault.CallbackInvalid) {
			t.Errorf("%+v, %s: got %v, want taken: %v", c.rules, c.address, err, c.taken)
		}
	}
}

func TestAddressesInsideAreRefused(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.8", "198.18.0.1",
		"224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:192.168.0.1",
		"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1",
	} {
		if err := (callback.Rules{}).Allow(netip.MustParseAddr(text)); !errors.Is(err, fault.CallbackInvalid) {
			t.Errorf("%s: got %v, want it refused", text, err)
		}
		if err := (callback.Rules{Private: true}).Allow(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s, allowed: %v", text, err)
		}
	}
	for _, text := range []string{"93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1"} {
		if err := (callback.Rules{}).Allow(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v, want it taken", text, err)
		}
	}
}
