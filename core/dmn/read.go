package dmn

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

// reader turns the elements of a file into a model. It keeps going after a finding, to say all of them at once.
type reader struct {
	model    *Model
	root     *element
	byID     map[string]*node
	findings []lint.Finding
	items    map[string]*element // item definitions by name
	building []string            // item definitions that are being built, to refuse circles
}

// Read compiles one file; imports are the models that it may refer to by their namespace. It answers all findings at once. The
// model is nil when the file cannot be read at all; otherwise what an error finding is about answers that error when evaluated,
// and whoever deploys refuses the model.
func Read(file string, data []byte, imports ...*Model) (*Model, []lint.Finding) {
	root, err := parseXML(data)
	if err != nil {
		return nil, []lint.Finding{unreadable(file, err)}
	}
	r := &reader{root: root, byID: map[string]*node{}, items: map[string]*element{}}
	r.model = &Model{File: file, Name: root.attr("name"), Namespace: root.attr("namespace"), types: map[string]feel.Type{}}
	r.imports(imports)
	r.itemDefinitions()
	r.nodes()
	r.requirements()
	r.refuseCircles()
	for _, n := range r.model.nodes {
		r.compile(n)
	}
	lint.Sort(r.findings)
	return r.model, r.findings
}

// unreadable is the finding that stands for a file that is no XML, or no decision model.
func unreadable(file string, err error) lint.Finding {
	finding := lint.Finding{Level: lint.Error, Code: fault.ModelXMLInvalid, File: file, Line: 1, Text: "not well-formed XML; save it again from the tool that drew it"}
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		finding.Code, finding.Text = f.Code, f.Detail
	} else if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		finding.Line, finding.Text = syntax.Line, "not well-formed XML: "+syntax.Msg+"; save it again from the tool that drew it"
	}
	return finding
}

func (r *reader) refuse(code fault.Code, e *element, format string, args ...any) lint.Finding {
	f := lint.Finding{
		Level: lint.Error, Code: code, File: r.model.File, Line: e.line, Element: e.name, ID: e.attr("id"), Text: fmt.Sprintf(format, args...),
	}
	r.findings = append(r.findings, f)
	return f
}

func (r *reader) imports(given []*Model) {
	for _, e := range r.root.all("import") {
		imported := Import{Name: e.attr("name"), Namespace: e.attr("namespace")}
		i := slices.IndexFunc(given, func(m *Model) bool { return m.Namespace == imported.Namespace })
		switch {
		case i >= 0:
			imported.model = given[i]
			r.model.names = append(r.model.names, imported.model.names...)
		case slices.Contains(namespaces, e.attr("importType")):
			r.refuse(fault.ModelDecisionUnknown, e, "no model of namespace %q is in the package; add it", imported.Namespace)
		}
		r.model.Imports = append(r.model.Imports, imported)
	}
}

// nodes makes the nodes of the requirements graph, without what they refer to.
func (r *reader) nodes() {
	for _, e := range r.root.children {
		n := &node{kind: kind(e.name), id: e.attr("id"), name: canonical(e.attr("name")), model: r.model, source: e}
		switch n.kind {
		case kindInput, kindDecision, kindKnowledge, kindService:
		default:
			continue
		}
		n.loose = n.kind == kindDecision && e.child("variable") == nil
		if variable := e.child("variable"); variable != nil {
			n.typ = r.typeOf(variable)
			if name := variable.attr("name"); name != "" && n.name == "" {
				n.name = canonical(name)
			}
		}
		if twice := r.byID[n.id]; twice != nil && n.id != "" {
			r.refuse(fault.ModelIDDuplicate, e, "the id %q is there twice; give each element its own", n.id)
		}
		r.byID[n.id] = n
		r.model.nodes = append(r.model.nodes, n)
	}
}

func canonical(name string) string { return strings.Join(strings.Fields(name), " ") }

func (r *reader) requirements() {
	for _, n := range r.model.nodes {
		for _, e := range n.source.children {
			switch e.name {
			case "informationRequirement", "knowledgeRequirement":
				for _, target := range e.children {
					r.require(n, target)
				}
			case "outputDecision":
				n.outputs = r.service(n.outputs, e)
			case "inputData":
				n.inputs = r.service(n.inputs, e)
			}
		}
		for _, e := range n.source.all("inputDecision") {
			n.inputs = r.service(n.inputs, e)
		}
		if n.kind != kindService {
			continue
		}
		for _, input := range n.inputs {
			n.parameters = append(n.parameters, feel.Parameter{Name: input.name, Type: input.typ})
		}
		if len(n.outputs) == 0 {
			r.refuse(fault.DecisionInvalid, n.source, "a decision service without output decides nothing; add an outputDecision")
		}
	}
}

func (r *reader) service(list []*node, e *element) []*node {
	target, _ := r.resolve(e)
	if target == nil {
		return list
	}
	return append(list, target)
}

func (r *reader) require(n *node, e *element) {
	if !strings.HasPrefix(e.name, "required") {
		return
	}
	if target, prefix := r.resolve(e); target != nil {
		n.requires = append(n.requires, requirement{target, prefix})
	}
}

// resolve finds the node of an href: #id, or a namespace before it for one of an import.
func (r *reader) resolve(e *element) (*node, string) {
	href := e.attr("href")
	namespace, id, found := strings.Cut(href, "#")
	if !found {
		namespace, id = "", href
	}
	if namespace == "" || namespace == r.model.Namespace {
		if n := r.byID[id]; n != nil {
			return n, ""
		}
	}
	for _, imported := range r.model.Imports {
		if imported.Namespace != namespace || imported.model == nil {
			continue
		}
		if n := imported.model.find(id, kindInput, kindDecision, kindKnowledge, kindService); n != nil {
			return n, imported.Name
		}
	}
	r.refuse(fault.ModelDecisionUnknown, e, "nothing has the id %q; correct the reference", href)
	return nil, ""
}

// refuseCircles finds decisions that need their own result. A knowledge model may invoke itself.
func (r *reader) refuseCircles() {
	const visiting, done = 1, 2
	state := map[*node]int{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		if n.kind != kindDecision || state[n] == done {
			return true
		}
		if state[n] == visiting {
			return false
		}
		state[n] = visiting
		for _, q := range n.requires {
			if !visit(q.node) {
				state[n] = done
				return false
			}
		}
		state[n] = done
		return true
	}
	for _, n := range r.model.nodes {
		if !visit(n) {
			r.refuse(fault.DecisionInvalid, n.source, "the decision %q needs its own result; break the circle of requirements", n.name)
			n.requires = nil
		}
	}
}
