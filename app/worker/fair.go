package worker

import (
	"slices"
	"sync"

	"github.com/sutra-engine/sutra/ports"
)

// fair is a queue of rows in which every channel of every tenant has room of its own, and its turn: a flood on one fills that one's room
// and makes nobody wait behind it.
type fair struct {
	most int // rows of one channel

	mu   sync.Mutex
	rows map[string][]ports.Message
	turn []string // the channels that have rows, next first
}

// put takes a row; false: its channel has no room.
func (f *fair) put(m ports.Message) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	channel := m.Tenant + " " + m.Channel
	waiting := f.rows[channel]
	if len(waiting) >= f.most {
		return false
	}
	if len(waiting) == 0 {
		f.turn = append(f.turn, channel)
	}
	f.rows[channel] = append(waiting, m)
	return true
}

// take answers at most n rows, one of each channel in turn and each channel's in their order. full says that there were as many.
func (f *fair) take(n int) (rows []ports.Message, full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.turn) > 0 && len(rows) < n {
		channel := f.turn[0]
		f.turn = slices.Delete(f.turn, 0, 1)
		waiting := f.rows[channel]
		rows = append(rows, waiting[0])
		if waiting = waiting[1:]; len(waiting) == 0 {
			delete(f.rows, channel)
			continue
		}
		f.rows[channel] = waiting
		f.turn = append(f.turn, channel)
	}
	return rows, len(rows) == n
}
