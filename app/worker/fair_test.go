package worker

import (
	"fmt"
	"testing"

	"github.com/sutra-engine/sutra/ports"
)

func TestAFloodedChannelFillsItsOwnRoomAlone(t *testing.T) {
	f := newFair(10)
	row := func(tenant, channel string, n int) ports.Message {
		return ports.Message{InboxRef: ports.InboxRef{Tenant: tenant, Channel: channel}, Position: int64(n)}
	}
	put := func(m ports.Message) bool {
		there := f.reserve(m)
		if there {
			f.put(m)
		}
		return there
	}
	if !f.reserve(row("a", "hot", 0)) {
		t.Fatal("no room from the start")
	}
	for n := range 20 {
		if got, want := put(row("a", "hot", n)), n < 9; got != want {
			t.Fatalf("row %d: got %v, want %v", n, got, want)
		}
	}
	f.release(row("a", "hot", 0))
	if !put(row("a", "hot", 9)) || put(row("a", "hot", 10)) {
		t.Fatal("a place given back is not one place")
	}
	if !put(row("a", "calm", 1)) || !put(row("b", "hot", 1)) {
		t.Fatal("another channel, or another tenant's of the same name, found no room")
	}
	rows, full := f.take(5)
	got := ""
	for _, m := range rows {
		got += fmt.Sprintf("%s %s %d, ", m.Tenant, m.Channel, m.Position)
	}
	if want := "a hot 0, a calm 1, b hot 1, a hot 1, a hot 2, "; got != want || !full {
		t.Errorf("got %s%v, want %s", got, full, want)
	}
	if rows, full = f.take(100); len(rows) != 7 || full {
		t.Errorf("got %d rows, %v; want the 7 that were left", len(rows), full)
	}
}
