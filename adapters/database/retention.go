package database

import (
	"context"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// A purge bites off at most this many rows in one transaction, and takes at most so many bites in one call.
const (
	biteRows = 500
	maxBites = 20
)

// Retention removes what has ended.
func (s *Store) Retention() ports.Retention { return retention{s} }

type retention struct{ *Store }

// PurgeInstances removes the history first, bite by bite: an instance of any size goes, if need be over several calls.
func (s retention) PurgeInstances(ctx context.Context, before time.Time, limit int) (purged int, more bool, err error) {
	limit = min(limit, biteRows)
	var ids []any
	err = s.read(ctx, fleet, op{name: "instance_old", args: args{"before": before, "limit": limit}, scan: func(r row) error {
		var id ports.InstanceID
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}})
	if err != nil || len(ids) == 0 {
		return 0, false, err
	}
	for range maxBites {
		left, err := s.bite(ctx, ids)
		if err != nil {
			return 0, true, err
		}
		if !left {
			err := s.write(ctx, fleet, op{name: "instance_delete", args: args{"before": before}, rows: ids, hits: &purged})
			return purged, len(ids) == limit, err
		}
	}
	return 0, true, nil
}

// bite deletes some history of these instances; left says that there may be more.
func (s retention) bite(ctx context.Context, ids []any) (left bool, err error) {
	var rows []any
	err = s.read(ctx, fleet, op{name: "history_of", args: args{"limit": biteRows}, rows: ids, scan: func(r row) error {
		var id ports.InstanceID
		var seq int64
		err := r.Scan(&id, &seq)
		rows = append(rows, id, seq)
		return err
	}})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return true, s.write(ctx, fleet, op{name: "history_delete", rows: rows})
}
