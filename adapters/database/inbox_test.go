package database

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// away is a database that nothing reaches.
type away struct{ runner }

func (away) read(context.Context, string, []op) error { return failing(dialects.Lost, false) }
func (away) write(context.Context, tx) error          { return failing(dialects.Lost, false) }

// TestWhatIsNotWrittenIsSaid: who hands on a signal page by page has to know that a page is not there, or its instances never hear of it.
func TestWhatIsNotWrittenIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{book: book{watch: ports.Blind{}}, run: away{}, clock: &clock{local: time.Now}}
		ref := ports.InboxRef{Tenant: "t", Channel: "signal:x", Event: ports.NewKey("e")}
		if _, err := s.Inbox().Forward(t.Context(), ref, []byte("cursor"), false, nil); !errors.Is(err, fault.StoreUnavailable) {
			t.Errorf("forward: got %v, want %s", err, fault.StoreUnavailable)
		}
		if _, err := s.Inbox().Finish(t.Context(), []ports.InboxRef{ref}); !errors.Is(err, fault.StoreUnavailable) {
			t.Errorf("finish: got %v, want %s", err, fault.StoreUnavailable)
		}
	})
}
