package suite

import (
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func operationTests() []test {
	return []test{
		{"OperationIsOpenedAdoptedAndClosedOnce", operationIsClosedOnce},
	}
}

func operationIsClosedOnce(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.open(Replica{Bold: true}), f.open(Replica{Bold: true})
	o := ports.Operation{
		ID: f.ids.New(), Tenant: f.tenant, Archive: []byte("zip"), Callback: "http://c", Notify: "n", Options: []byte{0, 1}, Owner: "a",
	}
	f.must(a.Operations().Open(f.Context(), o))
	f.must(a.Operations().Open(f.Context(), o))
	got, out, err := b.Operations().Read(f.Context(), o.ID)
	f.must(err)
	f.settled("read", out, ports.Done)
	f.want("operation", []any{got.State, got.Owner, got.Callback, got.Notify, got.Options, got.Created},
		[]any{"pending", "a", "http://c", "n", []byte{0, 1}, f.clock.Now()})
	_, out, err = b.Operations().Read(f.Context(), f.ids.New())
	f.must(err)
	f.settled("read of nothing", out, ports.Gone)

	touch := func(s ports.Store, by string, want ports.Outcome) {
		t.Helper()
		out, err := s.Operations().Touch(f.Context(), o.ID, by)
		f.must(err)
		f.settled("touch by "+by, out, want)
	}
	f.clock.move(time.Minute)
	touch(a, "a", ports.Done)
	adopted, err := b.Operations().Adopt(f.Context(), "b", f.clock.Now(), 10)
	f.must(err)
	f.want("adopted while it is worked on", len(adopted), 0)
	f.clock.move(time.Minute)
	adopted, err = b.Operations().Adopt(f.Context(), "b", f.clock.Now(), 10)
	f.must(err)
	f.want("adopted", []any{len(adopted), string(adopted[0].Archive), adopted[0].Owner}, []any{1, "zip", "b"})
	touch(a, "a", ports.Gone)
	touch(b, "b", ports.Done)

	shut := func(s ports.Store, owner string) ports.Answer {
		notice := f.emission(ports.InstanceID{})
		notice.Deployment = ""
		o.Owner, o.State, o.Fault = owner, "failed", &ports.Fault{Code: "SUTRA.X", Detail: "d"}
		out, err := s.Operations().Close(f.Context(), o, []ports.Emission{notice})
		f.must(err)
		return out
	}
	f.settled("close by who lost it", shut(a, "a"), ports.Gone)
	f.settled("close", shut(b, "b"), ports.Done)
	f.settled("close again", shut(b, "b"), ports.Done)
	f.want("notices", f.rows("outbox", "1 = 1"), 1)
	f.want("archives", f.rows("archive", "owner = '"+o.ID.String()+"'"), 0)
	got, _, err = a.Operations().Read(f.Context(), o.ID)
	f.must(err)
	open := o
	open.ID = f.ids.New()
	f.must(a.Operations().Open(f.Context(), open))
	purge := func(what string, before time.Time, want int) {
		t.Helper()
		n, err := b.Operations().Purge(f.Context(), before, 10)
		f.must(err)
		f.want(what, n, want)
	}
	f.want("closed", []any{got.State, got.Fault.Code}, []any{"failed", "SUTRA.X"})
	purge("purged before its time", f.clock.Now(), 0)
	purge("purged", f.clock.Now().Add(time.Microsecond), 1)
	_, out, err = a.Operations().Read(f.Context(), o.ID)
	f.must(err)
	f.settled("read of a purged one", out, ports.Gone)
	_, out, err = a.Operations().Read(f.Context(), open.ID)
	f.must(err)
	f.settled("read of one that is pending", out, ports.Done)
}
