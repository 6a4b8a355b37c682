// Package archive is the sealed form of a package: a deterministic zip whose first entry is a manifest that lists every file with its
// digest. The SHA-256 of the manifest is the deployment's id. Opening is fail-closed. It reads no directory and compiles no model.
package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// ManifestName is the first entry of every archive.
const ManifestName = "manifest.json"

// Contract is the newest package contract that this engine speaks.
const Contract = 1

// Limits bound what Seal and Open accept.
type Limits struct {
	Archive  int64 // bytes of the zip
	Unpacked int64 // bytes of all files together
	File     int64 // bytes of one file
	Entries  int
	Path     int // bytes of a path
}

// Default are the limits of an engine that was told nothing else.
func Default() Limits {
	return Limits{Archive: 64 << 20, Unpacked: 128 << 20, File: 16 << 20, Entries: 2048, Path: 240}
}

// File is one file of a package.
type File struct {
	Path string
	Data []byte
}

// Archive is an opened or just sealed package.
type Archive struct {
	ID       ports.DeploymentID
	Manifest Manifest
	Files    []File // sorted by path; the manifest is not among them
	Bytes    []byte // the zip
}

// Slot is where the archive is deployed.
func (a *Archive) Slot() ports.Slot {
	l := a.Manifest.Labels
	return ports.Slot{Tenant: l.Tenant, Module: l.Module, Version: l.Version}
}

// File answers a file's bytes, and whether it is there.
func (a *Archive) File(path string) ([]byte, bool) {
	i, ok := slices.BinarySearchFunc(a.Files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
	if !ok {
		return nil, false
	}
	return a.Files[i].Data, true
}

// Name is the file name of the sealed archive.
func (a *Archive) Name() string { return a.Slot().String() + ".sutra" }

// ID is the deployment id of a manifest's bytes.
func ID(manifest []byte) ports.DeploymentID {
	sum := sha256.Sum256(manifest)
	return ports.DeploymentID(hex.EncodeToString(sum[:]))
}

// checkPath refuses every path that could mean something else to some file system.
func checkPath(path string, limits Limits) *fault.Fault {
	invalid := func(why string) *fault.Fault {
		return fault.ArchivePath.With("entry %q %s; seal the package again with sutra package", path, why)
	}
	switch {
	case path == "" || len(path) > limits.Path:
		return invalid("has a name of no or too many bytes")
	case strings.HasPrefix(path, "/") || strings.Contains(path, "\\") || strings.Contains(path, ":"):
		return invalid("is no relative path with forward slashes")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return invalid("leaves its folder or has an empty part")
		}
		if strings.HasSuffix(part, " ") || strings.HasSuffix(part, ".") {
			return invalid("has a part that ends in a blank or a dot")
		}
	}
	for _, r := range path {
		if r < 0x20 || r == 0x7f || r == 0xfffd {
			return invalid("has a control or undecodable character")
		}
	}
	return nil
}

// belongs says that a package may have a file of this path: one that Seal would take.
func belongs(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if ignored(part) {
			return false
		}
	}
	folder, _, nested := strings.Cut(path, "/")
	switch {
	case !nested:
		return path == "package.yaml" || path == "channels.yaml"
	case folder == "bpmn":
		return strings.HasSuffix(path, ".bpmn")
	case folder == "rules":
		return strings.HasSuffix(path, ".dmn")
	case folder == "schemas":
		return strings.HasSuffix(path, ".json")
	}
	return folder == "templates"
}

// nested says that data is an archive itself.
func nested(data []byte) bool {
	for _, magic := range []string{"PK\x03\x04", "PK\x05\x06", "\x1f\x8b", "7z\xbc\xaf\x27\x1c", "Rar!\x1a\x07", "\xfd7zXZ\x00", "BZh"} {
		if strings.HasPrefix(string(data[:min(len(data), 8)]), magic) {
			return true
		}
	}
	return false
}
