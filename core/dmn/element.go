package dmn

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds on one file.
const (
	maxBytes    = 8 << 20
	maxDepth    = 128
	maxElements = 100_000
)

// namespaces are those of the models of DMN 1.1 to 1.6.
var namespaces = []string{
	"http://www.omg.org/spec/DMN/20151101/dmn.xsd",
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
	column   int
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
		return nil, fmt.Errorf("the file is larger than %d bytes", maxBytes)
	}
	r := xmlReader{decoder: xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))}
	return r.root()
}

type xmlReader struct {
	decoder  *xml.Decoder
	elements int
}

func (r *xmlReader) root() (*element, error) {
	for {
		token, err := r.decoder.Token()
		if err == io.EOF {
			return nil, errors.New("the file holds no definitions")
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.Directive:
			return nil, errors.New("a document type is not allowed; remove the DOCTYPE")
		case xml.StartElement:
			if token.Name.Local != "definitions" || !slices.Contains(namespaces, token.Name.Space) {
				return nil, fmt.Errorf("the root is {%s}%s, not the definitions of DMN 1.1 to 1.5", token.Name.Space, token.Name.Local)
			}
			return r.element(token, 1)
		}
	}
}

func (r *xmlReader) element(start xml.StartElement, depth int) (*element, error) {
	if r.elements++; r.elements > maxElements {
		return nil, fmt.Errorf("more than %d elements", maxElements)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("elements nested more than %d deep", maxDepth)
	}
	e := &element{name: start.Name.Local, attrs: start.Attr}
	e.line, e.column = r.decoder.InputPos()
	var text strings.Builder
	for {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			if token.Name.Space != start.Name.Space || token.Name.Local == "extensionElements" {
				if err := r.decoder.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			child, err := r.element(token, depth+1)
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
