package archive_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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
	// The id is part of the format: where it changes, every deployed revision is orphaned. Both are written down, so that every
	// machine, and every release of Go, is held to them.
	const id, digest = "721a93ae2aa58bbd20ab0d26a439892cdeee948358920f4e791b544dc5a46325", "30347563628d3381c2c39a4fa74b027f1232e8729d2ddd6e3b54c9e2140dc9ac"
	if string(a.ID) != id || a.Name() != "acme--orders--1.0.0.sutra" {
		t.Fatalf("got id %s name %s, want id %s", a.ID, a.Name(), id)
	}
	if sum := sha256.Sum256(a.Bytes); hex.EncodeToString(sum[:]) != digest {
		t.Fatalf("got an archive of digest %x, want %s", sum, digest)
	}
}

// TestSealingSeesNothingButPathsAndBytes: two checkouts of the same sources, with other times, modes, folders made in another order,
// empty folders, hidden files, seal to the same bytes.
func TestSealingSeesNothingButPathsAndBytes(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	files := source()
	paths := slices.Sorted(maps.Keys(files))
	write := func(root string, paths []string, mode fs.FileMode, at time.Time) {
		for _, path := range paths {
			name := filepath.Join(root, filepath.FromSlash(path))
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, files[path].Data, mode), os.Chtimes(name, at, at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(one, paths, 0o644, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	slices.Reverse(paths)
	write(two, paths, 0o755, time.Date(2031, 12, 31, 23, 59, 59, 0, time.FixedZone("elsewhere", 9*3600)))
	if err := errors.Join(os.Mkdir(filepath.Join(two, "rules"), 0o700), os.WriteFile(filepath.Join(two, ".editor"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var sealed [][]byte
	for _, root := range []string{one, two} {
		a, err := archive.Seal(os.DirFS(root), archive.Default())
		if err != nil {
			t.Fatal(err)
		}
		sealed = append(sealed, a.Bytes)
	}
	if !bytes.Equal(sealed[0], sealed[1]) || !bytes.Equal(sealed[0], seal(t).Bytes) {
		t.Error("the same sources sealed to different archives")
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

// refused is an archive with the one code it has to be refused with.
type refused struct {
	data []byte
	want fault.Code
}

// hostile is the corpus.
func hostile(t testing.TB) map[string]refused {
	t.Helper()
	good := func() entries { return unzip(t, seal(t).Bytes) }
	return map[string]refused{
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
		"folder":           {good().add("bpmn/sub/", "").zip(t), fault.ArchivePath},
		"foreign folder":   {good().listed(t, "zbin/x", []byte("x")).zip(t), fault.PackageUnexpected},
		"archive inside":   {good().listed(t, "templates/x", seal(t).Bytes).zip(t), fault.ArchiveNested},
		"gzip inside":      {good().listed(t, "templates/x", []byte("\x1f\x8b\x08")).zip(t), fault.ArchiveNested},
		"no package.yaml":  {without(t, "package.yaml").zip(t), fault.ArchiveMissing},
		"a lying header":   {lying(t), fault.ArchiveNotZip},
		"encrypted":        {with(good(), func(h *zip.FileHeader) { h.Flags |= 1 }).zip(t), fault.ArchiveEntryType},
		"device":           {with(good(), func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o666) }).zip(t), fault.ArchiveEntryType},
		"packed otherwise": {patched(t, 12), fault.ArchiveEntryType},
		"undecodable name": {good().add("bpmn/\xff\xfe.bpmn", "x").zip(t), fault.ArchivePath},
		"empty part":       {good().add("bpmn//a.bpmn", "x").zip(t), fault.ArchivePath},
		"what is left out": {good().listed(t, "templates/README", []byte("x")).zip(t), fault.PackageUnexpected},
		"hidden":           {good().listed(t, "templates/.x", []byte("x")).zip(t), fault.PackageUnexpected},
		"files not sorted": {good().manifest(t, func(m map[string]any) { slices.Reverse(m["files"].([]any)) }).zip(t), fault.ArchiveManifest},
		"file twice in the manifest": {good().manifest(t, func(m map[string]any) {
			files := m["files"].([]any)
			m["files"] = append(files[:1], files...)
		}).zip(t), fault.ArchiveManifest},
		"supersedes another": {good().manifest(t, func(m map[string]any) { m["supersedes"] = "acme--orders--0.9" }).zip(t), fault.ArchiveManifest},
		"7z inside":          {good().listed(t, "templates/x", []byte("7z\xbc\xaf\x27\x1c")).zip(t), fault.ArchiveNested},
	}
}

// tooMuch is the part of the corpus that is refused for its size, by the limits of small.
func tooMuch(t testing.TB) map[string]refused {
	t.Helper()
	good := func() entries { return unzip(t, seal(t).Bytes) }
	return map[string]refused{
		"bomb":           {good().listed(t, "templates/x", make([]byte, 3<<19)).zip(t), fault.ArchiveTooLarge},
		"a bomb of many": {bombs(t).zip(t), fault.ArchiveTooLarge},
		"many entries":   {many(good()).zip(t), fault.ArchiveEntries},
		"too many bytes": {make([]byte, 1<<20+1), fault.ArchiveTooLarge},
	}
}

func TestHostileArchivesAreRefused(t *testing.T) {
	all := hostile(t)
	t.Logf("%d archives", len(all)+len(tooMuch(t)))
	check := func(corpus map[string]refused, limits archive.Limits) {
		for name, tc := range corpus {
			t.Run(name, func(t *testing.T) {
				if _, err := archive.Open(tc.data, limits); !errors.Is(err, tc.want) {
					t.Fatalf("got %v, want %s", err, tc.want)
				}
			})
		}
	}
	check(all, archive.Default())
	check(tooMuch(t), small())
}

// with marks one more entry.
func with(es entries, mark func(*zip.FileHeader)) entries {
	return append(es, entry{"bpmn/z.bpmn", []byte("x"), mark})
}

// bombs are files that are each small enough, and not together.
func bombs(t testing.TB) entries {
	t.Helper()
	dir := fstest.MapFS{"package.yaml": source()["package.yaml"]}
	for i := range 3 {
		dir[fmt.Sprintf("templates/%02d", i)] = &fstest.MapFile{Data: make([]byte, 3<<18)}
	}
	a, err := archive.Seal(dir, archive.Limits{Archive: 1 << 40, Unpacked: 1 << 40, File: 1 << 40, Entries: 1 << 20, Path: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return unzip(t, a.Bytes)
}

// lying is an archive whose directory promises fewer bytes of its last entry than unpack.
func lying(t testing.TB) []byte {
	t.Helper()
	data := unzip(t, seal(t).Bytes).zip(t)
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[at+24:], 1) // the uncompressed size
	return data
}

// patched is an archive whose last entry claims another method.
func patched(t testing.TB, method uint16) []byte {
	t.Helper()
	data := unzip(t, seal(t).Bytes).zip(t)
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint16(data[at+10:], method)
	return data
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
	for i := range 100 {
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

// seeds are what fuzzing starts from: what Seal writes, and the whole corpus.
func seeds(t testing.TB) (all [][]byte) {
	t.Helper()
	for _, h := range hostile(t) {
		all = append(all, h.data)
	}
	return append(all, seal(t).Bytes)
}

// small keeps fuzzing quick.
func small() archive.Limits {
	return archive.Limits{Archive: 1 << 20, Unpacked: 2 << 20, File: 1 << 20, Entries: 64, Path: 240}
}

// reproduces holds what Open says of any bytes to the contract: it refuses with a code, or it takes what Seal would have made: the same
// files seal to the same id.
func reproduces(t *testing.T, data []byte) {
	t.Helper()
	a, err := archive.Open(data, small())
	if err != nil {
		if _, coded := errors.AsType[*fault.Fault](err); !coded {
			t.Fatalf("refused without a code: %v", err)
		}
		return
	}
	files := fstest.MapFS{}
	for _, f := range a.Files {
		files[f.Path] = &fstest.MapFile{Data: f.Data}
	}
	again, err := archive.Seal(files, small())
	if err != nil {
		t.Fatalf("taken, and its files cannot be sealed: %v", err)
	}
	if again.ID != a.ID || len(again.Files) != len(a.Files) {
		t.Fatalf("taken as %s with %d files, which seal to %s with %d", a.ID, len(a.Files), again.ID, len(again.Files))
	}
}

// FuzzOpenTakesOnlyWhatSealWouldMake starts from whole archives.
func FuzzOpenTakesOnlyWhatSealWouldMake(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(reproduces)
}

// FuzzManifestAndFiles gets past the checksums of a zip, which chance seldom does: a manifest, and one file beside package.yaml, are put
// into an archive that is sound as a zip. Where told so, the manifest's digests are made right.
func FuzzManifestAndFiles(f *testing.F) {
	f.Add([]byte(nil), packageYAML, "bpmn/a.bpmn", []byte("<definitions/>"), true)
	f.Add([]byte(nil), packageYAML, "templates/README", []byte("x"), true)
	f.Add([]byte(nil), packageYAML+"supersedes: acme--orders--0.9\n", "templates/.x/y", []byte("x"), true)
	f.Add([]byte(nil), packageYAML, "../x", []byte("PK\x03\x04"), true)
	f.Add([]byte(nil), packageYAML, "bpmn/", []byte(nil), true)
	f.Add([]byte(nil), packageYAML, "bpmn/", []byte("x"), true)
	f.Add(unzip(f, seal(f).Bytes)[0].data, packageYAML, "bpmn/a.bpmn", []byte("<definitions/>"), false)
	f.Fuzz(func(t *testing.T, manifest []byte, yaml, name string, data []byte, honest bool) {
		files := []archive.File{{Path: name, Data: data}, {Path: "package.yaml", Data: []byte(yaml)}}
		slices.SortFunc(files, func(a, b archive.File) int { return strings.Compare(a.Path, b.Path) })
		if honest {
			manifest = listing(t, files, yaml)
		}
		es := entries{{name: archive.ManifestName, data: manifest}}
		for _, file := range files {
			if len(file.Path) > 1<<15 {
				t.Skip("no zip holds such a name")
			}
			if strings.HasSuffix(file.Path, "/") && len(file.Data) > 0 {
				t.Skip("the zip writer takes no data for a folder")
			}
			es = append(es, entry{name: file.Path, data: file.Data})
		}
		reproduces(t, es.zip(t))
	})
}

// listing is the manifest that says the truth about files.
func listing(t *testing.T, files []archive.File, yaml string) []byte {
	t.Helper()
	m := archive.Manifest{Format: 1, MinContract: 1}
	sealed, err := archive.Seal(fstest.MapFS{"package.yaml": {Data: []byte(yaml)}}, small())
	if err == nil {
		m = sealed.Manifest
	}
	m.Files = nil
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		m.Files = append(m.Files, archive.Entry{Path: f.Path, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(f.Data))})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
