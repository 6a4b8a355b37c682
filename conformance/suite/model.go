package suite

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func modelTests() []test {
	return []test{{"RandomHistoriesMatchTheModel", randomHistories}}
}

// model is what a store of a few instances has to be, as a map.
type model struct {
	instances map[ports.InstanceID]*modelled
	events    map[string]ports.InstanceID // done messages
}

type modelled struct {
	owner     ports.Owner
	epoch     int64
	claimedAt time.Time
	snapshot  string
	last      ports.StepID
}

// randomHistories runs random operations of two replicas against the database and against the model, and compares every answer.
func randomHistories(t *testing.T, h Harness) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := shared(t, h)
	stores := []ports.Store{f.open(Replica{}), f.open(Replica{Bold: true})}
	m := model{instances: map[ports.InstanceID]*modelled{}, events: map[string]ports.InstanceID{}}
	var ids []ports.InstanceID
	var steps []ports.Step // that were made once, landed or not
	for n := range 300 {
		s := stores[random.IntN(2)]
		owner := ports.Owner(fmt.Sprint("r/", random.IntN(3)))
		what := random.IntN(6)
		if len(ids) == 0 {
			what = 0
		}
		at := fmt.Sprintf("operation %d (seed %d)", n, seed)
		pick := func() ports.InstanceID { return ids[random.IntN(len(ids))] }
		switch what {
		case 0:
			event := fmt.Sprint("event ", random.IntN(20))
			in := f.started(event)
			got := s.Instances().Start(t.Context(), []ports.NewInstance{in})[0]
			if other, taken := m.events[event]; taken {
				f.settled(at+": start", got, ports.Duplicate)
				f.want(at+": who has it", got.Other, other)
				continue
			}
			f.settled(at+": start", got, ports.Done)
			m.events[event] = in.ID
			m.instances[in.ID] = &modelled{snapshot: string(in.Snapshot)}
			ids = append(ids, in.ID)
		case 1, 2:
			id := pick()
			is := m.instances[id]
			want := ports.Held
			if is.owner == "" || is.owner == owner || is.claimedAt.Before(f.silent()) {
				want = ports.Done
				is.owner, is.claimedAt = owner, f.clock.Now()
				is.epoch++
			}
			got := f.claim(s, owner, id)
			f.want(at+": claim", got.Outcome, want)
			if want == ports.Done {
				f.want(at+": epoch", got.Epoch, is.epoch)
				f.want(at+": snapshot", string(got.Snapshot), is.snapshot)
			}
		case 3, 4:
			var st ports.Step
			if len(steps) > 0 && random.IntN(4) == 0 {
				st = steps[random.IntN(len(steps))] // sent again
			} else {
				id := pick()
				is := m.instances[id]
				st = f.step(ports.Claim{Ref: f.ref(id), Owner: owner, Epoch: is.epoch - int64(random.IntN(2))})
				st.Seq, st.Waits, st.Snapshot = int64(n)+10, nil, []byte(fmt.Sprint("step ", n))
				if random.IntN(4) == 0 {
					event := fmt.Sprint("event ", random.IntN(20))
					st.Consumed = []ports.Consumed{{InboxRef: f.key("orders", event), EventID: []byte(event), Kind: ports.KindMessage}}
				}
				steps = append(steps, st)
			}
			m.commit(f, at, st, f.commit(s, st))
		case 5:
			if random.IntN(2) == 0 {
				f.clock.move(time.Duration(random.IntN(240)) * time.Second)
				continue
			}
			id := pick()
			is := m.instances[id]
			c := ports.Claim{Ref: f.ref(id), Owner: owner, Epoch: is.epoch}
			f.must(s.Claims().Release(t.Context(), []ports.Claim{c}))
			if is.owner == owner {
				is.owner = ""
			}
		}
	}
	for _, id := range ids {
		got, want := f.load(id), m.instances[id]
		f.want(fmt.Sprintf("instance %s (seed %d)", id, seed),
			fmt.Sprint(got.Owner, got.Epoch, string(got.Snapshot), got.LastStep), fmt.Sprint(want.owner, want.epoch, want.snapshot, want.last))
	}
}

func (m model) commit(f *fixture, at string, st ports.Step, got ports.Answer) {
	f.Helper()
	is := m.instances[st.Claim.Ref.ID]
	event := string(st.Consumed[0].EventID)
	other, taken := m.events[event]
	switch {
	case is.last == st.ID:
		f.settled(at+": commit again", got, ports.Done)
	case is.owner != st.Owner || is.epoch != st.Epoch || is.owner == "":
		f.settled(at+": commit without the claim", got, ports.ClaimLost)
	case taken:
		f.settled(at+": commit of a taken message", got, ports.Duplicate)
		f.want(at+": who has it", got.Other, other)
	default:
		f.settled(at+": commit", got, ports.Done)
		m.events[event] = st.Claim.Ref.ID
		is.owner, is.snapshot, is.last = "", string(st.Snapshot), st.ID
	}
}
