package bpmn

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"

	"github.com/sutra-engine/sutra/ports/fault"
)

// The namespaces that mean something here. What stands in any other is clutter of a tool and is passed over.
const (
	bpmnSpace    = "http://www.omg.org/spec/BPMN/20100524/MODEL"
	qSpace       = "urn:sutra:q:1.0"
	zeebeSpace   = "http://camunda.org/schema/zeebe/1.0"
	camundaSpace = "http://camunda.org/schema/1.0/bpmn"
)

// kin are the namespaces of engines of Camunda's family, and how their names are spelled: what Camunda wrote before its own, and what
// left it or its forerunner and kept the words. They are read as Camunda's; a name that is not among those is refused like any other.
var kin = map[string]string{
	"http://activiti.org/bpmn":            "activiti:",
	"http://flowable.org/bpmn":            "flowable:",
	"http://operaton.org/schema/1.0/bpmn": "operaton:",
}

// spaceOf is the namespace of a name, those of the family made one, and the spelling of one that was another.
func spaceOf(name xml.Name) (space, spelled string) {
	if spelled := kin[name.Space]; spelled != "" {
		return camundaSpace, spelled
	}
	return name.Space, ""
}

// prefix names a namespace the way tables spell it; empty: it means nothing here.
func prefix(space string) string {
	switch space {
	case qSpace:
		return "q:"
	case zeebeSpace:
		return "zeebe:"
	case camundaSpace:
		return "camunda:"
	}
	return ""
}

// element is one XML element. What a reader asked for is marked used; what nobody asked for is refused in the end, so that nothing
// is silently skipped.
type element struct {
	space, name string
	spelled     string // the prefix of its engine, where that is not the one of its space
	attrs       []attribute
	children    []*element
	text        string // all character data of its own, CDATA too
	line        int
	used        bool
}

type attribute struct {
	space, name, value string
	spelled            string
	used               bool
}

// title is the name of an element for messages, as its file spells it.
func (e *element) title() string { return cmp.Or(e.spelled, prefix(e.space)) + e.name }

func (a *attribute) title() string { return cmp.Or(a.spelled, prefix(a.space)) + a.name }

// get reads an attribute without namespace and marks it.
func (e *element) get(name string) string { v, _ := e.find("", name); return v }

// find reads an attribute and says whether it is there.
func (e *element) find(space, name string) (string, bool) {
	for i := range e.attrs {
		if a := &e.attrs[i]; a.space == space && a.name == name {
			a.used = true
			return strings.TrimSpace(a.value), true
		}
	}
	return "", false
}

// is reads a boolean attribute: xsd:boolean, or what it is when absent.
func (e *element) is(name string, absent bool) bool {
	switch e.get(name) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	return absent
}

func (e *element) id() string { return e.get("id") }

// child is the first child of this name in the BPMN namespace, marked; nil: there is none.
func (e *element) child(name string) *element { return e.in(bpmnSpace, name) }

func (e *element) in(space, name string) *element {
	for _, c := range e.children {
		if c.space == space && c.name == name {
			c.used = true
			return c
		}
	}
	return nil
}

// each gives all children of this name in the BPMN namespace, marked.
func (e *element) each(name string) []*element { return e.all(bpmnSpace, name) }

func (e *element) all(space, name string) []*element {
	var found []*element
	for _, c := range e.children {
		if c.space == space && c.name == name {
			c.used = true
			found = append(found, c)
		}
	}
	return found
}

// extension is the first extension element q:…, zeebe:… or camunda:… of e; nil: there is none.
func (e *element) extension(space, name string) *element {
	if x := e.child("extensionElements"); x != nil {
		return x.in(space, name)
	}
	return nil
}

func (e *element) extensions(space, name string) []*element {
	if x := e.child("extensionElements"); x != nil {
		return x.all(space, name)
	}
	return nil
}

// content is the text of e without the blanks around it.
func (e *element) content() string { return strings.TrimSpace(e.text) }

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 8 << 20
	}
	if l.Depth == 0 {
		l.Depth = 128
	}
	if l.Elements == 0 {
		l.Elements = 100_000
	}
	return l
}

// xmlFault is why a file cannot be read as XML, and where.
type xmlFault struct {
	code fault.Code
	line int
	text string
}

