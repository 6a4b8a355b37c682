package scenario_test

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

// trust is a time during which a replica held itself to be the leader in one term of a role, as it wrote down itself.
type trust struct {
	replica string
	role    string
	term    int64
	from    time.Time
	until   time.Time
	acts    []time.Time // when it asked itself whether it leads, and said yes
}

// Leaders sleep past their ttl and wake, hand back, and die. At no instant do two replicas trust in the same role; terms rise strictly;
// and nobody acts outside of its trust.
func TestNoTwoReplicasTrustInARoleAtOnce(t *testing.T) {
	f := fleet(t, scenario.Settings{"sutra.log.level": "debug"})
	crew := []*scenario.Replica{f.Start("a"), f.Start("b"), f.Start("c")}
	replicas := slices.Clone(crew)
	next := func(f *scenario.Fleet, after int64) *scenario.Replica {
		var r *scenario.Replica
		var term int64
		for r == nil || term <= after {
			r, term = leader(t, f, replicas...)
		}
		return r
	}
	term := func() int64 { _, n := leader(t, f, replicas...); return n }
	for range 2 {
		sleeper, before := next(f, 0), term()
		replicas = slices.DeleteFunc(replicas, func(r *scenario.Replica) bool { return r == sleeper })
		sleeper.Pause()
		next(f, before)
		time.Sleep(time.Second)
		sleeper.Continue()
		replicas = append(replicas, sleeper)
		time.Sleep(2 * time.Second) // it wakes in a trust that has passed, and looks at its lease
	}
	for _, end := range []func(*scenario.Replica){
		func(r *scenario.Replica) { r.Stop() },
		(*scenario.Replica).Kill,
	} {
		leaves, before := next(f, 0), term()
		replicas = slices.DeleteFunc(replicas, func(r *scenario.Replica) bool { return r == leaves })
		end(leaves)
		left := time.Now()
		next(f, before)
		t.Logf("another led %v after the leader had left; ttl 3 s, poll 0.5 s", time.Since(left).Round(10*time.Millisecond))
	}
	time.Sleep(time.Second)
	var all []*trust
	for _, r := range crew {
		all = append(all, history(t, r)...)
	}
	checkTrust(t, all)
}

// history reads the log of a replica.
func history(t *testing.T, r *scenario.Replica) []*trust {
	t.Helper()
	var all []*trust
	now := map[string]*trust{}
	lines := bufio.NewScanner(strings.NewReader(r.Log()))
	for lines.Scan() {
		var l struct {
			Msg, Role       string
			Term            int64
			From, Until, At time.Time
		}
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // not a line of the log
		}
		held := now[l.Role]
		switch l.Msg {
		case "trusts a role":
			if held == nil || held.term != l.Term {
				held = &trust{replica: r.Name, role: l.Role, term: l.Term, from: l.From}
				now[l.Role], all = held, append(all, held)
			}
			held.until = l.Until
		case "acts in a role":
			if held == nil || held.term != l.Term || l.At.Before(held.from) || !l.At.Before(held.until) {
				t.Errorf("%s acted as %s in term %d at %v, outside of its trust %+v", r.Name, l.Role, l.Term, l.At, held)
				continue
			}
			held.acts = append(held.acts, l.At)
		case "trusts no role any more":
			for _, h := range now {
				if l.At.Before(h.until) {
					h.until = l.At
				}
			}
		}
	}
	return all
}

func checkTrust(t *testing.T, all []*trust) {
	t.Helper()
	slices.SortFunc(all, func(a, b *trust) int { return a.from.Compare(b.from) })
	last := map[string]*trust{}
	terms, acts := 0, 0
	for _, now := range all {
		if now.role == timerRole {
			terms++
			acts += len(now.acts)
		}
		before := last[now.role]
		last[now.role] = now
		if before == nil {
			continue
		}
		if now.from.Before(before.until) {
			t.Errorf("%s trusted in %s from %v, while %s did until %v", now.replica, now.role, now.from, before.replica, before.until)
		}
		if now.term <= before.term {
			t.Errorf("%s of %s: term %d after %d, want them to rise", now.role, now.replica, now.term, before.term)
		}
	}
	t.Logf("%d terms of %s, in which its holders acted %d times", terms, timerRole, acts)
	if terms < 5 || acts < 20 {
		t.Errorf("this proves too little: want at least 5 terms and 20 acts")
	}
}
