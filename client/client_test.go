package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sutra-engine/sutra/client"
)

func TestACallerProvesItselfByTokenOrKey(t *testing.T) {
	var key, authorization string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, authorization = r.Header.Get("X-Api-Key"), r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	asked := 0
	token := func(context.Context) (string, error) { asked++; return "t", nil }
	for _, tc := range []struct {
		by                 client.Credentials
		key, authorization string
	}{
		{client.Credentials{}, "", ""},
		{client.Credentials{Key: "k"}, "k", ""},
		{client.Credentials{Token: token}, "", "Bearer t"},
	} {
		c := client.New(server.URL, tc.by)
		for range 2 {
			if err := c.Ready(t.Context()); err != nil || key != tc.key || authorization != tc.authorization {
				t.Errorf("got key %q, authorization %q, %v; want %q and %q", key, authorization, err, tc.key, tc.authorization)
			}
		}
	}
	if asked != 2 {
		t.Errorf("the token was asked for %d times in two requests", asked)
	}
	none := errors.New("the issuer is away")
	c := client.New(server.URL, client.Credentials{Token: func(context.Context) (string, error) { return "", none }})
	if err := c.Ready(t.Context()); !errors.Is(err, none) {
		t.Errorf("got %v, want %v", err, none)
	}
}
