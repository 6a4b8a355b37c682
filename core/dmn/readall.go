package dmn

import (
	"slices"

	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

// File is one file of decisions.
type File struct {
	Name string
	Data []byte
}

// ReadAll reads files that may import each other, in whatever order they come. The models stand in the order of the files; what
// cannot be read at all is left out. Two models of one namespace, and models that import each other, are refused.
func ReadAll(files []File) (Library, []lint.Finding) {
	b := batch{files: files, states: make([]state, len(files)), roots: make([]*element, len(files))}
	for i, f := range files {
		b.roots[i], _ = parseXML(f.Data)
	}
	for i := range files {
		b.read(i)
	}
	var models Library
	for _, s := range b.states {
		if s.model != nil {
			models = append(models, s.model)
		}
	}
	lint.Sort(b.findings)
	return models, b.findings
}

// batch reads each file after those that it imports.
type batch struct {
	files    []File
	roots    []*element
	states   []state
	findings []lint.Finding
}

type state struct {
	begun bool
	model *Model
}

func (b *batch) read(i int) *Model {
	if b.states[i].begun {
		return b.states[i].model
	}
	b.states[i].begun = true
	var imports []*Model
	if b.roots[i] != nil {
		for _, e := range b.roots[i].all("import") {
			if j := b.namespace(e.attr("namespace")); j >= 0 {
				if imported := b.read(j); imported != nil {
					imports = append(imports, imported)
				}
			}
		}
		if j := b.namespace(b.roots[i].attr("namespace")); j != i && b.roots[i].attr("namespace") != "" {
			b.findings = append(b.findings, lint.Finding{
				Level: lint.Error, Code: fault.ModelIDDuplicate, File: b.files[i].Name, Line: b.roots[i].line,
				Element: "definitions", Text: "its namespace is that of " + b.files[j].Name + "; give each model its own",
			})
		}
	}
	model, findings := Read(b.files[i].Name, b.files[i].Data, imports...)
	b.states[i].model = model
	b.findings = append(b.findings, findings...)
	return model
}

func (b *batch) namespace(namespace string) int {
	return slices.IndexFunc(b.roots, func(e *element) bool { return e != nil && e.attr("namespace") == namespace })
}
