package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/core/archive"
)

// Request is one call of the HTTP surface.
type Request struct {
	Method, Path string
	Key          string // X-Api-Key
	Token        string // behind Authorization: Bearer
	Event        string // Idempotency-Key
	Kind         string // Content-Type
	Trace        string // traceparent
	Body         []byte
}

// Answer is what a replica said.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Problem reads a problem document; the zero Problem where the answer is none.
func (a Answer) Problem() wire.Problem {
	var p wire.Problem
	if json.Unmarshal(a.Body, &p) != nil {
		return wire.Problem{}
	}
	return p
}

// Instance is the process instance that the answer is about.
func (a Answer) Instance() string { return a.Header.Get("Sutra-Instance") }

// Duplicate says that the message had been taken before.
func (a Answer) Duplicate() bool { return a.Header.Get("Sutra-Duplicate") == "true" }

// Good says that the message was taken, or had been.
func (a Answer) Good() bool { return a.Status >= 200 && a.Status < 300 }

func (a Answer) String() string { return fmt.Sprintf("%d %s", a.Status, a.Body) }

// Call sends one request, and holds it and its answer to what the replica says of its routes. An error means that no whole answer came.
func (r *Replica) Call(q Request) (Answer, error) {
	a, err := r.exchange(q)
	if err != nil {
		return a, err
	}
	c := &r.fleet.stage.contract
	err = c.load(func() ([]byte, error) {
		doc, err := r.exchange(Request{Method: http.MethodGet, Path: "/openapi.yaml"})
		if err == nil && doc.Status != http.StatusOK {
			err = fmt.Errorf("openapi.yaml: got %d", doc.Status)
		}
		return doc.Body, err
	})
	if err != nil {
		r.fleet.t.Log(err) // who dies just now serves no document; the next call reads it
		return a, nil
	}
	if err := c.hold(q, a); err != nil {
		r.fleet.t.Error(err)
	}
	return a, nil
}

func (r *Replica) exchange(q Request) (Answer, error) {
	req, err := http.NewRequestWithContext(r.fleet.t.Context(), q.Method, r.URL+q.Path, bytes.NewReader(q.Body))
	if err != nil {
		return Answer{}, err
	}
	for name, value := range map[string]string{"X-Api-Key": q.Key, "Idempotency-Key": q.Event, "Content-Type": q.Kind, "Traceparent": q.Trace} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if q.Token != "" {
		req.Header.Set("Authorization", "Bearer "+q.Token)
	}
	client := http.Client{Timeout: patience}
	res, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	body, err := io.ReadAll(res.Body)
	if closed := res.Body.Close(); err == nil {
		err = closed
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: body}, err
}

// Message is one message to a channel.
type Message struct {
	Channel string
	Event   string // the caller's idempotency key
	Body    any    // sent as JSON
	Trace   string // traceparent
}

// Send posts a message once.
func (r *Replica) Send(m Message) (Answer, error) {
	body, err := json.Marshal(m.Body)
	if err != nil {
		return Answer{}, err
	}
	return r.Call(Request{Method: http.MethodPost, Path: "/channels/" + m.Channel, Event: m.Event, Kind: "application/json", Trace: m.Trace, Body: body})
}

// Insist posts a message as a good client does: until it was taken, or refused for good. Every try bears the same event id.
func (r *Replica) Insist(m Message) (Answer, error) {
	for deadline := time.Now().Add(patience); ; {
		a, err := r.Send(m)
		if err == nil && (a.Good() || !a.Problem().Retryable) {
			return a, nil
		}
		if time.Now().After(deadline) {
			return a, fmt.Errorf("%s to %s on %s was never taken: %s, %w", m.Event, m.Channel, r.Name, a, err)
		}
		time.Sleep(pause(a))
	}
}

// pause is how long the server asked a client to wait, within reason for a test.
func pause(a Answer) time.Duration {
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return 100 * time.Millisecond
	}
	return min(time.Duration(seconds)*time.Second, time.Second)
}

// MustSend posts a message that has to be taken at once.
func (r *Replica) MustSend(m Message) Answer {
	r.fleet.t.Helper()
	a, err := r.Send(m)
	if err != nil || !a.Good() {
		r.fleet.t.Fatalf("%s to %s on %s: got %s, %v; want it taken", m.Event, m.Channel, r.Name, a, err)
	}
	return a
}

