// Package client calls the HTTP API of Sutra. It depends on the standard library alone.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/client/wire"
)

// Client is a connection to a fleet. It may be shared.
type Client struct {
	base string
	by   Credentials
	http *http.Client
}

// Credentials prove who calls: with a key, or with a token.
type Credentials struct {
	Key string // empty: none
	// Token is asked for each request, so that whoever makes tokens may keep one until it runs out. Nil: there is none.
	Token func(context.Context) (string, error)
}

// New makes a client of the server at base (http://host:port).
func New(base string, by Credentials) *Client {
	return &Client{base: strings.TrimSuffix(base, "/"), by: by, http: &http.Client{}}
}

// Problem is what the server refused, and why.
type Problem struct{ wire.Problem }

// Error is the detail and the code, and every violation on a line of its own.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s]", p.Detail, p.Code)
	for i, v := range p.Violations {
		if i == 0 && v.Detail == p.Detail {
			continue
		}
		fmt.Fprintf(&b, "\n  %s [%s]", v.Detail, v.Code)
	}
	return b.String()
}

// DeployOptions are the parameters of a deploy.
type DeployOptions struct {
	Async      bool
	Fleet      bool // wait until every replica serves it
	Supersedes string
	Callback   string
	Notify     string
}

// Deploy sends an archive and answers when it is active. It is for synchronous deploys; see Submit.
func (c *Client) Deploy(ctx context.Context, archive io.Reader, o DeployOptions) (wire.Deployment, error) {
	var out wire.Deployment
	err := c.exchange(ctx, http.MethodPost, "/admin/deployments?"+o.query("sync"), "application/zip", archive, &out)
	return out, err
}

// Submit sends an archive and answers with the operation to poll.
func (c *Client) Submit(ctx context.Context, archive io.Reader, o DeployOptions) (wire.Operation, error) {
	var out wire.Operation
	err := c.exchange(ctx, http.MethodPost, "/admin/deployments?"+o.query("async"), "application/zip", archive, &out)
	return out, err
}

func (o DeployOptions) query(mode string) string {
	q := url.Values{"mode": {mode}}
	if o.Fleet {
		q.Set("wait", "fleet")
	}
	for name, value := range map[string]string{"supersedes": o.Supersedes, "callback": o.Callback, "notify": o.Notify} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}

// Operation reads how a submitted deploy stands.
func (c *Client) Operation(ctx context.Context, id string) (wire.Operation, error) {
	var out wire.Operation
	err := c.call(ctx, http.MethodGet, "/admin/operations/"+url.PathEscape(id), "", nil, &out)
	return out, err
}

// Undeploy drains a revision, named by slot or id.
func (c *Client) Undeploy(ctx context.Context, target string) (wire.Deployment, error) {
	var out wire.Deployment
	err := c.call(ctx, http.MethodDelete, "/admin/deployments/"+url.PathEscape(target), "", nil, &out)
	return out, err
}

// Deployments lists revisions, newest first; query may name phases (Active, Draining, Retired).
func (c *Client) Deployments(ctx context.Context, query url.Values) ([]wire.Deployment, error) {
	var all []wire.Deployment
	q := url.Values{"phase": query["phase"]}
	for {
		page, err := list[wire.Deployment](ctx, c, "/sutra/deployments", q)
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Items...); page.Next == "" {
			return all, nil
		}
		q.Set("after", page.Next)
	}
}

// Deployment reads one revision, named by id, or by its slot.
func (c *Client) Deployment(ctx context.Context, target string) (wire.Deployment, error) {
	var out wire.Deployment
	err := c.call(ctx, http.MethodGet, "/sutra/deployments/"+url.PathEscape(target), "", nil, &out)
	return out, err
}

// Instances reads one page of a list; query holds its filters and the cursor.
func (c *Client) Instances(ctx context.Context, query url.Values) (wire.Page[wire.Instance], error) {
	return list[wire.Instance](ctx, c, "/sutra/instances", query)
}

// Instance reads one instance with what it waits for.
func (c *Client) Instance(ctx context.Context, id string) (wire.Instance, error) {
	var out wire.Instance
	err := c.call(ctx, http.MethodGet, "/sutra/instances/"+url.PathEscape(id), "", nil, &out)
	return out, err
}

// Cancel ends an instance.
func (c *Client) Cancel(ctx context.Context, id string) (wire.Instance, error) {
	var out wire.Instance
	err := c.call(ctx, http.MethodPost, "/admin/instances/"+url.PathEscape(id)+"/cancel", "", nil, &out)
	return out, err
}

// Resume brings a FAILED instance back; event is replay or drop.
func (c *Client) Resume(ctx context.Context, id, event string) (wire.Instance, error) {
	var out wire.Instance
	err := c.call(ctx, http.MethodPost, "/admin/instances/"+url.PathEscape(id)+"/resume?event="+url.QueryEscape(event), "", nil, &out)
	return out, err
}

