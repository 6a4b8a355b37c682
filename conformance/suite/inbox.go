package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func inboxTests() []test {
	return []test{
		{"AcceptedMessageIsThereOnce", acceptedMessageIsThereOnce},
		{"ForeignStringsKeepTheirBytes", foreignStringsKeepTheirBytes},
		{"PendingHandsOutByTargetOnceALease", pendingHandsOut},
		{"StreamGoesOldestPositionFirst", streamGoesInOrder},
		{"OfReadsATargetsPendingRows", ofReadsPendingRows},
		{"KeptMessagesWaitForTheirName", keptMessages},
		{"DeferMovesAndCounts", deferMovesAndCounts},
		{"FinishAndBuryEndPendingRowsAlone", finishAndBury},
		{"ForwardReplacesAMessageByOthers", forwardReplaces},
		{"PurgeKeepsWhatIsNotDone", purgeKeeps},
	}
}

func acceptedMessageIsThereOnce(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	m := f.message("m")
	f.settled("accept", a.Inbox().Accept(f.Context(), []ports.Message{m})[0], ports.Done)
	again := b.Inbox().Accept(f.Context(), []ports.Message{m, f.message("other")})
	f.settled("again", again[0], ports.Duplicate)
	f.want("nobody has it yet", again[0].Other.IsZero(), true)
	f.settled("its neighbour", again[1], ports.Done)
	n := f.started("m")
	f.start(n)
	again = b.Inbox().Accept(f.Context(), []ports.Message{m})
	f.settled("when it is taken", again[0], ports.Duplicate)
	f.want("who has it", again[0].Other, n.ID)
}

func foreignStringsKeepTheirBytes(t *testing.T, h Harness) {
	f := shared(t, h)
	events := []string{"Evt", "evt", "evt ", "\u00e9vt", "e\u0301vt", "e\x00vt", "\xff\xfe", "😀", "", string(make([]byte, 4000))}
	var group []ports.Message
	for _, e := range events {
		m := f.message(e)
		m.Target = f.ids.New()
		m.Payload = []byte(e)
		group = append(group, m)
	}
	f.want("accepted", tally(f.store.Inbox().Accept(f.Context(), group)), fmt.Sprintf("[done:%d]", len(events)))
	for i, e := range events {
		got, err := f.store.Inbox().Of(f.Context(), []ports.Ref{f.ref(group[i].Target)})
		f.must(err)
		f.want("rows", len(got), 1)
		f.want(fmt.Sprintf("event id %q", e), got[0].EventID, []byte(e))
		f.want(fmt.Sprintf("payload %q", e), got[0].Payload, []byte(e))
	}
}

func pendingHandsOut(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	one, two := f.ids.New(), f.ids.New()
	accept := func(m ports.Message) {
		f.settled("accept", a.Inbox().Accept(f.Context(), []ports.Message{m})[0], ports.Done)
		f.clock.move(time.Second)
	}
	accept(f.delivery(one, "1a"))
	accept(f.delivery(two, "2a"))
	accept(f.message("alone"))
	accept(f.delivery(one, "1b"))
	got, err := a.Inbox().Pending(f.Context(), f.clock.Now(), time.Minute, 3)
	f.must(err)
	f.want("order", payloads(got), "1a 1b 2a payload of alone")
	again, err := b.Inbox().Pending(f.Context(), f.clock.Now(), time.Minute, 10)
	f.must(err)
	f.want("within the lease", payloads(again), "")
	f.clock.move(2 * time.Minute)
	again, err = b.Inbox().Pending(f.Context(), f.clock.Now(), time.Minute, 10)
	f.must(err)
	f.want("after the lease", len(again), 4)
}

