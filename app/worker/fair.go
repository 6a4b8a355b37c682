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

	mu       sync.Mutex
	reserved map[string]int // places of rows to come
	rows     map[string][]ports.Message
	turn     []string // the channels that have rows, next first
}

func newFair(most int) *fair {
	return &fair{most: most, reserved: map[string]int{}, rows: map[string][]ports.Message{}}
}

func lineOf(m ports.Message) string { return m.Tenant + " " + m.Channel }

// reserve keeps a place for a row to come; false: its channel has no room.
func (f *fair) reserve(m ports.Message) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	channel := lineOf(m)
	if len(f.rows[channel])+f.reserved[channel] >= f.most {
		return false
	}
	f.reserved[channel]++
	return true
}

// release gives a place back.
func (f *fair) release(m ports.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free(lineOf(m))
}

// put takes a row to its place.
func (f *fair) put(m ports.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	channel := lineOf(m)
	f.free(channel)
	if len(f.rows[channel]) == 0 {
		f.turn = append(f.turn, channel)
	}
	f.rows[channel] = append(f.rows[channel], m)
}

func (f *fair) free(channel string) {
	if f.reserved[channel]--; f.reserved[channel] == 0 {
		delete(f.reserved, channel)
	}
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