// Deploy seals a package directory and deploys it to the whole fleet.
func (r *Replica) Deploy(dir string) wire.Deployment {
	r.fleet.t.Helper()
	return r.DeployFiles(dir, os.DirFS(dir))
}

// DeployFiles is Deploy of a package that is in no directory.
func (r *Replica) DeployFiles(dir string, files fs.FS) wire.Deployment {
	r.fleet.t.Helper()
	sealed, err := archive.Seal(files, archive.Default())
	if err != nil {
		r.fleet.t.Fatalf("seal %s: %v", dir, err)
	}
	a, err := r.Call(Request{Method: http.MethodPost, Path: "/admin/deployments?wait=fleet", Key: AdminKey, Kind: "application/zip", Body: sealed.Bytes})
	if err != nil || a.Status != http.StatusOK {
		r.fleet.t.Fatalf("deploy %s on %s: got %s, %v; want 200", dir, r.Name, a, err)
	}
	var d wire.Deployment
	r.decode(a, &d)
	return d
}

// Undeploy drains a revision.
func (r *Replica) Undeploy(id string) {
	r.fleet.t.Helper()
	a, err := r.Call(Request{Method: http.MethodDelete, Path: "/admin/deployments/" + id, Key: AdminKey})
	if err != nil || a.Status != http.StatusOK {
		r.fleet.t.Fatalf("undeploy %s on %s: got %s, %v; want 200", id, r.Name, a, err)
	}
}

// Metric is the sum of a counter over all series that have a label; empty: over all.
func (r *Replica) Metric(name, label string) int {
	r.fleet.t.Helper()
	a, err := r.Call(Request{Method: http.MethodGet, Path: "/metrics"})
	if err != nil || a.Status != http.StatusOK {
		r.fleet.t.Fatalf("metrics of %s: got %d, %v", r.Name, a.Status, err)
	}
	var sum float64
	for line := range strings.Lines(string(a.Body)) {
		fields := strings.Fields(line)
		series, _, _ := strings.Cut(line, "{")
		if len(fields) != 2 || strings.Fields(series)[0] != name || !strings.Contains(line, label) {
			continue
		}
		n, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			r.fleet.t.Fatalf("metrics of %s: %q: %v", r.Name, line, err)
		}
		sum += n
	}
	return int(sum)
}

// Instance reads one instance.
func (r *Replica) Instance(id string) wire.Instance {
	r.fleet.t.Helper()
	a, err := r.Call(Request{Method: http.MethodGet, Path: "/sutra/instances/" + id, Key: OperateKey})
	if err != nil || a.Status != http.StatusOK {
		r.fleet.t.Fatalf("instance %s on %s: got %s, %v; want 200", id, r.Name, a, err)
	}
	var i wire.Instance
	r.decode(a, &i)
	return i
}

// Instances reads all instances, page by page. The filter is a query such as "status=completed".
func (r *Replica) Instances(filter string) []wire.Instance {
	r.fleet.t.Helper()
	var all []wire.Instance
	for after := ""; ; {
		path := "/sutra/instances?limit=500&" + filter
		if after != "" {
			path += "&after=" + after
		}
		a, err := r.Call(Request{Method: http.MethodGet, Path: path, Key: OperateKey})
		if err != nil || a.Status != http.StatusOK {
			r.fleet.t.Fatalf("instances on %s: got %s, %v; want 200", r.Name, a, err)
		}
		var page wire.Page[wire.Instance]
		r.decode(a, &page)
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		after = page.Next
	}
}

func (r *Replica) decode(a Answer, into any) {
	r.fleet.t.Helper()
	if err := json.Unmarshal(a.Body, into); err != nil {
		r.fleet.t.Fatalf("%s answered %s: %v", r.Name, a, err)
	}
}

// Ran is how a command ended.
type Ran struct {
	Code     int
	Out, Err string
}

// Command runs the engine's binary as an operator would, against this replica, and waits for it.
func (r *Replica) Command(args ...string) Ran {
	r.fleet.t.Helper()
	cmd := exec.CommandContext(r.fleet.t.Context(), r.fleet.stage.Binary, args...)
	cmd.Env = append(os.Environ(), "SUTRA_URL="+r.URL, "SUTRA_KEY="+AdminKey)
	cmd.Dir = r.fleet.home
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		r.fleet.t.Fatalf("sutra %v: %v", args, err)
	}
	return Ran{cmd.ProcessState.ExitCode(), out.String(), said.String()}
}
