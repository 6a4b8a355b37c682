package conformance_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/conformance/suite"
	"github.com/sutra-engine/sutra/ports"
)

const deployFolder = "../deploy"

func TestDeployFilesRead(t *testing.T) {
	for path, text := range deployFiles(t) {
		if strings.Contains(path, "/templates/") {
			continue // no YAML until Helm has been over it (deploy/check)
		}
		switch filepath.Ext(path) {
		case ".yaml":
			if docs := documents(t, path, text); len(docs) == 0 {
				t.Errorf("%s: empty", path)
			}
		case ".json":
			if !json.Valid(text) {
				t.Errorf("%s: no JSON", path)
			}
		}
	}
}

// TestProbesAskRoutesThatExist: every path of ours that deploy/ names is one of the surface.
func TestProbesAskRoutesThatExist(t *testing.T) {
	raw, err := os.ReadFile("../adapters/httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var surface struct{ Paths map[string]any }
	if err := yaml.Unmarshal(raw, &surface); err != nil {
		t.Fatal(err)
	}
	found := 0
	for path, text := range deployFiles(t) {
		for _, m := range regexp.MustCompile(`[ '"](/(?:sutra/health/[a-z]+|metrics|openapi\.[a-z]+))\b`).FindAllSubmatch(text, -1) {
			found++
			if surface.Paths[string(m[1])] == nil {
				t.Errorf("%s: %s is no route", path, m[1])
			}
		}
	}
	if found < 4 {
		t.Errorf("got %d paths in deploy/: the search is broken", found)
	}
}

// scalers proves the queries that KEDA asks: run by the role that the SQL beside them makes, each counts what the engine's own backlog
// counts, over all tenants.
func scalers(t *testing.T, server *provision.Server, ran *statements) {
	t.Helper()
	if server.Dialect == "sqlite" {
		t.Skip("SQLite serves one process: there is nothing to scale")
	}
	address := server.Database(t)
	admin, err := server.Administrator(address)
	if err != nil {
		t.Fatal(err)
	}
	db := suite.Migrated(t, suite.Place{URL: address, Admin: admin, Dialect: dialect(t, server.Dialect), Words: words(server.Dialect), Watch: ran})
	want := backlogRows(t, db, words(server.Dialect))

	got, err := db.Open(t, suite.Replica{}).Views().Backlog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := ports.Backlog{InboxDue: got.InboxDue, OutboxDue: got.OutboxDue, TimersOverdue: got.TimersOverdue, TasksFetchable: got.TasksFetchable}
	if counts != want {
		t.Errorf("backlog: got %+v, want %+v", counts, want)
	}
	role := scalerRole(t, server, db, address, admin)
	asked := 0
	for _, trigger := range triggers(t, server.Dialect) {
		asked++
		var n float64 // as KEDA reads it
		if err := role.QueryRowContext(t.Context(), trigger.Metadata["query"]).Scan(&n); err != nil {
			t.Fatalf("%s: %v", trigger.Name, err)
		}
		due := map[string]int64{
			"due":       want.InboxDue + want.OutboxDue + want.TimersOverdue,
			"fetchable": want.TasksFetchable - 1, // one is a person's
		}[trigger.Name]
		if n != float64(due) {
			t.Errorf("%s: got %v, want %d", trigger.Name, n, due)
		}
	}
	if asked != 2 {
		t.Errorf("%d triggers were asked, want 2", asked)
	}
	if _, err := role.ExecContext(t.Context(), "DELETE FROM sutra_wait"); err == nil {
		t.Error("the scaler's role may delete")
	}
	if err := role.QueryRowContext(t.Context(), "SELECT max(tenant) FROM sutra_inbox").Scan(new(sql.NullString)); err == nil {
		t.Error("the scaler's role may read what it does not count by")
	}
	if server.Dialect == "postgres" {
		var n int
		if err := role.QueryRowContext(t.Context(), "SELECT count(*) FROM sutra_wait").Scan(&n); err != nil || n != 0 {
			t.Errorf("a query that does not say of whom: got %d, %v; want 0: row security holds for this role", n, err)
		}
	}
}

// backlogRows writes rows that are due, of two tenants, among rows that are not, and answers how many are.
func backlogRows(t *testing.T, db suite.Database, w suite.Words) ports.Backlog {
	t.Helper()
	const past, future = "'2020-01-01 00:00:00'", "'2999-01-01 00:00:00'"
	serial := uint64(0)
	id := func(size int) string {
		serial++
		return w.Literal(binary.BigEndian.AppendUint64(make([]byte, size-8), serial))
	}
	blob := w.Literal([]byte{1})
	tenant := func() string { return fmt.Sprintf("'t%d'", serial%2) }
	inbox := func(state, next string) {
		db.Exec(t, fmt.Sprintf("INSERT INTO sutra_inbox (event_key, tenant, channel, kind, state, attempts, accepted_at, next_attempt_at) "+
			"VALUES (%s, %s, 'c', 'message', '%s', 0, %s, %s)", id(32), tenant(), state, past, next))
	}
	outbox := func(poisoned int, next string) {
		db.Exec(t, fmt.Sprintf("INSERT INTO sutra_outbox (id, tenant, deployment, seq, destination, content_type, headers, wait_id, attempt, attempts, "+
			"next_attempt_at, poisoned, created_at) VALUES (%s, %s, 'd', 1, 'x', 'y', %s, 0, 0, 0, %s, %d, %s)", id(16), tenant(), blob, next, poisoned, past))
	}
	wait := func(attempt string) {
		db.Exec(t, fmt.Sprintf("INSERT INTO sutra_wait (instance, wait_id, tenant, kind, node, armed_at, attempt_at) "+
			"VALUES (%s, 1, %s, 'timer', 'n', %s, %s)", id(16), tenant(), past, attempt))
	}
	task := func(topic string, terminal int, until string) {
		db.Exec(t, fmt.Sprintf("INSERT INTO sutra_task (id, tenant, instance, wait_id, deployment, process, node, topic, retries, unlocked, lock_epoch, "+
			"lock_until, terminal, created_at) VALUES (%s, %s, %s, 1, 'd', 'p', 'n', '%s', 3, 0, 0, %s, %d, %s)",
			id(16), tenant(), id(16), topic, until, terminal, past))
	}
	want := ports.Backlog{InboxDue: 2, OutboxDue: 3, TimersOverdue: 4, TasksFetchable: 6}
	for range want.InboxDue {
		inbox("pending", past)
	}
	for range want.OutboxDue {
		outbox(0, past)
	}
	for range want.TimersOverdue {
		wait(past)
	}
	for range want.TasksFetchable - 1 {
		task("work", 0, past)
	}
	task("sutra:user-task", 0, past)
	inbox("pending", future)
	inbox("dead", past)
	outbox(1, past)
	outbox(0, future)
	wait(future)
	wait("NULL")
	task("work", 1, past)
	task("work", 0, future)
	return want
}

// scalerRole makes the role of deploy/keda under a name of its own, and opens the database as that role.
func scalerRole(t *testing.T, server *provision.Server, db suite.Database, address, admin string) *sql.DB {
	t.Helper()
	text := string(deployFiles(t)["keda/scaler-"+server.Dialect+".sql"])
	name, password := fmt.Sprintf("sutra_scaler_%d", time.Now().UnixNano()), fmt.Sprintf("Aa1-%d", time.Now().UnixNano())
	text = regexp.MustCompile(`change-me[^']*`).ReplaceAllString(strings.ReplaceAll(text, "sutra_scaler", name), password)
	t.Cleanup(func() { forget(t, server.Dialect, admin, name) })
	for statement := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(statement) != "" {
			db.Exec(t, statement)
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, password)
	role, err := provision.Open(u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = role.Close() })
	return role
}

