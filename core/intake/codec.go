package intake

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"strings"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// maxDepth bounds XML nesting, as feel.FromJSON bounds JSON's.
const maxDepth = 128

// decodeXML reads XML into contexts of text: an element is a context of its attributes (@name) and children, a list where a name
// repeats, or its text when it has neither. Document types are refused: they are only used for tricks.
func decodeXML(body []byte) (feel.Value, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = true
	for {
		token, err := d.Token()
		if err != nil {
			return nil, fault.BodyUndecodable.With("the body is no XML that can be taken: %w", err)
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, fault.BodyUndecodable.With("the body has a document type declaration, which is refused")
		case xml.StartElement:
			v, err := element(d, t, 1)
			if err != nil {
				return nil, fault.BodyUndecodable.With("the body is no XML that can be taken: %w", err)
			}
			return feel.Context{t.Name.Local: v}, trailing(d)
		}
	}
}

func trailing(d *xml.Decoder) error {
	for {
		switch token, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fault.BodyUndecodable.With("the body does not end after its root element: %w", err)
		default:
			if _, more := token.(xml.StartElement); more {
				return fault.BodyUndecodable.With("the body has a second root element")
			}
		}
	}
}

func element(d *xml.Decoder, start xml.StartElement, depth int) (feel.Value, error) {
	if depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	out, text := feel.Context{}, strings.Builder{}
	for _, a := range start.Attr {
		if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
			out["@"+a.Name.Local] = feel.String(a.Value)
		}
	}
	for {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			v, err := element(d, t, depth+1)
			if err != nil {
				return nil, err
			}
			out[t.Name.Local] = join(out, t.Name.Local, v)
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			body := strings.TrimSpace(text.String())
			if len(out) == 0 {
				return feel.String(body), nil
			}
			if body != "" {
				out["#text"] = feel.String(body)
			}
			return out, nil
		}
	}
}

func join(into feel.Context, name string, v feel.Value) feel.Value {
	switch there := into[name].(type) {
	case nil:
		return v
	case feel.List:
		return append(there, v)
	default:
		return feel.List{there, v}
	}
}

// decodeCloudEvent reads both HTTP modes of CloudEvents 1.0: structured (the envelope is the body) and binary (ce- headers).
func decodeCloudEvent(media string, in *ports.Incoming) (feel.Value, error) {
	if media != "application/cloudevents+json" {
		if messageType(in.Headers) == "" {
			return nil, fault.ContentType.With("this channel takes CloudEvents: application/cloudevents+json, or ce-type, ce-id and ce-source headers")
		}
		if id := header(in.Headers, "ce-id"); id != "" && len(in.EventID) == 0 {
			in.EventID = []byte(header(in.Headers, "ce-source") + " " + id)
		}
		v, err := feel.FromJSON(in.Body)
		if err != nil {
			return nil, fault.BodyUndecodable.With("the event's data is no JSON: %w", err)
		}
		return v, nil
	}
	v, err := feel.FromJSON(in.Body)
	if err != nil {
		return nil, fault.BodyUndecodable.With("the body is no JSON: %w", err)
	}
	envelope, ok := v.(feel.Context)
	if !ok {
		return nil, fault.BodyUndecodable.With("the body is no CloudEvents envelope")
	}
	attribute := func(name string) string { s, _ := envelope[name].(feel.String); return string(s) }
	for _, name := range []string{"id", "source", "type", "subject", "time", "specversion", "datacontenttype"} {
		if value := attribute(name); value != "" {
			in.Headers = append(in.Headers, ports.Header{Name: "ce-" + name, Value: value})
		}
	}
	if attribute("id") == "" || attribute("source") == "" || attribute("type") == "" {
		return nil, fault.BodyUndecodable.With("a CloudEvent has id, source and type; one of them is missing")
	}
	if len(in.EventID) == 0 {
		in.EventID = []byte(attribute("source") + " " + attribute("id"))
	}
	if text := attribute("data_base64"); text != "" {
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fault.BodyUndecodable.With("data_base64 is no base64: %w", err)
		}
		return feel.String(text), nil
	}
	return envelope["data"], nil
}

// eventMode is how a CloudEvent came over HTTP.
func eventMode(contentType string) string {
	if media, _, _ := mime.ParseMediaType(contentType); media == "application/cloudevents+json" {
		return "cloudevent-structured"
	}
	return "cloudevent-binary"
}

func header(headers []ports.Header, name string) string {
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}
