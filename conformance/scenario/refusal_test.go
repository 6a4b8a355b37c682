package scenario_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
	"github.com/sutra-engine/sutra/core/archive"
)

func TestBadArchivesAreRefusedWithNothingWritten(t *testing.T) {
	f := stage.Fleet(t, nil)
	r := f.Start("a")
	unchanged := watch(t, f, r)
	for _, c := range []struct {
		what, code string
		archive    []byte
	}{
		{"not a zip", "SUTRA.DEPLOY.ARCHIVE.NOT_A_ZIP", []byte("PK, or so it says")},
		{"a file that the manifest does not list", "SUTRA.DEPLOY.ARCHIVE.UNLISTED_FILE", rezip(t, add("templates/extra.txt", "extra"))},
		{"a missing file", "SUTRA.DEPLOY.ARCHIVE.MISSING_FILE", rezip(t, drop("channels.yaml"))},
		{"an altered file", "SUTRA.DEPLOY.ARCHIVE.DIGEST_MISMATCH", rezip(t, replace("bpmn/order.bpmn", "park", "bark"))},
		{"a path escape", "SUTRA.DEPLOY.ARCHIVE.PATH_INVALID", rezip(t, add("../outside.txt", "escaped"))},
		{"a bomb", "SUTRA.DEPLOY.ARCHIVE.TOO_LARGE", bomb(t)},
		{"a model that is not XML", "SUTRA.MODEL.XML.", sealed(t, replace("bpmn/order.bpmn", "<definitions", "definitions"))},
		{"a model without a process", "SUTRA.MODEL.PROCESS.NONE", sealed(t, set("bpmn/order.bpmn", `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"/>`))},
		{"a dangling flow", "SUTRA.MODEL.FLOW.INVALID", sealed(t, replace("bpmn/order.bpmn", `targetRef="confirm"`, `targetRef="nowhere"`))},
		{"an unknown kind of task", "SUTRA.MODEL.ELEMENT.UNSUPPORTED", sealed(t, replace("bpmn/order.bpmn", "sendTask", "magicTask"))},
		{"a channel twice", "SUTRA.DEPLOY.CHANNEL.DUPLICATE", sealed(t, replace("channels.yaml", "name: letter", "name: decision"))},
		{"a literal secret", "SUTRA.DEPLOY.CHANNEL.SECRET_LITERAL", sealed(t, replace("channels.yaml", "{scheme: none}", "{scheme: apikey, key: hunter2}"))},
	} {
		a, err := r.Call(scenario.Request{Method: http.MethodPost, Path: "/admin/deployments", Key: scenario.AdminKey, Kind: "application/zip", Body: c.archive})
		if err != nil || a.Status < 400 || a.Status > 499 || !says(a, c.code) || a.Problem().Retryable {
			t.Errorf("%s: got %s, %v; want a 4xx with %s, not retryable", c.what, a, err, c.code)
		}
		if strings.Contains(string(a.Body), "hunter2") {
			t.Errorf("%s: the answer tells the secret: %s", c.what, a)
		}
		unchanged(c.what)
	}
}

func TestBadMessagesAreRefusedWithNothingWritten(t *testing.T) {
	f := stage.Fleet(t, scenario.Settings{"sutra.codec.max-payload-bytes": "4096"})
	r := f.Start("a")
	r.Deploy(orders)
	park(t, r, 1)
	unchanged := watch(t, f, r)
	for _, c := range []struct {
		what, code   string
		status       int
		path, kind   string
		body, apiKey string
	}{
		{"a body that is not JSON", "SUTRA.INTAKE.BODY.UNDECODABLE", 400, "/channels/order", "application/json", `{"number":`, ""},
		{"a body too large", "SUTRA.INTAKE.BODY.TOO_LARGE", 413, "/channels/order", "application/json", `"` + strings.Repeat("x", 5000) + `"`, ""},
		{"a wrong content type", "SUTRA.INTAKE.CONTENT_TYPE.UNSUPPORTED", 415, "/channels/order", "application/pdf", `{"number": 2}`, ""},
		{"a channel that is not there", "SUTRA.INTAKE.CHANNEL.UNKNOWN", 404, "/channels/nowhere", "application/json", `{"number": 2}`, ""},
		{"a correlation that fits nothing", "SUTRA.CORRELATE.NO_MATCH", 404, "/channels/decision", "application/json", `{"number": 2}`, ""},
		{"a deploy without a key", "SUTRA.ADMIN.AUTH.UNAUTHORIZED", 401, "/admin/deployments", "application/zip", `x`, ""},
		{"a deploy with a wrong key", "SUTRA.ADMIN.AUTH.UNAUTHORIZED", 401, "/admin/deployments", "application/zip", `x`, "wrong"},
		{"a deploy with a lesser key", "SUTRA.ADMIN.AUTH.FORBIDDEN", 403, "/admin/deployments", "application/zip", `x`, scenario.OperateKey},
	} {
		a, err := r.Call(scenario.Request{Method: http.MethodPost, Path: c.path, Key: c.apiKey, Kind: c.kind, Event: "bad-" + c.what, Body: []byte(c.body)})
		if err != nil || a.Status != c.status || a.Problem().Code != c.code || a.Problem().Retryable {
			t.Errorf("%s: got %s, %v; want %d %s, not retryable", c.what, a, err, c.status, c.code)
		}
		unchanged(c.what)
	}
}

