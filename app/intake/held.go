package intake

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// How often the database is asked for the answers of held requests: soon after something was asked for, then slower.
const (
	askFirst = 100 * time.Millisecond
	askLast  = time.Second
)

// Held are the requests that this replica holds open for an answer. Steps on this replica tell it directly; steps elsewhere are found
// by one query over all that is held.
type Held struct {
	inbox ports.Inbox
	log   *slog.Logger

	mu      sync.Mutex
	shut    bool
	waiting map[ports.InboxRef][]chan ports.Taken
}

// Add begins to listen for a message's answer. The channel gives it once, or is closed at shutdown.
func (h *Held) Add(ref ports.InboxRef) chan ports.Taken {
	c := make(chan ports.Taken, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shut {
		close(c)
		return c
	}
	h.waiting[ref] = append(h.waiting[ref], c)
	return c
}

// Remove ends listening.
func (h *Held) Remove(ref ports.InboxRef, c chan ports.Taken) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := slices.DeleteFunc(h.waiting[ref], func(other chan ports.Taken) bool { return other == c })
	if len(left) == 0 {
		delete(h.waiting, ref)
		return
	}
	h.waiting[ref] = left
}

// Replied gives an answer to whoever waits for it here.
func (h *Held) Replied(ref ports.InboxRef, document []byte) {
	h.tell(ports.Taken{InboxRef: ref, Reply: document})
}

func (h *Held) tell(t ports.Taken) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.waiting[t.InboxRef] {
		c <- t // has room for the one answer; the entry goes with it
	}
	delete(h.waiting, t.InboxRef)
}

// Close lets go of every held request: they are answered 202.
func (h *Held) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut = true
	for _, cs := range h.waiting {
		for _, c := range cs {
			close(c)
		}
	}
	clear(h.waiting)
}

// Run asks the database for answers that steps elsewhere have given, until ctx ends.
func (h *Held) Run(ctx context.Context) {
	pause := askFirst
	for {
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		h.mu.Lock()
		refs := slices.Collect(maps.Keys(h.waiting))
		h.mu.Unlock()
		if len(refs) == 0 {
			pause = askFirst
			continue
		}
		taken, err := h.inbox.Replies(ctx, refs)
		if err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "cannot ask for the answers of held requests", "error", err)
		}
		for _, t := range taken {
			if t.Reply != nil || t.Status == ports.Failed {
				h.tell(t)
			}
		}
		pause = min(askLast, pause*2)
	}
}
