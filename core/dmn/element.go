package dmn

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"

	"github.com/sutra-engine/sutra/ports/fault"
)

// Bounds on one file.
const (
	maxBytes    = 8 << 20
	maxDepth    = 128
	maxElements = 100_000
)

// namespaces are those of the models of DMN 1.1 to 1.6; of the first, tools also write two that the standard does not have.
var namespaces = []string{
	"http://www.omg.org/spec/DMN/20151101/dmn.xsd",
	"http://www.omg.org/spec/DMN/20151101/dmn11.xsd",
	"http://www.omg.org/spec/DMN/20151101",
	"http://www.omg.org/spec/DMN/20180521/MODEL/",
	"https://www.omg.org/spec/DMN/20191111/MODEL/",
	"https://www.omg.org/spec/DMN/20211108/MODEL/",
	"https://www.omg.org/spec/DMN/20230324/MODEL/",
	"https://www.omg.org/spec/DMN/20240513/MODEL/",
}

// element is one element of a model's namespace. Diagrams and extensions are not kept.
type element struct {
	name     string
	attrs    []xml.Attr
	text     string
	children []*element
	line     int
}

// attr answers an attribute without namespace.
func (e *element) attr(name string) string {
	for _, a := range e.attrs {
		if a.Name.Space == "" && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// child answers the first child of a name, or nil.
func (e *element) child(name string) *element {
	i := slices.IndexFunc(e.children, func(c *element) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return e.children[i]
}

func (e *element) all(name string) []*element {
	var found []*element
	for _, c := range e.children {
		if c.name == name {
			found = append(found, c)
		}
	}
	return found
}

// content answers the text of the text child, as expressions hold it.
func (e *element) content(child string) string {
	if c := e.child(child); c != nil {
		return strings.TrimSpace(c.text)
	}
	return ""
}

// parseXML reads the elements of the model. Document types are refused: they are how small files become large ones.
func parseXML(data []byte) (*element, error) {
	if len(data) > maxBytes {
		return nil, fault.ModelXMLLimit.With("the file is larger than %d bytes", maxBytes)
	}
	decoder, err := newDecoder(data)
	if err != nil {
		return nil, err
	}
	r := xmlReader{decoder: decoder}
	return r.root()
}

// newDecoder decodes what the file is written in: UTF-8 or UTF-16 by its mark, else what its declaration says.
func newDecoder(data []byte) (*xml.Decoder, error) {
	wide := bytes.HasPrefix(data, []byte{0xFE, 0xFF}) || bytes.HasPrefix(data, []byte{0xFF, 0xFE})
	if wide {
		var err error
		if data, err = unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder().Bytes(data); err != nil {
			return nil, fault.ModelXMLEncoding.With("the file is marked as UTF-16 and is not; save it as UTF-8")
		}
	}
	decoder := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	decoder.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if wide {
			return in, nil
		}
		encoding, err := ianaindex.IANA.Encoding(label)
		if err != nil || encoding == nil {
			return nil, fault.ModelXMLEncoding.With("the encoding %q is not known; save the file as UTF-8", label)
		}
		return encoding.NewDecoder().Reader(in), nil
	}
	return decoder, nil
}

type xmlReader struct {
	decoder  *xml.Decoder
	elements int
}

func (r *xmlReader) root() (*element, error) {
	for {
		line, _ := r.decoder.InputPos()
		token, err := r.decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil, fault.DecisionNone.With("the file holds no definitions")
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.Directive:
			return nil, fault.ModelXMLDTD.With("the file has a document type or other directive; remove it: entities are never read")
		case xml.StartElement:
			if token.Name.Local != "definitions" || !slices.Contains(namespaces, token.Name.Space) {
				return nil, fault.DecisionNone.With("the root is {%s}%s, not the definitions of DMN 1.1 to 1.5", token.Name.Space, token.Name.Local)
			}
			return r.element(&element{name: token.Name.Local, attrs: token.Attr, line: line}, token.Name.Space, 1)
		}
	}
}

// element reads what is within an element whose start was read.
func (r *xmlReader) element(e *element, space string, depth int) (*element, error) {
	if r.elements++; r.elements > maxElements {
		return nil, fault.ModelXMLLimit.With("more than %d elements", maxElements)
	}
	if depth > maxDepth {
		return nil, fault.ModelXMLLimit.With("elements nested more than %d deep", maxDepth)
	}
	var text strings.Builder
	for {
		line, _ := r.decoder.InputPos()
		token, err := r.decoder.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			if token.Name.Space != space || token.Name.Local == "extensionElements" {
				if err := r.decoder.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			child, err := r.element(&element{name: token.Name.Local, attrs: token.Attr, line: line}, space, depth+1)
			if err != nil {
				return nil, err
			}
			e.children = append(e.children, child)
		case xml.EndElement:
			e.text = text.String()
			return e, nil
		}
	}
}