func streamGoesInOrder(t *testing.T, h Harness) {
	f := own(t, h)
	for _, position := range []int64{3, 1, 2} {
		m := f.message(fmt.Sprint(position))
		m.Stream, m.Position, m.Payload = "partition 0", position, []byte(fmt.Sprint(position))
		f.settled("accept", f.store.Inbox().Accept(f.Context(), []ports.Message{m})[0], ports.Done)
	}
	for i, elsewhere := range []struct{ channel, stream string }{{"orders", "partition 1"}, {"other", "partition 0"}} {
		m := f.message(fmt.Sprint("elsewhere ", i))
		m.Channel, m.Stream, m.Position, m.Payload = elsewhere.channel, elsewhere.stream, 9, []byte("9")
		f.settled("accept", f.store.Inbox().Accept(f.Context(), []ports.Message{m})[0], ports.Done)
	}
	g := corner(t, f.db)
	foreign := g.message("foreign")
	foreign.Stream, foreign.Position, foreign.Payload = "partition 0", 9, []byte("9")
	f.settled("accept", g.store.Inbox().Accept(f.Context(), []ports.Message{foreign})[0], ports.Done)
	f.clock.move(time.Second)
	for i, want := range []string{"1", "2", "3"} {
		got, err := f.store.Inbox().Pending(f.Context(), f.clock.Now(), time.Minute, 10)
		f.must(err)
		others := slices.IndexFunc(got, func(m ports.Message) bool { return string(m.Payload) != "9" })
		if i == 0 {
			f.want("handed out of all streams", len(got), 4)
			got = got[others : others+1]
		}
		f.want("handed out", payloads(got), want)
		_, err = f.store.Inbox().Finish(f.Context(), []ports.InboxRef{got[0].InboxRef})
		f.must(err)
	}
}

func ofReadsPendingRows(t *testing.T, h Harness) {
	f := shared(t, h)
	target := f.ids.New()
	due, deferred := f.delivery(target, "due"), f.delivery(target, "deferred")
	deferred.NextAttempt = f.clock.Now().Add(time.Hour)
	due.Name, due.Correlation, due.Expires = ports.NewKey("n"), ports.NewKey("c"), f.clock.Now().Add(time.Hour)
	f.want("accepted", tally(f.store.Inbox().Accept(f.Context(), []ports.Message{due, deferred})), "[done:2]")
	got, err := f.store.Inbox().Of(f.Context(), []ports.Ref{f.ref(target), f.ref(f.ids.New())})
	f.must(err)
	f.want("rows", len(got), 2)
	for _, m := range got {
		if m.InboxRef == due.InboxRef {
			due.Accepted, due.NextAttempt = f.clock.Now(), f.clock.Now()
			f.want("message", fmt.Sprintf("%+v", m), fmt.Sprintf("%+v", due))
		}
	}
}

func keptMessages(t *testing.T, h Harness) {
	f := shared(t, h)
	name, other := ports.NewKey("message", "a"), ports.NewKey("message", "b")
	routed := f.message("routed")
	routed.Name, routed.Target = name, f.ids.New()
	var group []ports.Message
	for i := range 3 {
		m := f.message(fmt.Sprint("kept ", i))
		m.Name = name
		m.Accepted = f.clock.Now().Add(time.Duration(i) * time.Second)
		group = append(group, m)
	}
	group[2].Name = other
	f.want("accepted", tally(f.store.Inbox().Accept(f.Context(), append(group, routed))), "[done:4]")
	got, err := f.store.Inbox().Kept(f.Context(), f.tenant, []ports.Key{name}, 10)
	f.must(err)
	f.want("kept", payloads(got), "payload of kept 0 payload of kept 1")
	got, err = f.store.Inbox().Kept(f.Context(), f.tenant, []ports.Key{name, other}, 1)
	f.must(err)
	f.want("limited", payloads(got), "payload of kept 0")
}

func deferMovesAndCounts(t *testing.T, h Harness) {
	f := own(t, h)
	m, done := f.message("m"), f.message("done")
	f.want("accepted", tally(f.store.Inbox().Accept(f.Context(), []ports.Message{m, done, f.message("other")})), "[done:3]")
	_, err := f.store.Inbox().Finish(f.Context(), []ports.InboxRef{done.InboxRef})
	f.must(err)
	f.must(f.store.Inbox().Defer(f.Context(), []ports.InboxRef{done.InboxRef}, f.clock.Now().Add(time.Minute), "late"))
	f.want("deferred rows that are done", f.rows("inbox", "state = 'done' AND attempts > 0"), 0)
	f.must(f.store.Inbox().Defer(f.Context(), []ports.InboxRef{m.InboxRef}, f.clock.Now().Add(time.Minute), "held"))
	refused := ports.Refusal{Code: "held", At: f.clock.Now()}
	f.clock.move(time.Second)
	got, err := f.store.Inbox().Pending(f.Context(), f.clock.Now(), 30*time.Second, 10)
	f.must(err)
	f.want("before its time", payloads(got), "payload of other")
	f.clock.move(time.Minute)
	got, err = f.store.Inbox().Pending(f.Context(), f.clock.Now(), time.Minute, 10)
	f.must(err)
	f.want("rows", payloads(got), "payload of other payload of m")
	f.want("attempts", []int{got[0].Attempts, got[1].Attempts}, []int{0, 1})
	f.want("refusals", []ports.Refusal{got[0].Refused, got[1].Refused}, []ports.Refusal{{}, refused})
}