// parse reads XML into trees, one for each root element. It refuses document types, so there are no entities but XML's own five.
func parse(data []byte, limits Limits) ([]*element, *xmlFault) {
	if len(data) > limits.Bytes {
		return nil, &xmlFault{fault.ModelXMLLimit, 0, fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), limits.Bytes)}
	}
	data, wide, bad := unmark(data)
	if bad != nil {
		return nil, bad
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if wide {
			return in, nil
		}
		enc, err := ianaindex.IANA.Encoding(label)
		if err != nil || enc == nil {
			return nil, &encodingError{label}
		}
		return enc.NewDecoder().Reader(in), nil
	}
	b := builder{limits: limits}
	for {
		line, _ := d.InputPos()
		t, err := d.Token()
		if errors.Is(err, io.EOF) && len(b.open) == 0 && len(b.roots) > 0 {
			return b.roots, nil
		}
		if err != nil {
			return nil, notXML(err, line)
		}
		if bad := b.add(t, line); bad != nil {
			return nil, bad
		}
	}
}

type encodingError struct{ label string }

func (e *encodingError) Error() string { return "encoding " + e.label + " is not known" }

// unmark takes off a byte order mark, and turns UTF-16 into UTF-8.
func unmark(data []byte) (text []byte, wide bool, bad *xmlFault) {
	if bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}) {
		return data[3:], false, nil
	}
	if !bytes.HasPrefix(data, []byte{0xFE, 0xFF}) && !bytes.HasPrefix(data, []byte{0xFF, 0xFE}) {
		return data, false, nil
	}
	text, err := unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder().Bytes(data)
	if err != nil {
		return nil, true, &xmlFault{fault.ModelXMLEncoding, 1, "the file is marked as UTF-16 and is not; save it as UTF-8"}
	}
	return text, true, nil
}

func notXML(err error, line int) *xmlFault {
	if e, ok := errors.AsType[*encodingError](err); ok {
		return &xmlFault{fault.ModelXMLEncoding, 1, fmt.Sprintf("encoding %q is not known; save the file as UTF-8", e.label)}
	}
	if s, ok := errors.AsType[*xml.SyntaxError](err); ok {
		code := fault.ModelXMLInvalid
		if strings.Contains(s.Msg, "UTF-8") {
			code = fault.ModelXMLEncoding
		}
		return &xmlFault{code, s.Line, "not well-formed XML: " + s.Msg + "; save it again from the modeler"}
	}
	return &xmlFault{fault.ModelXMLInvalid, line, "not well-formed XML; save it again from the modeler"}
}

// builder makes trees of tokens, within limits.
type builder struct {
	limits Limits
	count  int
	roots  []*element
	open   []*element
}

func (b *builder) add(t xml.Token, line int) *xmlFault {
	switch t := t.(type) {
	case xml.Directive:
		return &xmlFault{fault.ModelXMLDTD, line, "the file has a document type or other directive; remove it: entities are never read"}
	case xml.StartElement:
		return b.start(t, line)
	case xml.EndElement:
		b.open = b.open[:len(b.open)-1]
	case xml.CharData:
		if n := len(b.open); n > 0 {
			b.open[n-1].text += string(t)
		}
	}
	return nil
}

func (b *builder) start(t xml.StartElement, line int) *xmlFault {
	if b.count++; b.count > b.limits.Elements {
		return &xmlFault{fault.ModelXMLLimit, line, fmt.Sprintf("more than %d elements; split the model", b.limits.Elements)}
	}
	if len(b.open) >= b.limits.Depth {
		return &xmlFault{fault.ModelXMLLimit, line, fmt.Sprintf("elements nested more than %d deep; split the model", b.limits.Depth)}
	}
	e := &element{name: t.Name.Local, line: line}
	e.space, e.spelled = spaceOf(t.Name)
	for _, a := range t.Attr {
		if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
			read := attribute{name: a.Name.Local, value: a.Value}
			read.space, read.spelled = spaceOf(a.Name)
			e.attrs = append(e.attrs, read)
		}
	}
	if n := len(b.open); n > 0 {
		parent := b.open[n-1]
		parent.children = append(parent.children, e)
	} else {
		b.roots = append(b.roots, e)
	}
	b.open = append(b.open, e)
	return nil
}
