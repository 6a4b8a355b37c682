package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/sutra-engine/sutra/ports/fault"
)

// Format is the version of the archive format that this engine writes and reads.
const Format = 1

// Manifest lists what is sealed. It is derived from the package, never written by hand; its fields stand in the order of their
// encoding, which is canonical: sorted keys, no white space, one trailing newline.
type Manifest struct {
	Files       []Entry `json:"files"` // sorted by path
	Format      int     `json:"format"`
	Labels      Labels  `json:"labels"`
	MinContract int     `json:"minContract"`
	Supersedes  string  `json:"supersedes,omitempty"`
}

// Entry is one file of the manifest.
type Entry struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Labels name the slot.
type Labels struct {
	Module  string `json:"module" yaml:"module"`
	Tenant  string `json:"tenant" yaml:"tenant"`
	Version string `json:"version" yaml:"version"`
}

// encode is the canonical form.
func (m Manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decode reads a manifest and refuses every spelling but the canonical one.
func decode(data []byte) (Manifest, error) {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fault.ArchiveManifest.With("manifest.json does not read: %w", err)
	}
	if m.Format > Format || m.MinContract > Contract {
		return m, fault.ArchiveContract.With("the archive has format %d and needs contract %d, this engine reads format %d and speaks contract %d; "+
			"upgrade the engine", m.Format, m.MinContract, Format, Contract)
	}
	canonical, err := m.encode()
	if err != nil {
		return m, err
	}
	if !bytes.Equal(canonical, data) || m.Format < 1 || m.MinContract < 1 {
		return m, fault.ArchiveManifest.With("manifest.json is not in its canonical form; it is derived by sutra package, never edited")
	}
	return m, m.Labels.check("manifest.json")
}

// label is what tenant, module and version may be: what fits a file name, a URL and a slot without escaping.
var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9._]|-[a-z0-9._])*$`)

func (l Labels) check(file string) error {
	for _, part := range []struct{ name, value string }{{"tenant", l.Tenant}, {"module", l.Module}, {"version", l.Version}} {
		if len(part.value) > 64 || !label.MatchString(part.value) {
			f := fault.PackageLabel.With("labels.%s is %q; use 1 to 64 of a-z, 0-9, dot, underscore and single hyphens, starting with a letter or digit",
				part.name, part.value)
			f.File = file
			return f
		}
	}
	return nil
}

// packageYAML is package.yaml as authors write it.
type packageYAML struct {
	Labels Labels `yaml:"labels"`
	Engine struct {
		MinContract int `yaml:"minContract"`
	} `yaml:"engine"`
	Supersedes string `yaml:"supersedes"`
}

func readPackage(data []byte) (packageYAML, error) {
	p := packageYAML{}
	p.Engine.MinContract = 1
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil && !errors.Is(err, io.EOF) {
		f := fault.PackageInvalid.With("package.yaml does not read: %w", err)
		f.File = "package.yaml"
		return p, f
	}
	if p.Engine.MinContract < 1 || p.Engine.MinContract > Contract {
		f := fault.ArchiveContract.With("engine.minContract is %d; this engine speaks 1 to %d", p.Engine.MinContract, Contract)
		f.File = "package.yaml"
		return p, f
	}
	return p, p.Labels.check("package.yaml")
}
