package archive

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/ports/fault"
)

// Seal makes the archive of the package in root: same files, same bytes, on every machine and at every time. Entries are stored
// uncompressed, because no compressor promises the same output for ever. Files that no package has are refused; hidden files,
// README and LICENSE files are left out.
func Seal(root fs.FS, limits Limits) (*Archive, error) {
	a := &Archive{}
	var unpacked int64
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fault.PackageInvalid.With("cannot read %s: %w", path, err)
		case path == ".":
			return nil
		case ignored(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fault.ArchiveEntryType.With("%s is no regular file; a package holds files only, no links", path)
		}
		if f := checkPath(path, limits); f != nil {
			return f
		}
		if !belongs(path) {
			return fault.PackageUnexpected.With("%s is no part of a package; it holds package.yaml, channels.yaml, bpmn/**/*.bpmn, "+
				"rules/**/*.dmn, schemas/**/*.json and templates/**", path)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if unpacked += info.Size(); info.Size() > limits.File || unpacked > limits.Unpacked || len(a.Files) >= limits.Entries {
			return fault.ArchiveTooLarge.With("%s is one file too many or too large: at most %d files, %d bytes each, %d bytes together",
				path, limits.Entries, limits.File, limits.Unpacked)
		}
		data, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		a.Files = append(a.Files, File{path, data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(a.Files, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	yaml, ok := a.File("package.yaml")
	if !ok {
		return nil, fault.PackageInvalid.With("there is no package.yaml; sutra init NAME makes a package to start from")
	}
	p, err := readPackage(yaml)
	if err != nil {
		return nil, err
	}
	a.Manifest = Manifest{Format: Format, Labels: p.Labels, MinContract: p.Engine.MinContract, Supersedes: p.Supersedes}
	for _, f := range a.Files {
		a.Manifest.Files = append(a.Manifest.Files, entry(f))
	}
	return a, a.pack()
}

func entry(f File) Entry {
	sum := sha256.Sum256(f.Data)
	return Entry{Path: f.Path, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(f.Data))}
}

// pack writes the zip: the manifest first, then the files by path, without times or attributes.
func (a *Archive) pack() error {
	manifest, err := a.Manifest.encode()
	if err != nil {
		return err
	}
	a.ID = ID(manifest)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range append([]File{{ManifestName, manifest}}, a.Files...) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Path, Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := w.Write(f.Data); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	a.Bytes = b.Bytes()
	return nil
}

func ignored(name string) bool {
	upper := strings.ToUpper(name)
	return strings.HasPrefix(name, ".") || strings.HasPrefix(upper, "README") || strings.HasPrefix(upper, "LICENSE") || strings.HasPrefix(upper, "LICENCE")
}