// Migrate moves one instance to another revision, or tries to; a refusal is a *Problem that lists every violation.
func (c *Client) Migrate(ctx context.Context, id string, m wire.Migration) (wire.Migrated, error) {
	var out wire.Migrated
	err := c.send(ctx, "/admin/instances/"+url.PathEscape(id)+"/migrate", m, &out)
	return out, err
}

// MigrateBatch moves one page of instances, each in a transaction of its own, and says what became of each.
func (c *Client) MigrateBatch(ctx context.Context, b wire.MigrationBatch) (wire.MigrationPage, error) {
	var out wire.MigrationPage
	err := c.send(ctx, "/admin/instances/migrate", b, &out)
	return out, err
}

// Ready answers nil when the replica takes work; else the error names what keeps it from it.
func (c *Client) Ready(ctx context.Context) error { return c.health(ctx, "ready") }

// Live answers nil when the replica's process works; else the error names what does not.
func (c *Client) Live(ctx context.Context) error { return c.health(ctx, "live") }

func (c *Client) health(ctx context.Context, route string) error {
	return c.call(ctx, http.MethodGet, "/sutra/health/"+route, "", nil, &wire.Health{})
}

// Correct writes variables (a JSON object) of an instance's process.
func (c *Client) Correct(ctx context.Context, id string, variables json.RawMessage) (wire.Instance, error) {
	var out wire.Instance
	err := c.send(ctx, "/admin/instances/"+url.PathEscape(id)+"/variables", wire.Correction{Variables: variables}, &out)
	return out, err
}

// RetryNow has an instance's paused calls make their next attempt at once; a FAILED instance does again what it failed at.
func (c *Client) RetryNow(ctx context.Context, id string) (wire.Instance, error) {
	var out wire.Instance
	err := c.call(ctx, http.MethodPost, "/admin/instances/"+url.PathEscape(id)+"/retry", "", nil, &out)
	return out, err
}

// Audit reads one page of what operators did, newest first; query holds its filters and the cursor.
func (c *Client) Audit(ctx context.Context, query url.Values) (wire.Page[wire.Audit], error) {
	return list[wire.Audit](ctx, c, "/admin/audit", query)
}

// Leases lists the roles of the fleet, and who leads each.
func (c *Client) Leases(ctx context.Context) ([]wire.Lease, error) {
	var out wire.Page[wire.Lease]
	err := c.call(ctx, http.MethodGet, "/admin/leases", "", nil, &out)
	return out.Items, err
}

// Tasks reads one page of external tasks; terminal=true in query asks for the exhausted ones.
func (c *Client) Tasks(ctx context.Context, query url.Values) (wire.Page[wire.Task], error) {
	return list[wire.Task](ctx, c, "/admin/tasks", query)
}

// RetryTask gives an exhausted task so many attempts more.
func (c *Client) RetryTask(ctx context.Context, id string, retries int) error {
	return c.call(ctx, http.MethodPost, "/admin/tasks/"+url.PathEscape(id)+"/retry?retries="+strconv.Itoa(retries), "", nil, &struct{}{})
}

// Outbox reads one page of emissions that wait to be sent; poisoned=true in query asks for those given up.
func (c *Client) Outbox(ctx context.Context, query url.Values) (wire.Page[wire.Emission], error) {
	return list[wire.Emission](ctx, c, "/admin/outbox", query)
}

// Redrive makes a poisoned emission of a tenant due again.
func (c *Client) Redrive(ctx context.Context, tenant, id string) error {
	return c.call(ctx, http.MethodPost, "/admin/outbox/"+url.PathEscape(id)+"/redrive?tenant="+url.QueryEscape(tenant), "", nil, &struct{}{})
}

// list reads one page.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) (wire.Page[T], error) {
	var out wire.Page[T]
	err := c.call(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil, &out)
	return out, err
}

// send posts a record.
func (c *Client) send(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, path, "application/json", bytes.NewReader(body), out)
}

// patience bounds every call but uploads, which take as long as they take.
const patience = 2 * time.Minute

// call makes one request, whose answer may take as long as patience.
func (c *Client) call(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.exchange(ctx, method, path, contentType, body, out)
}

// exchange makes one request and reads its answer; a refusal is a *Problem.
func (c *Client) exchange(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	switch {
	case c.by.Token != nil:
		token, err := c.by.Token(ctx)
		if err != nil {
			return fmt.Errorf("get a token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	case c.by.Key != "":
		req.Header.Set("X-Api-Key", c.by.Key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		p := &Problem{}
		if json.Unmarshal(data, &p.Problem) != nil || p.Code == "" {
			return fmt.Errorf("%s answered %s: %s", c.base, res.Status, bytes.TrimSpace(data))
		}
		return p
	}
	return json.Unmarshal(data, out)
}
