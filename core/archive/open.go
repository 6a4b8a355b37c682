package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/text/cases"

	"github.com/sutra-engine/sutra/ports/fault"
)

// Open reads an archive and refuses everything that its manifest does not say: files unlisted, missing or altered, paths that escape,
// entries twice or told apart by case alone, links, archives in archives, and more bytes or entries than limits allow.
func Open(data []byte, limits Limits) (*Archive, error) {
	if int64(len(data)) > limits.Archive {
		return nil, fault.ArchiveTooLarge.With("the archive has %d bytes, at most %d are taken", len(data), limits.Archive)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil || !bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return nil, fault.ArchiveNotZip.With("the body is no zip archive; send what sutra package wrote")
	}
	if len(z.File) > limits.Entries+1 {
		return nil, fault.ArchiveEntries.With("the archive has %d entries, at most %d are taken", len(z.File), limits.Entries+1)
	}
	if err := checkEntries(z.File, limits); err != nil {
		return nil, err
	}
	a := &Archive{Bytes: data}
	manifest, err := unpack(z.File[0], limits.File)
	if err != nil {
		return nil, err
	}
	if a.Manifest, err = decode(manifest); err != nil {
		return nil, err
	}
	a.ID = ID(manifest)
	return a, a.fill(z.File[1:], limits)
}

// checkEntries looks at names and kinds only, before a byte is unpacked.
func checkEntries(entries []*zip.File, limits Limits) error {
	if len(entries) == 0 || entries[0].Name != ManifestName {
		return fault.ArchiveManifest.With("the first entry is not manifest.json; seal the package with sutra package")
	}
	seen := map[string]string{}
	fold := cases.Fold()
	for _, e := range entries {
		if f := checkPath(e.Name, limits); f != nil {
			return f
		}
		if e.Mode()&^fs.ModePerm != 0 || e.Flags&0x1 != 0 {
			return fault.ArchiveEntryType.With("entry %q is no plain file: links, folders, devices and encrypted entries are refused", e.Name)
		}
		if e.Method != zip.Store && e.Method != zip.Deflate {
			return fault.ArchiveEntryType.With("entry %q is packed by method %d; only stored and deflated entries are read", e.Name, e.Method)
		}
		if other, twice := seen[fold.String(e.Name)]; twice {
			return fault.ArchiveDuplicate.With("entries %q and %q are one file on some file systems", other, e.Name)
		}
		seen[fold.String(e.Name)] = e.Name
	}
	return nil
}

// fill unpacks the files and holds each against the manifest.
func (a *Archive) fill(entries []*zip.File, limits Limits) error {
	left := limits.Unpacked
	listed := map[string]Entry{}
	previous := ""
	for _, e := range a.Manifest.Files {
		if f := checkPath(e.Path, limits); f != nil {
			return f
		}
		if e.Path <= previous {
			return fault.ArchiveManifest.With("the files of manifest.json are not sorted by path, or one is there twice")
		}
		previous, listed[e.Path] = e.Path, e
	}
	for _, z := range entries {
		want, ok := listed[z.Name]
		if !ok {
			return fault.ArchiveUnlisted.With("file %q is in the archive and not in its manifest", z.Name)
		}
		if !belongs(z.Name) {
			return fault.PackageUnexpected.With("file %q is no part of a package", z.Name)
		}
		data, err := unpack(z, min(limits.File, left))
		if err != nil {
			return err
		}
		left -= int64(len(data))
		f := File{z.Name, data}
		if entry(f) != want {
			return fault.ArchiveDigest.With("file %q is not the one that was sealed: its digest or size differs from the manifest", z.Name)
		}
		if nested(data) {
			return fault.ArchiveNested.With("file %q is an archive itself; a package holds plain files", z.Name)
		}
		a.Files = append(a.Files, f)
		delete(listed, z.Name)
	}
	for _, e := range a.Manifest.Files {
		if _, missing := listed[e.Path]; missing {
			return fault.ArchiveMissing.With("file %q is in the manifest and not in the archive", e.Path)
		}
	}
	slices.SortFunc(a.Files, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	return a.agree()
}

// agree holds the manifest against package.yaml: it is derived from it.
func (a *Archive) agree() error {
	yaml, ok := a.File("package.yaml")
	if !ok {
		return fault.ArchiveMissing.With("the archive has no package.yaml")
	}
	p, err := readPackage(yaml)
	if err != nil {
		return err
	}
	if p.Labels != a.Manifest.Labels || p.Supersedes != a.Manifest.Supersedes || p.Engine.MinContract != a.Manifest.MinContract {
		return fault.ArchiveManifest.With("manifest.json and package.yaml disagree; seal the package again with sutra package")
	}
	return nil
}

// unpack reads one entry and stops at the bound, whatever its header promises.
func unpack(z *zip.File, limit int64) ([]byte, error) {
	tooLarge := fault.ArchiveTooLarge.With("entry %q unpacks to more bytes than are taken", z.Name)
	if z.UncompressedSize64 > uint64(max(limit, 0)) {
		return nil, tooLarge
	}
	r, err := z.Open()
	if err != nil {
		return nil, fault.ArchiveNotZip.With("entry %q does not open: %w", z.Name, err)
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fault.ArchiveNotZip.With("entry %q does not unpack: %w", z.Name, err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge
	}
	return data, nil
}
