package worker

import (
	"sync"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// backlog is for how much time of its sends a destination may have emissions waiting here. The rest is put off until its turn can come:
// a destination that is slow, or flooded, keeps its own places busy and nobody else's, and stands in the way of no other's emissions.
const backlog = time.Second

// places are where emissions are sent from: so many at once, so many of them to one destination, the destinations in turn.
type places struct {
	parallel, perHost, most int // most: what may wait for one destination

	mu    sync.Mutex
	busy  int
	hosts map[string]*host // those with sends under way or waiting
	turn  []*host          // those that could use a place now, next first
}

// host is one destination of a tenant.
type host struct {
	busy    int
	waiting []ports.Stamped
	inTurn  bool
	took    time.Duration // a send, lately; 0: not known
	until   time.Time     // when those that were put off have had their turn
}

func newPlaces(parallel, perHost, most int) *places {
	return &places{parallel: parallel, perHost: perHost, most: most, hosts: map[string]*host{}}
}

// add lets an emission wait for a place, or says until when it is to be put off.
func (p *places) add(e ports.Stamped, now time.Time) (added bool, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := destination(&e.Emission)
	h := p.hosts[name]
	if h == nil {
		h = &host{}
		p.hosts[name] = h
	}
	if len(h.waiting) < p.room(h) {
		h.waiting = append(h.waiting, e)
		p.line(h)
		return true, time.Time{}
	}
	each := h.took / time.Duration(p.perHost)
	if there := now.Add(each * time.Duration(len(h.waiting))); h.until.Before(there) {
		h.until = there
	}
	h.until = h.until.Add(each)
	return false, h.until
}

// room is how many may wait for a destination: a backlog's time of them, at least one for each of its places.
func (p *places) room(h *host) int {
	if h.took == 0 {
		return p.most
	}
	return min(p.most, p.perHost*max(1, int(backlog/h.took)))
}

// line puts a destination into the turn if it could use a place.
func (p *places) line(h *host) {
	if !h.inTurn && len(h.waiting) > 0 && h.busy < p.perHost {
		h.inTurn = true
		p.turn = append(p.turn, h)
	}
}

// next answers what is to be sent now; over has to be told. False: no place is free, or nothing waits for one.
func (p *places) next() (ports.Stamped, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy >= p.parallel || len(p.turn) == 0 {
		return ports.Stamped{}, false
	}
	h := p.turn[0]
	p.turn, h.inTurn = p.turn[1:], false
	e := h.waiting[0]
	h.waiting = h.waiting[1:]
	p.busy++
	h.busy++
	p.line(h)
	return e, true
}

// over frees a place. took is how long its send took; 0: none was made.
func (p *places) over(e ports.Stamped, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := destination(&e.Emission)
	h := p.hosts[name]
	p.busy--
	h.busy--
	switch {
	case took == 0:
	case h.took == 0:
		h.took = took
	default:
		h.took += (took - h.took) / 8
	}
	p.line(h)
	if h.busy == 0 && len(h.waiting) == 0 {
		delete(p.hosts, name)
	}
}