func forget(t *testing.T, dialect, admin, name string) {
	t.Helper()
	db, err := provision.Open(admin)
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	for _, statement := range map[string][]string{
		"postgres": {"DROP OWNED BY %s", "DROP ROLE %s"}, "mysql": {"DROP USER %s@'%%'"}, "mariadb": {"DROP USER %s@'%%'"},
		"sqlserver": {"DROP USER %s", "DROP LOGIN %s"},
	}[dialect] {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), fmt.Sprintf(statement, name)); err != nil {
			t.Log(err)
		}
	}
}

// trigger is one trigger of a ScaledObject.
type trigger struct {
	Type, Name string
	Metadata   map[string]string
}

func triggers(t *testing.T, dialect string) (all []trigger) {
	t.Helper()
	path := "keda/" + dialect + ".yaml"
	for _, doc := range documents(t, path, deployFiles(t)[path]) {
		var object struct {
			Kind string
			Spec struct{ Triggers []trigger }
		}
		if err := doc.Decode(&object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if object.Kind == "ScaledObject" {
			all = append(all, object.Spec.Triggers...)
		}
	}
	return all
}

// TestScalersAreOfTheirDialect: each database has its scaler, by the name and with the threshold that KEDA knows.
func TestScalersAreOfTheirDialect(t *testing.T) {
	for dialect, want := range map[string][2]string{
		"postgres": {"postgresql", "targetQueryValue"}, "mysql": {"mysql", "queryValue"}, "mariadb": {"mysql", "queryValue"}, "sqlserver": {"mssql", "targetValue"},
	} {
		names := []string{}
		for _, trigger := range triggers(t, dialect) {
			names = append(names, trigger.Name)
			if trigger.Type != want[0] || trigger.Metadata[want[1]] == "" || trigger.Metadata["query"] == "" {
				t.Errorf("%s: trigger %s is a %s with %v; want a %s with %s and query", dialect, trigger.Name, trigger.Type, trigger.Metadata, want[0], want[1])
			}
		}
		if !slices.Equal(names, []string{"due", "fetchable"}) {
			t.Errorf("%s: got triggers %v", dialect, names)
		}
	}
}

func deployFiles(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(deployFolder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[path], err = os.ReadFile(filepath.Join(deployFolder, path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// documents reads a file of YAML.
func documents(t *testing.T, path string, text []byte) (all []yaml.Node) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, doc)
	}
}
