package deployer

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// The states of an operation.
const (
	statePending = "pending"
	stateDone    = "done"
	stateFailed  = "failed"
)

// What notices' destinations begin with. A callback is sent with less trust than what a model names; a broker is looked up when it is sent to.
const (
	callbackScheme = "callback+"
	brokerScheme   = "broker:"
)

// checkNotices refuses a notice that could never be sent, before anything is done.
func (d *Deployer) checkNotices(call ports.Deploy) error {
	if call.Notify != "" {
		if err := d.checkNotify(call.Notify); err != nil {
			return err
		}
	}
	if call.Callback != "" {
		return d.Callbacks.Check(call.Callback)
	}
	return nil
}

// checkNotify refuses what is no place at a broker that this replica was told of and can speak to.
func (d *Deployer) checkNotify(notify string) error {
	to := channel.PlaceOf(notify)
	if to.Broker == "" || to.Path == "" || strings.ContainsAny(to.Broker, ":?#") {
		return fault.NotifyUnsupported.With("notify is %q; use broker/queue, broker/exchange/key, broker/subject or broker/topic; for a URL there is callback", notify)
	}
	address, err := d.Secrets.Resolve(to.Reference())
	if err != nil {
		return fault.NotifyUnsupported.With("notify is %q: %w", notify, err)
	}
	if scheme, _, _ := strings.Cut(address, ":"); d.Senders[scheme] == nil {
		return fault.NotifyUnsupported.With("notify is %q, and this build does not speak to broker %q", notify, to.Broker)
	}
	return nil
}

// options are what an operation keeps of its call.
type options struct {
	Slot       string             `json:"slot"`
	Deployment ports.DeploymentID `json:"deployment"`
	Supersedes string             `json:"supersedes,omitempty"`
	Tenants    []string           `json:"tenants,omitempty"`
	Actor      string             `json:"actor,omitempty"`
}

// Submit makes the deploy durable and answers at once. What can be refused without the database is refused here: what is no archive, or
// does not compile, never becomes an operation.
func (d *Deployer) Submit(ctx context.Context, call ports.Deploy) (ports.ID, error) {
	if err := d.checkNotices(call); err != nil {
		return ports.ID{}, err
	}
	a, _, err := d.compile(call)
	if err != nil {
		return ports.ID{}, err
	}
	kept, err := json.Marshal(options{a.Slot().String(), a.ID, call.Supersedes, call.By.Tenants, call.By.Name})
	if err != nil {
		return ports.ID{}, err
	}
	now := d.Clock.Now()
	o := ports.Operation{
		ID: d.IDs.New(), Tenant: a.Manifest.Labels.Tenant, Archive: call.Archive, State: statePending, Revision: a.ID,
		Callback: call.Callback, Notify: call.Notify, Options: kept, Owner: d.Replica, Touched: now, Created: now,
	}
	if err := d.Operations.Open(ctx, o); err != nil {
		return ports.ID{}, err
	}
	select {
	case d.submitted <- o:
	default: // it is adopted when it has been silent for long enough
	}
	return o.ID, nil
}

// Operation reads how a submitted deploy stands.
func (d *Deployer) Operation(ctx context.Context, tenants []string, id ports.ID) (ports.Operation, error) {
	o, answer, err := d.Operations.Read(ctx, id)
	if err != nil {
		return o, err
	}
	if answer.Outcome != ports.Done || !may(tenants, o.Tenant) {
		return ports.Operation{}, fault.OperationUnknown.With("there is no deploy operation %s", id)
	}
	return o, nil
}

