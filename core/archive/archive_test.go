package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/ports/fault"
)

const packageYAML = "labels: {tenant: acme, module: orders, version: 1.0.0}\nengine: {minContract: 1}\n"

func source() fstest.MapFS {
	return fstest.MapFS{
		"package.yaml":          {Data: []byte(packageYAML)},
		"channels.yaml":         {Data: []byte("channels: []\n")},
		"bpmn/a.bpmn":           {Data: []byte("<definitions/>")},
		"schemas/in/order.json": {Data: []byte("{}")},
		"README.md":             {Data: []byte("# left out")},
		".hidden/x":             {Data: []byte("left out")},
	}
}

func seal(t testing.TB) *archive.Archive {
	t.Helper()
	a, err := archive.Seal(source(), archive.Default())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSameSourcesSealToTheSameBytes(t *testing.T) {
	a, b := seal(t), seal(t)
	if !bytes.Equal(a.Bytes, b.Bytes) || a.ID != b.ID {
		t.Fatal("the same sources gave two archives")
	}
	// The id is part of the format: where it changes, every deployed revision is orphaned.
	const id = "721a93ae2aa58bbd20ab0d26a439892cdeee948358920f4e791b544dc5a46325"
	if string(a.ID) != id || a.Name() != "acme--orders--1.0.0.sutra" {
		t.Fatalf("got id %s name %s, want id %s", a.ID, a.Name(), id)
	}
}

func TestOpenReadsWhatSealWrote(t *testing.T) {
	a := seal(t)
	b, err := archive.Open(a.Bytes, archive.Default())
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != b.ID || len(a.Files) != len(b.Files) || len(b.Files) != 4 {
		t.Fatalf("got %s with %d files, want %s with %d", b.ID, len(b.Files), a.ID, len(a.Files))
	}
	if data, ok := b.File("bpmn/a.bpmn"); !ok || string(data) != "<definitions/>" {
		t.Fatalf("got %q %v", data, ok)
	}
}

// entries is a zip under construction, for archives that no Seal would write.
type entries []entry

type entry struct {
	name string
	data []byte
	with func(*zip.FileHeader)
}

func unzip(t testing.TB, data []byte) entries {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out entries
	for _, f := range z.File {
		data, err := fs.ReadFile(z, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{name: f.Name, data: data})
	}
	return out
}

func (es entries) zip(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range es {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.with != nil {
			e.with(h)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(e.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (es entries) add(name, data string) entries {
	return append(es, entry{name: name, data: []byte(data)})
}

// manifest rewrites the manifest as a hostile author would.
func (es entries) manifest(t testing.TB, change func(map[string]any)) entries {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(es[0].data, &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	es[0].data = append(bytes.Clone(data), '\n')
	return es
}

// listed adds a file and its line in the manifest, so that only what is wrong with the file can refuse it.
func (es entries) listed(t testing.TB, name string, data []byte) entries {
	t.Helper()
	dir := source()
	a, err := archive.Seal(fstest.MapFS{"package.yaml": dir["package.yaml"], "templates/x": {Data: data}}, archive.Limits{
		Archive: 1 << 40, Unpacked: 1 << 40, File: 1 << 40, Entries: 1 << 20, Path: 1 << 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	out := unzip(t, a.Bytes)
	out[0].data = bytes.ReplaceAll(out[0].data, []byte("templates/x"), []byte(name))
	for i := range out {
		if out[i].name == "templates/x" {
			out[i].name = name
		}
	}
	return out
}

// TestHostileArchivesAreRefused is the corpus: each archive with the one code it has to be refused with.
func TestHostileArchivesAreRefused(t *testing.T) {
	good := func() entries { return unzip(t, seal(t).Bytes) }
	for name, tc := range map[string]struct {
		data []byte
		want fault.Code
	}{
		"empty":                      {nil, fault.ArchiveNotZip},
		"text":                       {[]byte("hello"), fault.ArchiveNotZip},
		"truncated":                  {seal(t).Bytes[:200], fault.ArchiveNotZip},
		"bytes before the zip":       {append([]byte("#!/bin/sh\n"), seal(t).Bytes...), fault.ArchiveNotZip},
		"no entry":                   {entries{}.zip(t), fault.ArchiveNotZip},
		"no manifest":                {good()[1:].zip(t), fault.ArchiveManifest},
		"manifest not first":         {append(good()[1:], good()[0]).zip(t), fault.ArchiveManifest},
		"manifest is no JSON":        {append(entries{{name: "manifest.json", data: []byte("{")}}, good()[1:]...).zip(t), fault.ArchiveManifest},
		"manifest not canonical":     {append(entries{{name: "manifest.json", data: append([]byte(" "), good()[0].data...)}}, good()[1:]...).zip(t), fault.ArchiveManifest},
		"manifest with unknown keys": {good().manifest(t, func(m map[string]any) { m["x"] = 1 }).zip(t), fault.ArchiveManifest},
		"newer format":               {good().manifest(t, func(m map[string]any) { m["format"] = 2 }).zip(t), fault.ArchiveContract},
		"newer contract":             {good().manifest(t, func(m map[string]any) { m["minContract"] = 9 }).zip(t), fault.ArchiveContract},
		"labels differ from package": {good().manifest(t, func(m map[string]any) {
			m["labels"].(map[string]any)["module"] = "other"
		}).zip(t), fault.ArchiveManifest},
		"label with a slash": {good().manifest(t, func(m map[string]any) {
			m["labels"].(map[string]any)["tenant"] = "../etc"
		}).zip(t), fault.PackageLabel},
		"unlisted file":         {good().add("bpmn/evil.bpmn", "x").zip(t), fault.ArchiveUnlisted},
		"missing file":          {good()[:len(good())-1].zip(t), fault.ArchiveMissing},
		"altered file":          {append(good()[:1], entry{name: good()[1].name, data: []byte("altered")}).zip(t), fault.ArchiveDigest},
		"dot dot":               {good().add("../../etc/passwd", "x").zip(t), fault.ArchivePath},
		"absolute":              {good().add("/etc/passwd", "x").zip(t), fault.ArchivePath},
		"backslash":             {good().add(`bpmn\..\x`, "x").zip(t), fault.ArchivePath},
		"drive letter":          {good().add("c:x", "x").zip(t), fault.ArchivePath},
		"control character":     {good().add("bpmn/a\x00.bpmn", "x").zip(t), fault.ArchivePath},
		"trailing dot":          {good().add("bpmn/a.bpmn.", "x").zip(t), fault.ArchivePath},
		"very long name":        {good().add("bpmn/"+strings.Repeat("a", 300), "x").zip(t), fault.ArchivePath},
		"entry twice":           {append(good(), good()[1]).zip(t), fault.ArchiveDuplicate},
		"told apart by case":    {good().add("bpmn/A.bpmn", "x").zip(t), fault.ArchiveDuplicate},
		"told apart by folding": {good().add("bpmn/ß.bpmn", "x").add("bpmn/ss.bpmn", "x").zip(t), fault.ArchiveDuplicate},
		"link": {append(good(), entry{"bpmn/l.bpmn", []byte("/etc/passwd"), func(h *zip.FileHeader) {
			h.SetMode(fs.ModeSymlink | 0o777)
		}}).zip(t), fault.ArchiveEntryType},
		"folder":          {good().add("bpmn/sub/", "").zip(t), fault.ArchivePath},
		"foreign folder":  {good().listed(t, "zbin/x", []byte("x")).zip(t), fault.PackageUnexpected},
		"archive inside":  {good().listed(t, "templates/x", seal(t).Bytes).zip(t), fault.ArchiveNested},
		"gzip inside":     {good().listed(t, "templates/x", []byte("\x1f\x8b\x08")).zip(t), fault.ArchiveNested},
		"bomb":            {good().listed(t, "templates/x", make([]byte, 40<<20)).zip(t), fault.ArchiveTooLarge},
		"many entries":    {many(good()).zip(t), fault.ArchiveEntries},
		"too many bytes":  {make([]byte, 65<<20), fault.ArchiveTooLarge},
		"no package.yaml": {without(t, "package.yaml").zip(t), fault.ArchiveMissing},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := archive.Open(tc.data, archive.Default())
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func without(t testing.TB, path string) entries {
	t.Helper()
	es := unzip(t, seal(t).Bytes)
	var kept entries
	for _, e := range es {
		if e.name != path {
			kept = append(kept, e)
		}
	}
	return kept
}

func many(es entries) entries {
	for i := range 3000 {
		es = es.add(fmt.Sprintf("templates/%d", i), "x")
	}
	return es
}

func TestSealRefusesWhatIsNoPackage(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(fstest.MapFS)
		want   fault.Code
	}{
		"no package.yaml":  {func(m fstest.MapFS) { delete(m, "package.yaml") }, fault.PackageInvalid},
		"unknown key":      {func(m fstest.MapFS) { m["package.yaml"].Data = []byte("lables: {}") }, fault.PackageInvalid},
		"label with upper": {func(m fstest.MapFS) { m["package.yaml"].Data = []byte("labels: {tenant: A, module: b, version: '1'}") }, fault.PackageLabel},
		"double hyphen label": {func(m fstest.MapFS) {
			m["package.yaml"].Data = []byte("labels: {tenant: a--b, module: b, version: '1'}")
		}, fault.PackageLabel},
		"stray file":      {func(m fstest.MapFS) { m["notes.txt"] = &fstest.MapFile{} }, fault.PackageUnexpected},
		"model elsewhere": {func(m fstest.MapFS) { m["models/a.bpmn"] = &fstest.MapFile{} }, fault.PackageUnexpected},
		"link":            {func(m fstest.MapFS) { m["bpmn/l.bpmn"] = &fstest.MapFile{Mode: fs.ModeSymlink} }, fault.ArchiveEntryType},
		"contract of tomorrow": {func(m fstest.MapFS) {
			m["package.yaml"].Data = []byte(strings.Replace(packageYAML, "minContract: 1", "minContract: 2", 1))
		}, fault.ArchiveContract},
	} {
		t.Run(name, func(t *testing.T) {
			dir := source()
			tc.change(dir)
			if _, err := archive.Seal(dir, archive.Default()); !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// FuzzOpenNeverAcceptsWhatItCannotReproduce: what Open takes, it takes whole, and its id is the digest of what was sealed.
func FuzzOpenNeverAcceptsWhatItCannotReproduce(f *testing.F) {
	f.Add(seal(f).Bytes)
	f.Add([]byte("PK\x03\x04"))
	limits := archive.Default()
	limits.File, limits.Unpacked, limits.Entries = 1<<20, 2<<20, 64
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := archive.Open(data, limits)
		if err != nil {
			if _, coded := errors.AsType[*fault.Fault](err); !coded {
				t.Fatalf("refused without a code: %v", err)
			}
			return
		}
		for i, file := range a.Files {
			if a.Manifest.Files[i].Path != file.Path || a.Manifest.Files[i].Size != int64(len(file.Data)) {
				t.Fatalf("file %d is %s, the manifest says %s", i, file.Path, a.Manifest.Files[i].Path)
			}
		}
	})
}