// watch answers a check that nothing was written since.
func watch(t *testing.T, f *scenario.Fleet, r *scenario.Replica) func(what string) {
	t.Helper()
	seen := func() []string {
		if *dialect == "sqlite" { // its file belongs to one process
			return []string{lines(t, r, "/sutra/instances"), lines(t, r, "/sutra/deployments")}
		}
		l := f.Ledger()
		return append(dump(l), slices.Concat(l.Rows("sutra_deployment"), l.Rows("sutra_door"))...)
	}
	before := seen()
	return func(what string) {
		t.Helper()
		after := seen()
		if !slices.Equal(before, after) {
			t.Errorf("%s wrote something:\nbefore %s\nafter  %s", what, before, after)
		}
		before = after
	}
}

func lines(t *testing.T, r *scenario.Replica, path string) string {
	t.Helper()
	a, err := r.Call(scenario.Request{Method: http.MethodGet, Path: path, Key: scenario.OperateKey})
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s: got %s, %v", path, a, err)
	}
	return string(a.Body)
}

// says that a problem, or one of its violations, bears a code that begins so.
func says(a scenario.Answer, prefix string) bool {
	p := a.Problem()
	return strings.HasPrefix(p.Code, prefix) || slices.ContainsFunc(p.Violations, func(v wire.Violation) bool { return strings.HasPrefix(v.Code, prefix) })
}

// edit changes the files of a package, by path.
type edit func(map[string]string)

func add(path, text string) edit { return func(files map[string]string) { files[path] = text } }
func set(path, text string) edit { return add(path, text) }
func drop(path string) edit      { return func(files map[string]string) { delete(files, path) } }
func replace(path, old, with string) edit {
	return func(files map[string]string) { files[path] = strings.ReplaceAll(files[path], old, with) }
}

// sealed is the orders package, edited and then sealed as its author would.
func sealed(t *testing.T, edits ...edit) []byte {
	t.Helper()
	return seal(t, archive.Default(), edits...)
}

func seal(t *testing.T, limits archive.Limits, edits ...edit) []byte {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(orders), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(os.DirFS(orders), path)
		files[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		e(files)
	}
	root := fstest.MapFS{}
	for path, text := range files {
		root[path] = &fstest.MapFile{Data: []byte(text)}
	}
	a, err := archive.Seal(root, limits)
	if err != nil {
		t.Fatal(err)
	}
	return a.Bytes
}

// rezip is the sealed orders package, edited without its manifest, as no author but an attacker would.
func rezip(t *testing.T, edits ...edit) []byte {
	t.Helper()
	return compress(t, sealed(t), edits...)
}

// bomb is small, and its manifest lists all of it; unpacked it is too much.
func bomb(t *testing.T) []byte {
	t.Helper()
	limits := archive.Default()
	huge := strings.Repeat("\x00", int(limits.Unpacked)+1)
	limits.Archive, limits.File, limits.Unpacked = 1<<40, 1<<40, 1<<40
	return compress(t, seal(t, limits, add("templates/bomb.txt", huge)))
}

func compress(t *testing.T, good []byte, edits ...edit) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	files, order := map[string]string{}, []string{}
	for _, file := range in.File {
		raw, err := fs.ReadFile(in, file.Name)
		if err != nil {
			t.Fatal(err)
		}
		files[file.Name] = string(raw)
		order = append(order, file.Name)
	}
	for _, e := range edits {
		e(files)
	}
	for path := range files {
		if !slices.Contains(order, path) {
			order = append(order, path)
		}
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, path := range order {
		text, there := files[path]
		if !there {
			continue
		}
		w, err := z.Create(path)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