// Run finishes submitted deploys, and adopts those whose replica is gone, until ctx ends.
func (d *Deployer) Run(ctx context.Context) {
	adopt := time.NewTicker(max(d.Silent/4, time.Second))
	defer adopt.Stop()
	for {
		var found []ports.Operation
		var err error
		select {
		case <-ctx.Done():
			return
		case o := <-d.submitted:
			found = append(found, o)
		case <-adopt.C:
			found, err = d.Operations.Adopt(ctx, d.Replica, d.Clock.Now().Add(-d.Silent), 16)
		}
		for _, o := range found {
			err = errors.Join(err, d.finish(ctx, o))
		}
		if err != nil && ctx.Err() == nil {
			d.Log.WarnContext(ctx, "cannot finish submitted deploys; they will be adopted", "error", err)
		}
	}
}

// finish deploys and writes the outcome with its notices, once: whoever closes the operation tells. Trouble that passes leaves it
// pending, to be adopted; every other end is the operation's.
func (d *Deployer) finish(ctx context.Context, o ports.Operation) error {
	mine, err := d.Operations.Touch(ctx, o.ID, d.Replica)
	if err != nil || mine.Outcome != ports.Done {
		return err // another has adopted it
	}
	revision, err := d.carryOut(ctx, o)
	o.State, o.Revision = stateDone, revision.ID
	if err != nil {
		f := fault.Of(err)
		if passes := f.Code.Disposition(); passes == fault.Redeliver || passes == fault.Uncertain || ctx.Err() != nil {
			return err
		}
		o.State, o.Fault = stateFailed, &ports.Fault{Code: string(f.Code), Detail: f.Detail}
	}
	revision.Slot.Tenant = o.Tenant
	notices := d.notices(o.Callback, o.Notify, o.ID, revision, o.Fault)
	if _, err := d.Operations.Close(ctx, o, notices); err != nil {
		return err
	}
	if len(notices) > 0 {
		d.Outbox()
	}
	return nil
}

// carryOut deploys what was submitted. When it fails, the revision is what would have become of it.
func (d *Deployer) carryOut(ctx context.Context, o ports.Operation) (ports.Revision, error) {
	var kept options
	if err := json.Unmarshal(o.Options, &kept); err != nil {
		return ports.Revision{ID: o.Revision}, fault.Internal.With("the options of operation %s cannot be read: %w", o.ID, err)
	}
	done, err := d.deploy(ctx, ports.Deploy{Archive: o.Archive, By: ports.Actor{Name: kept.Actor, Tenants: kept.Tenants}, Supersedes: kept.Supersedes}, func(a *ports.Activation) {
		a.Call, a.Submitted = o.ID, true
	})
	if err == nil {
		return done.Revision, nil
	}
	slot, failed := ParseSlot(kept.Slot)
	if failed != nil {
		return ports.Revision{ID: kept.Deployment}, errors.Join(err, failed)
	}
	return ports.Revision{ID: kept.Deployment, Slot: slot}, err
}

// notices are the completion events of a deploy, as CloudEvents: one to the callback, one to whom notify names. They belong to no
// revision and hold none back.
func (d *Deployer) notices(callback, notify string, of ports.ID, r ports.Revision, failed *ports.Fault) []ports.Emission {
	kind, data := "com.sutra.deployment.activated", map[string]any{"deploymentId": r.ID, "slot": r.Slot.String()}
	if failed != nil {
		kind, data["code"], data["detail"] = "com.sutra.deployment.failed", failed.Code, failed.Detail
	}
	if callback != "" {
		callback = callbackScheme + callback
	}
	if notify != "" {
		notify = brokerScheme + notify
	}
	var out []ports.Emission
	for i, destination := range []string{callback, notify} {
		if destination == "" {
			continue
		}
		id := of.Derive(i)
		body, err := json.Marshal(map[string]any{
			"specversion": "1.0", "id": id.String(), "source": "/sutra/deployments", "type": kind, "time": d.Clock.Now().Format(time.RFC3339Nano),
			"datacontenttype": "application/json", "data": data,
		})
		if err != nil {
			d.Log.Error("cannot write a notice", "error", err)
			continue
		}
		out = append(out, ports.Emission{
			Tenant: r.Slot.Tenant, ID: id, Destination: destination, ContentType: "application/cloudevents+json", Body: body,
		})
	}
	return out
}
