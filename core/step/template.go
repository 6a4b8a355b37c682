package step

import (
	"strings"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Template is a body of templates/, compiled: text with {{ FEEL }} in it. A null placeholder is empty; a list or context is JSON.
type Template struct{ parts []part }

// part is literal text, or a placeholder.
type part struct {
	text string
	expr *feel.Expression
}

// ParseTemplate compiles a template. The error says which line.
func ParseTemplate(path string, body []byte) (*Template, error) {
	t := &Template{}
	rest, line := string(body), 1
	for {
		text, after, found := strings.Cut(rest, "{{")
		line += strings.Count(text, "\n")
		t.parts = append(t.parts, part{text: text})
		if !found {
			return t, nil
		}
		source, tail, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, fault.ModelExpression.With("%s:%d: a {{ has no }}; close it", path, line)
		}
		expr, err := feel.Compile(strings.TrimSpace(source))
		if err != nil {
			return nil, fault.ModelExpression.With("%s:%d: %q is no FEEL expression: %w", path, line, source, err)
		}
		t.parts = append(t.parts, part{expr: expr})
		line += strings.Count(source, "\n")
		rest = tail
	}
}

// render renders a template by its path below templates/, with or without that folder's name.
func (r *run) render(path string, c *scope, extra feel.Context, n *bpmn.Node) string {
	t := r.p.Templates[path]
	if t == nil {
		t = r.p.Templates[strings.TrimPrefix(path, "templates/")]
	}
	if t == nil {
		r.fail(fault.TemplateFailed, n, "the archive has no template %q", path)
		return ""
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.expr == nil {
			continue
		}
		v, err := p.expr.Eval(feel.Env{Scope: view{extra, c}, Now: r.at, Steps: r.limits.Budget})
		if err != nil {
			r.fail(fault.TemplateFailed, n, "template %q: %w", path, err)
			return ""
		}
		b.WriteString(shownText(v))
	}
	return b.String()
}

func shownText(v feel.Value) string {
	switch v.(type) {
	case nil:
		return ""
	case feel.List, feel.Context:
		data, err := feel.ToJSON(v)
		if err != nil {
			return ""
		}
		return string(data)
	}
	return feel.Text(v)
}

func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.TrimSpace(strings.ToLower(kind))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}
