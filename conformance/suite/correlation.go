package suite

import (
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func correlationTests() []test {
	return []test{
		{"FindAnswersWhoWaits", findAnswersWhoWaits},
		{"FindKeepsAWaitsOwnKeyToIt", findKeepsAWaitsOwnKey},
		{"HolderNamesWhoHasAUniqueAlias", holderNamesWhoHasIt},
		{"SignalledPagesOverWaits", signalledPages},
	}
}

func findAnswersWhoWaits(t *testing.T, h Harness) {
	f, g := shared(t, h), shared(t, h)
	name := ports.NewKey("message", "payments")
	one, two, foreign := f.fresh(), f.fresh(), g.fresh()
	two.Aliases, foreign.Aliases = one.Aliases, one.Aliases
	f.start(one)
	f.clock.move(time.Second)
	f.start(two)
	g.start(foreign)
	lookup := ports.Lookup{Tenant: f.tenant, Wait: name, Module: f.module, Alias: "order", Value: one.Aliases[0].Value}
	miss, unnamed := lookup, lookup
	miss.Value = ports.NewKey("nobody")
	unnamed.Alias = ""
	elsewhere := lookup
	elsewhere.Wait = ports.NewKey("message", "parcels")
	got, err := f.store.Correlation().Find(f.Context(), []ports.Lookup{miss, lookup, unnamed, elsewhere}, 10)
	f.must(err)
	f.want("miss", len(got[0]), 0)
	f.want("hit", got[1], []ports.Waiting{
		{Ref: one.Ref, Deployment: f.active, Wait: 1, Node: "paid"}, {Ref: two.Ref, Deployment: f.active, Wait: 1, Node: "paid"},
	})
	f.want("without an alias", len(got[2]), 2)
	f.want("another name", len(got[3]), 0)
	got, err = f.store.Correlation().Find(f.Context(), []ports.Lookup{lookup}, 1)
	f.must(err)
	f.want("limited", len(got[0]), 1)
}

func findKeepsAWaitsOwnKey(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	name := ports.NewKey("message", "item")
	n.Waits, n.Aliases = nil, nil
	for i := range ports.WaitID(2) {
		n.Waits = append(n.Waits, ports.Wait{ID: i + 1, Kind: ports.WaitMessage, Node: "item", Name: name})
		n.Aliases = append(n.Aliases, ports.Alias{Module: f.module, Name: "item", Value: ports.NewKey(string('a' + rune(i))), Wait: i + 1})
	}
	f.start(n)
	got, err := f.store.Correlation().Find(f.Context(), []ports.Lookup{
		{Tenant: f.tenant, Wait: name, Module: f.module, Alias: "item", Value: ports.NewKey("b")},
	}, 10)
	f.must(err)
	f.want("found", len(got[0]), 1)
	f.want("wait", got[0][0].Wait, 2)
}

func holderNamesWhoHasIt(t *testing.T, h Harness) {
	f := shared(t, h)
	unique, plain := f.fresh(), f.fresh()
	unique.Aliases[0].Unique = true
	f.start(unique, plain)
	lookup := func(n ports.NewInstance) ports.Lookup {
		return ports.Lookup{Tenant: f.tenant, Module: f.module, Alias: "order", Value: n.Aliases[0].Value}
	}
	got, err := f.store.Correlation().Holder(f.Context(), []ports.Lookup{lookup(plain), lookup(unique)})
	f.must(err)
	f.want("holders", got, []ports.Ref{{}, unique.Ref})
}

func signalledPages(t *testing.T, h Harness) {
	f := shared(t, h)
	name := ports.NewKey("signal", "stop")
	var all []ports.NewInstance
	for range 5 {
		n := f.fresh()
		n.Waits = []ports.Wait{
			{ID: 1, Kind: ports.WaitSignal, Node: "stop", Name: name},
			{ID: 2, Kind: ports.WaitSignal, Node: "stop", Name: name},
			{ID: 3, Kind: ports.WaitMessage, Node: "else", Name: name},
			{ID: 4, Kind: ports.WaitSignal, Node: "else", Name: ports.NewKey("signal", "go")},
		}
		all = append(all, n)
	}
	f.start(all...)
	armed := f.clock.Now()
	f.clock.move(time.Second)
	late := f.fresh()
	late.Waits = []ports.Wait{{ID: 1, Kind: ports.WaitSignal, Node: "stop", Name: name}}
	f.start(late)
	var after ports.Waiting
	seen := 0
	for range 10 {
		got, err := f.store.Correlation().Signalled(f.Context(), f.tenant, name, armed, after, 3)
		f.must(err)
		if len(got) == 0 {
			break
		}
		for _, w := range got {
			f.want("instance", w.ID, all[seen/2].ID)
			f.want("wait", w.Wait, seen%2+1)
			seen++
		}
		after = got[len(got)-1]
	}
	f.want("waits signalled", seen, 10)
}
