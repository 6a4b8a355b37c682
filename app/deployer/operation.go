package deployer

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// The states of an operation.
const (
	statePending = "pending"
	stateDone    = "done"
	stateFailed  = "failed"
)

// callbackScheme marks destinations that a caller named: they are sent with less trust than those of a model.
const callbackScheme = "callback+"

// checkCallbacks refuses a callback that could never be sent, before anything is done.
func (d *Deployer) checkCallbacks(call ports.Deploy) error {
	for name, text := range map[string]string{"callback": call.Callback, "notify": call.Notify} {
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !d.Inside) {
			return fault.CallbackInvalid.With("%s is %q; use an https URL without user", name, text)
		}
	}
	return nil
}

// options are what an operation keeps of its call.
type options struct {
	Deployment ports.DeploymentID `json:"deployment"`
	Supersedes string             `json:"supersedes,omitempty"`
	Tenants    []string           `json:"tenants,omitempty"`
	Actor      string             `json:"actor,omitempty"`
}

// Submit makes the deploy durable and answers at once. What can be refused without the database is refused here: what is no archive, or
// does not compile, never becomes an operation.
func (d *Deployer) Submit(ctx context.Context, call ports.Deploy) (ports.ID, error) {
	if err := d.checkCallbacks(call); err != nil {
		return ports.ID{}, err
	}
	a, _, err := d.compile(call)
	if err != nil {
		return ports.ID{}, err
	}
	kept, err := json.Marshal(options{a.ID, call.Supersedes, call.By.Tenants, call.By.Name})
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

// finish deploys and writes the outcome with its notices, once: whoever closes the operation tells.
func (d *Deployer) finish(ctx context.Context, o ports.Operation) error {
	var kept options
	if err := json.Unmarshal(o.Options, &kept); err != nil {
		return fault.Internal.With("the options of operation %s cannot be read: %w", o.ID, err)
	}
	done, err := d.deploy(ctx, ports.Deploy{Archive: o.Archive, By: ports.Actor{Name: kept.Actor, Tenants: kept.Tenants}, Supersedes: kept.Supersedes}, &o.ID, nil)
	revision := done.Revision
	o.State, o.Revision = stateDone, revision.ID
	if err != nil {
		f := fault.Of(err)
		if d := f.Code.Disposition(); d != fault.Reject {
			return err // trouble: it stays pending and is tried again
		}
		o.State, o.Fault = stateFailed, &ports.Fault{Code: string(f.Code), Detail: f.Detail}
		revision, o.Revision = ports.Revision{ID: kept.Deployment}, kept.Deployment
	}
	if revision.Slot.Tenant == "" {
		revision.Slot.Tenant = o.Tenant
	}
	notices := d.notices(o.Callback, o.Notify, o.ID, revision, o.Fault)
	if _, err := d.Operations.Close(ctx, o, notices); err != nil {
		return err
	}
	if len(notices) > 0 {
		d.Outbox()
	}
	return nil
}

// notices are the completion events of a deploy, as CloudEvents: one to the callback, one to whom notify names. They belong to no
// revision and hold none back.
func (d *Deployer) notices(callback, notify string, of ports.ID, r ports.Revision, failed *ports.Fault) []ports.Emission {
	kind, data := "com.sutra.deployment.activated", map[string]any{"deploymentId": r.ID, "slot": r.Slot.String(), "revision": r.Number}
	if failed != nil {
		kind, data = "com.sutra.deployment.failed", map[string]any{"deploymentId": r.ID, "code": failed.Code, "detail": failed.Detail}
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
			Tenant: r.Slot.Tenant, ID: id, Destination: callbackScheme + destination, ContentType: "application/cloudevents+json", Body: body,
		})
	}
	return out
}
