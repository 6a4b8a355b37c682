package database

import (
	"context"
	"errors"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// revive runs do, which adds to what holds a revision back from outside a live instance. It takes the revision's lock; a retired
// revision goes back to draining in the same transaction. Stale: its archive is dropped. Gone: do found nothing.
func (s *Store) revive(ctx context.Context, id ports.DeploymentID, do ...op) (ports.Answer, error) {
	answer := ports.Answer{Outcome: ports.Done}
	err := s.hold(ctx, fleet, func(run run) error {
		if id == "" {
			return run(do...)
		}
		var found []revision
		read := op{name: "deployment_find", rows: []any{id}, scan: scanRevision(&found)}
		if err := run(op{name: "deployment_share", rows: []any{id}}, read); err != nil {
			return err
		}
		if len(found) == 0 || found[0].dropped != 0 {
			answer.Outcome = ports.Stale
			return errUnchanged
		}
		if found[0].Phase == ports.Retired {
			return errRetired
		}
		return run(do...)
	})
	if errors.Is(err, errRetired) {
		// The version's row comes before the deployment's, so it starts anew.
		err = s.hold(ctx, fleet, func(run run) error {
			var version ports.Version
			if err := run(op{name: "version_bump"}, readVersion(&version), op{name: "deployment_lock", rows: []any{id}}); err != nil {
				return err
			}
			return run(append(append(s.notify(), op{name: "deployment_revive", args: args{"id": id, "since": version}}), do...)...)
		})
	}
	switch class, _ := classOf(err); {
	case class == dialects.Missed:
		return ports.Answer{Outcome: ports.Gone}, nil
	case err != nil:
		return ports.Answer{Err: err}, err
	}
	return answer, nil
}

var errRetired = errors.New("the revision is retired")
