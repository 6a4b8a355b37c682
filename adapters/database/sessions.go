package database

import (
	"context"
	"time"
)

// MySQL cannot show its transactions at an instant when one of them runs bytes that are no text. It shows what it saw at most 100 ms ago,
// so looking again sooner sees the same.
const (
	looks  = 25
	glance = 120 * time.Millisecond
)

// abandoned is the age at which a transaction of this engine's is nobody's any more.
const abandoned = time.Minute

// EndSessions ends this engine's own sessions whose transaction is older than that, and says how many: a process that was stopped in
// the middle of one keeps its row locks for ever. The sweep does it.
func (s *Store) EndSessions(ctx context.Context, older time.Duration) (int, error) {
	var old []int64
	age := args{"age": int64(older / time.Second)}
	var err error
	for range looks {
		old = nil
		err = s.read(ctx, fleet, op{name: "session_old", args: age, scan: func(r row) error {
			var id int64
			err := r.Scan(&id)
			old = append(old, id)
			return err
		}})
		if err == nil || nap(ctx, glance) != nil {
			break
		}
	}
	ended := 0
	for _, id := range old {
		if err := s.read(ctx, fleet, op{name: "session_end", args: args{"session": id}}); err == nil {
			ended++ // else it has ended by itself
		}
	}
	return ended, err
}