func finishAndBury(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	var refs []ports.InboxRef
	for i := range 3 {
		m := f.message(fmt.Sprint(i))
		f.settled("accept", a.Inbox().Accept(f.Context(), []ports.Message{m})[0], ports.Done)
		refs = append(refs, m.InboxRef)
	}
	f.must(a.Inbox().Bury(f.Context(), refs[:1], "nobody waits"))
	out, err := b.Inbox().Finish(f.Context(), refs)
	f.must(err)
	f.want("finish", tally(out), "[done:2 gone:1]")
	f.settled("the buried one", out[0], ports.Gone)
	f.must(a.Inbox().Bury(f.Context(), refs, "late"))
	f.want("dead", f.rows("inbox", "state = 'dead'"), 1)
	f.want("done, without payload", f.rows("inbox", "state = 'done' AND payload IS NULL"), 2)
}

func forwardReplaces(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.open(Replica{Bold: true}), f.open(Replica{Bold: true})
	signal := f.message("signal")
	f.settled("accept", a.Inbox().Accept(f.Context(), []ports.Message{signal})[0], ports.Done)
	target := f.ids.New()
	first := []ports.Message{f.delivery(target, "1"), f.delivery(target, "2")}
	forward := func(s ports.Store, cursor string, last bool, to []ports.Message) ports.Answer {
		out, err := s.Inbox().Forward(f.Context(), signal.InboxRef, []byte(cursor), last, to)
		f.must(err)
		return out
	}
	f.settled("accept", a.Inbox().Accept(f.Context(), []ports.Message{f.message("another")})[0], ports.Done)
	f.settled("first page", forward(a, "2", false, first), ports.Done)
	f.settled("first page again", forward(b, "2", false, first), ports.Done)
	f.clock.move(time.Second)
	got, err := a.Inbox().Pending(f.Context(), f.clock.Now(), time.Minute, 10)
	f.must(err)
	f.want("pending", len(got), 4)
	for _, m := range got {
		want := ""
		if m.InboxRef == signal.InboxRef {
			want = "2"
		}
		f.want("cursor", string(m.Cursor), want)
	}
	f.settled("last page, one of it there", forward(b, "3", true, []ports.Message{first[1], f.delivery(target, "3")}), ports.Done)
	f.settled("after the last", forward(a, "4", false, []ports.Message{f.delivery(target, "4")}), ports.Gone)
	f.want("deliveries", f.rows("inbox", "channel = '~'"), 3)
}

func purgeKeeps(t *testing.T, h Harness) {
	f := own(t, h)
	f.parked(5)
	for i, s := range []string{"pending", "dead"} {
		m := f.message(s)
		f.settled("accept", f.store.Inbox().Accept(f.Context(), []ports.Message{m})[0], ports.Done)
		if i == 1 {
			f.must(f.store.Inbox().Bury(f.Context(), []ports.InboxRef{m.InboxRef}, "test"))
		}
	}
	f.clock.move(time.Hour)
	f.parked(1)
	n, err := f.store.Inbox().Purge(f.Context(), f.clock.Now(), 3)
	f.must(err)
	f.want("first bite", n, 3)
	n, err = f.store.Inbox().Purge(f.Context(), f.clock.Now(), 30)
	f.must(err)
	f.want("second bite", n, 2)
	f.want("left", f.rows("inbox", "1 = 1"), 3)
}

func payloads(all []ports.Message) string {
	var s strings.Builder
	for i, m := range all {
		if i > 0 {
			s.WriteString(" ")
		}
		s.WriteString(string(m.Payload))
	}
	return s.String()
}
