package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func (s *Server) fetch(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	var ask wire.Fetch
	if err := s.body(w, req, &ask); err != nil {
		return err
	}
	f := ports.TaskFetch{
		TaskAsk: ports.TaskAsk{Tenants: p.Tenants, Worker: ask.WorkerID, Max: ask.MaxTasks},
		Wait:    milliseconds(ask.AsyncResponseTimeout),
	}
	for _, t := range ask.Topics {
		f.Topics = append(f.Topics, ports.TaskTopic{Name: t.TopicName, Lock: milliseconds(t.LockDuration)})
	}
	tasks, err := s.Tasks.Fetch(req.Context(), f)
	if err != nil {
		return err
	}
	out := make([]wire.Task, 0, len(tasks))
	for _, t := range tasks {
		out = append(out, task(t))
	}
	return write(w, http.StatusOK, out)
}

func task(t ports.LockedTask) wire.Task {
	return wire.Task{
		ID: t.Task.ID.String(), Topic: t.Topic, Instance: t.Ref.ID.String(), Process: t.Process, DeploymentID: string(t.Deployment),
		Tenant: t.Tenant, Activity: t.Node, WorkerID: t.Worker, LockToken: t.Epoch, LockUntil: at(t.LockUntil), Retries: t.Retries,
		Variables: t.Inputs, Headers: t.Headers, Created: t.Created, Terminal: t.Terminal, LastError: t.LastError,
	}
}

func (s *Server) complete(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	lock, c, err := s.completion(w, req)
	if err != nil {
		return err
	}
	accepted, err := s.Tasks.Complete(req.Context(), p.Tenants, lock, c.Variables)
	return ended(w, accepted, err)
}

func (s *Server) bpmnError(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	lock, c, err := s.completion(w, req)
	if err != nil {
		return err
	}
	accepted, err := s.Tasks.Error(req.Context(), p.Tenants, lock, c.ErrorCode, c.ErrorMessage, c.Variables)
	return ended(w, accepted, err)
}

func (s *Server) failure(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	lock, c, err := s.completion(w, req)
	if err != nil {
		return err
	}
	f := ports.FailedTask{TaskLock: lock, After: milliseconds(c.RetryTimeout), Error: c.ErrorMessage}
	return ended(w, false, s.Tasks.Fail(req.Context(), p.Tenants, f, c.Retries))
}

func (s *Server) extend(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	lock, c, err := s.completion(w, req)
	if err != nil {
		return err
	}
	return ended(w, false, s.Tasks.Extend(req.Context(), p.Tenants, lock, milliseconds(c.NewDuration)))
}

func (s *Server) completion(w http.ResponseWriter, req bunrouter.Request) (ports.TaskLock, wire.Completion, error) {
	var c wire.Completion
	id, err := id(req)
	if err != nil {
		return ports.TaskLock{}, c, err
	}
	err = s.body(w, req, &c)
	return ports.TaskLock{ID: id, Worker: c.WorkerID, Epoch: c.LockToken}, c, err
}

// ended answers a worker: 200 done, 202 accepted while another step was in flight.
func ended(w http.ResponseWriter, accepted bool, err error) error {
	switch {
	case err != nil:
		return err
	case accepted:
		return write(w, http.StatusAccepted, struct{}{})
	}
	return write(w, http.StatusOK, struct{}{})
}

// body reads a JSON body, strictly.
func (s *Server) body(w http.ResponseWriter, req bunrouter.Request, into any) error {
	body, err := all(w, req.Request, s.MaxPayload)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fault.RequestInvalid.With("the body does not read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fault.RequestInvalid.With("the body goes on after its end")
	}
	return nil
}

// milliseconds is a duration, the longest there is where n are more: what is too long is refused, and not taken for something short.
func milliseconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(n, -most), most)) * time.Millisecond
}
