package database

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/core/claim"
	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// faulty is a database that fails at one statement as told.
type faulty struct {
	runner
	statement string
	calls     int
	fails     func(call int) error            // before it runs
	after     func(call int, err error) error // of a transaction that was held open
	landed    func(call int) error            // of a transaction that was written
}

func (f *faulty) fault(name string) error {
	if name != f.statement || f.fails == nil {
		return nil
	}
	f.calls++
	return f.fails(f.calls)
}

func (f *faulty) read(ctx context.Context, tenant string, ops []op) error {
	for _, o := range ops {
		if err := f.fault(o.name); err != nil {
			return err
		}
	}
	return f.runner.read(ctx, tenant, ops)
}

func (f *faulty) hold(ctx context.Context, tenant string, body func(run run) error) error {
	err := f.runner.hold(ctx, tenant, body)
	if f.after == nil {
		return err
	}
	f.calls++
	return f.after(f.calls, err)
}

// onFaulty is a store in memory over a database that fails.
func onFaulty(t *testing.T, f *faulty) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	f.runner, s.run = s.run, f
	return s
}

// TestNoOperationIsAdoptedWithoutItsArchive: it would end as a deploy of nothing.
func TestNoOperationIsAdoptedWithoutItsArchive(t *testing.T) {
	s := onFaulty(t, &faulty{statement: "archive_read", fails: func(call int) error {
		if call == 1 {
			return nil
		}
		return failing(dialects.Timeout, false)
	}})
	for i := range 3 {
		o := ports.Operation{ID: ports.ID{byte(i + 1)}, Tenant: "t", Archive: fmt.Append(nil, "zip ", i), Owner: "a"}
		if err := s.Operations().Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	adopted, err := s.Operations().Adopt(t.Context(), "b", s.now().Add(time.Minute), 10)
	if err == nil || len(adopted) != 1 {
		t.Errorf("got %d operations, %v; want the one that was read, and the trouble with the next", len(adopted), err)
	}
	for _, o := range adopted {
		if len(o.Archive) == 0 {
			t.Errorf("operation %s has no archive", o.ID)
		}
	}
}

// TestADeployWhoseCommitIsUncertainIsAskedAbout: its call tells whether it has landed.
func TestADeployWhoseCommitIsUncertainIsAskedAbout(t *testing.T) {
	for name, lost := range map[string]func(call int, err error) error{
		"landed": func(call int, err error) error {
			if call == 1 && err == nil {
				return failing(dialects.Lost, true)
			}
			return err
		},
		"nobody can be asked": func(int, error) error { return failing(dialects.Lost, true) },
	} {
		t.Run(name, func(t *testing.T) {
			s := onFaulty(t, &faulty{after: lost})
			made, answer, err := s.Deployments().Activate(t.Context(), ports.Activation{
				Slot: ports.Slot{Tenant: "t", Module: "m", Version: "1"}, ID: "d", Call: ports.ID{1}, Archive: []byte("zip"),
			})
			if name == "landed" {
				if err != nil || answer.Outcome != ports.Done || made.Number != 1 {
					t.Errorf("got %+v %+v %v, want revision 1 done", made, answer, err)
				}
				return
			}
			if _, uncertain := classOf(err); !uncertain {
				t.Errorf("got %v, want that it may have happened", err)
			}
		})
	}
}

// TestAClaimOfSeveralTenantsThatFailsHoldsNobody: what the first part of it got is given back, not left for the sweep.
func TestAClaimOfSeveralTenantsThatFailsHoldsNobody(t *testing.T) {
	ids := &system.IDs{}
	refs := []ports.Ref{{Tenant: "a", ID: ids.New()}, {Tenant: "b", ID: ids.New()}}
	for name, f := range map[string]*faulty{
		"one tenant is claimed":       {statement: "instance_claim", fails: second},
		"the refused cannot be asked": {statement: "instance_state", fails: func(int) error { return failing(dialects.Timeout, false) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := onFaulty(t, f)
			f.suspended(t, s, refs...)
			ask := refs
			if f.statement == "instance_state" {
				ask = []ports.Ref{refs[0], {Tenant: "a", ID: ids.New()}}
			}
			guard := claim.Guard{Claims: s.Claims(), Clock: s.Clock(), Silent: time.Minute}
			err := guard.With(t.Context(), "one/1", ask, func([]*claim.Held) { t.Error("the work began") })
			if err == nil {
				t.Fatal("want the trouble")
			}
			f.fails = nil
			got, err := s.Claims().Claim(t.Context(), "other/1", refs[:1], s.now().Add(-time.Minute))
			if err != nil || got[0].Outcome != ports.Done {
				t.Errorf("another gets %+v, %v; want the instance", got, err)
			}
		})
	}
}

// TestAClaimWhoseCommitIsUncertainIsMadeAgain: its owner gets it once more, and does not leave it to the sweep.
func TestAClaimWhoseCommitIsUncertainIsMadeAgain(t *testing.T) {
	f := &faulty{}
	s := onFaulty(t, f)
	ref := ports.Ref{Tenant: "a", ID: (&system.IDs{}).New()}
	f.suspended(t, s, ref)
	f.statement = "instance_claim"
	f.landed = func(call int) error {
		if call == 1 {
			return failing(dialects.Lost, true)
		}
		return nil
	}
	got, err := s.Claims().Claim(t.Context(), "one/1", []ports.Ref{ref}, s.now().Add(-time.Minute))
	if err != nil || got[0].Outcome != ports.Done || got[0].Epoch != 2 {
		t.Errorf("got %+v, %v; want the claim under its second epoch", got, err)
	}
}

func second(call int) error {
	if call == 2 {
		return failing(dialects.Timeout, false)
	}
	return nil
}

// suspended makes instances.
func (f *faulty) suspended(t *testing.T, s *Store, refs ...ports.Ref) {
	t.Helper()
	for _, ref := range refs {
		id := ports.DeploymentID("d" + ref.Tenant)
		if _, _, err := s.Deployments().Activate(t.Context(), ports.Activation{Slot: ports.Slot{Tenant: ref.Tenant}, ID: id}); err != nil {
			t.Fatal(err)
		}
		a := s.Instances().Start(t.Context(), []ports.NewInstance{{Ref: ref, Deployment: id, Status: ports.Suspended, Snapshot: []byte("s")}})[0]
		if a.Outcome != ports.Done {
			t.Fatal(a)
		}
	}
}

func (f *faulty) write(ctx context.Context, t tx) error {
	for _, o := range t.ops {
		if err := f.fault(o.name); err != nil {
			return err
		}
	}
	err := f.runner.write(ctx, t)
	if err == nil && f.landed != nil && t.ops[0].name == f.statement {
		f.calls++
		err = f.landed(f.calls)
	}
	return err
}
