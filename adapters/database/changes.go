package database

import (
	"context"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// Changes tells that the served set changed.
func (s *Store) Changes() ports.Changes { return changes{s} }

type changes struct{ *Store }

func (s changes) Version(ctx context.Context) (v ports.Version, err error) {
	err = s.read(ctx, fleet, readVersion(&v))
	return v, err
}

func readVersion(into *ports.Version) op {
	return op{name: "version_read", scan: func(r row) error { return r.Scan(into) }}
}

func (s changes) Nap(ctx context.Context, atMost time.Duration) error {
	if s.watch != nil {
		s.watch.nap(ctx, atMost)
		return nil
	}
	_ = nap(ctx, atMost) // the end of ctx is an end like any other
	return nil
}
