package replica_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// newer is a store whose snapshots and kept events seem written by a release after this one's next, while it is told to.
type newer struct {
	ports.Store
	on *atomic.Bool
}

func (n newer) Claims() ports.Claims { return newerClaims{n.Store.Claims(), n.on} }
func (n newer) Inbox() ports.Inbox   { return newerInbox{n.Store.Inbox(), n.on} }

type newerClaims struct {
	ports.Claims
	on *atomic.Bool
}

func (n newerClaims) Claim(ctx context.Context, owner ports.Owner, refs []ports.Ref, silent time.Time) ([]ports.Claimed, error) {
	out, err := n.Claims.Claim(ctx, owner, refs, silent)
	for i := range out {
		if n.on.Load() && len(out[i].Snapshot) > 2 {
			out[i].Snapshot[2] = token.Format + 2
		}
	}
	return out, err
}

type newerInbox struct {
	ports.Inbox
	on *atomic.Bool
}

func (n newerInbox) Pending(ctx context.Context, before time.Time, lease time.Duration, limit int) ([]ports.Message, error) {
	out, err := n.Inbox.Pending(ctx, before, lease, limit)
	for i := range out {
		if n.on.Load() {
			out[i].Payload = []byte{0xa1, 0x18, 99, 1} // a key that this release does not know
		}
	}
	return out, err
}

// TestWhatANewerReleaseWroteIsLeftToIt: a replica of the release before, in a fleet that is being upgraded, refuses it for now. Nothing is
// lost, nothing FAILED, nothing dead, however often it is tried.
func TestWhatANewerReleaseWroteIsLeftToIt(t *testing.T) {
	var on atomic.Bool
	e := runFully(t, func(s ports.Store) ports.Store { return newer{s, &on} }, ports.Blind{}, limit.Bounds{},
		fmt.Sprintf(door+door+door+persisted, "begin", "open", "answer", "later", "PT1H"),
		waiting("w", "begin"), process("v", start("v", "open"), wait("v", 1, "later"), end("v", 2, "done")))
	e.sendBeside("begin", `{"key": 1}`)
	e.sendBeside("open", `{"key": 2}`)
	stand := map[string]int{"w suspended": 1, "v suspended": 1}
	e.ended(stand)
	on.Store(true)
	if _, err := e.Intake.Take(t.Context(), e.message("answer", `{"key": 1}`)); !errors.Is(err, fault.SnapshotFormatUnknown) || fault.Of(err).Code.Disposition() != fault.Redeliver {
		t.Errorf("got %v, want the sender told to send it again", err)
	}
	if r := e.send("later", `{"key": 2}`); !r.Durable {
		t.Fatalf("got %+v, want it kept", r)
	}
	time.Sleep(2500 * time.Millisecond) // it is tried, by the snapshot first, and again, by its own row
	e.ended(stand)
	if b, err := e.store.Views().Backlog(t.Context()); err != nil || b.InboxDead != 0 || b.InstancesFailed != 0 {
		t.Errorf("got %+v, %v; want none dead and none FAILED", b, err)
	}
	on.Store(false) // a replica of the newer release
	e.send("answer", `{"key": 1}`)
	e.ended(map[string]int{"w completed": 1, "v completed": 1})
}
