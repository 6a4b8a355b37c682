package database

import (
	"bytes"
	"context"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// Operations keeps asynchronous deploys.
func (s *Store) Operations() ports.Operations { return operations{s} }

type operations struct{ *Store }

const operationPending = "pending"

func (s operations) Open(ctx context.Context, o ports.Operation) error {
	all := args{
		"id": o.ID, "tenant": o.Tenant, "callback": o.Callback, "notify": o.Notify, "options": o.Options, "owner": o.Owner, "now": s.now(),
	}
	err := s.write(ctx, fleet,
		op{name: "operation_insert", args: all},
		op{name: "archive_insert", args: all, rows: chunks(o.ID.String(), o.Archive)})
	if class, _ := classOf(err); class == dialects.Duplicate {
		return nil // it is open already: this call's first attempt had landed
	}
	return err
}

func (s operations) Read(ctx context.Context, id ports.ID) (ports.Operation, ports.Answer, error) {
	var found []ports.Operation
	err := s.read(ctx, fleet, op{name: "operation_read", rows: []any{id}, scan: scanOperation(&found)})
	switch {
	case err != nil:
		return ports.Operation{}, ports.Answer{Err: err}, err
	case len(found) == 0:
		return ports.Operation{}, ports.Answer{Outcome: ports.Gone}, nil
	}
	return found[0], ports.Answer{Outcome: ports.Done}, nil
}

func (s operations) Adopt(ctx context.Context, by string, silent time.Time, limit int) ([]ports.Operation, error) {
	var found []ports.Operation
	took, err := s.handOut(ctx, func(run run) error {
		now := s.now()
		found = nil
		err := run(op{name: "operation_silent", args: args{"silent": silent, "limit": limit}, scan: scanOperation(&found)})
		if err != nil || len(found) == 0 {
			return err
		}
		ids := column(found, func(o ports.Operation) any { return o.ID })
		for i := range found {
			found[i].Owner, found[i].Touched = by, now
		}
		return run(op{name: "operation_own", args: args{"owner": by, "now": now, "silent": silent}, rows: ids})
	})
	if !took {
		return nil, err
	}
	for i := range found {
		if found[i].Archive, err = s.archive(ctx, found[i].ID.String()); err != nil {
			return found[:i], err // the others fall silent again
		}
	}
	return found, nil
}

func (s operations) Touch(ctx context.Context, id ports.ID, by string) (ports.Answer, error) {
	touch := op{name: "operation_touch", args: args{"id": id, "owner": by, "now": s.now()}}
	return s.owned(ctx, id, by, func(o ports.Operation) bool { return o.State == operationPending }, touch)
}

func (s operations) Close(ctx context.Context, o ports.Operation, notices []ports.Emission) (ports.Answer, error) {
	w := newWriting(o.Tenant, s.now())
	for i := range notices {
		w.emit(&notices[i])
	}
	fault := faultOf(o.Fault)
	shut := op{name: "operation_close", args: args{
		"id": o.ID, "owner": o.Owner, "state": o.State, "revision": o.Revision, "now": w.now,
		"fault_code": null(fault.Code), "fault_detail": null(fault.Detail), "fault_node": null(fault.Node),
	}}
	ops := append([]op{shut, {name: "archive_delete", rows: []any{o.ID.String()}}}, w.ops()...)
	return s.owned(ctx, o.ID, o.Owner, func(now ports.Operation) bool { return now.State == o.State }, ops...)
}

func (s operations) Purge(ctx context.Context, before time.Time, limit int) (int, error) {
	var ids []any
	err := s.read(ctx, fleet, op{name: "operation_old", args: args{"before": before, "limit": limit}, scan: func(r row) error {
		var id ports.ID
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return len(ids), s.write(ctx, fleet, op{name: "operation_delete", rows: ids})
}

// owned writes to an operation that has to be pending and by's. landed tells from its row that the write has happened.
func (s operations) owned(ctx context.Context, id ports.ID, by string, landed func(ports.Operation) bool, ops ...op) (ports.Answer, error) {
	out := s.settle(ctx, group{
		n:      1,
		tenant: func(int) string { return fleet },
		keys:   func(int) []string { return []string{string(id[:])} },
		size:   func(int) int { return 0 },
		write: func(ctx context.Context, tenant string, _ []int) error {
			return s.run.write(ctx, tx{tenant: tenant, ops: ops})
		},
		ask: func(ctx context.Context, _ string, _ []int, out []ports.Answer) error {
			now, _, err := s.Read(ctx, id)
			switch {
			case err != nil:
			case now.Owner != by:
				out[0].Outcome = ports.Gone
			case landed(now):
				out[0].Outcome = ports.Done
			case now.State != operationPending:
				out[0].Outcome = ports.Gone
			}
			return err
		},
	})
	return out[0], out[0].Err
}

func scanOperation(into *[]ports.Operation) func(row) error {
	return func(r row) error {
		var o ports.Operation
		var fault ports.Fault
		err := r.Scan(&o.ID, &o.Tenant, &o.State, &o.Revision, &fault.Code, &fault.Detail, &fault.Node, &o.Callback, &o.Notify, &o.Options,
			&o.Owner, &o.Touched, &o.Created)
		o.Options = bytes.Clone(o.Options)
		if fault != (ports.Fault{}) {
			o.Fault = &fault
		}
		*into = append(*into, o)
		return err
	}
}
