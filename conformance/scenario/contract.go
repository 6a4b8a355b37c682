package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// contract is the OpenAPI document that a replica serves. Every call of a scenario is held to it: a request that was taken is one that it
// describes, and an answer says nothing that it does not.
type contract struct {
	mu       sync.Mutex
	doc      map[string]any
	requests *jsonschema.Compiler
	answers  *jsonschema.Compiler // with nothing beside what is described
}

const document = "openapi.json"

// load reads the document from whoever serves it first.
func (c *contract) load(read func() ([]byte, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doc != nil {
		return nil
	}
	text, err := read()
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	if c.requests, err = compiler(doc); err != nil {
		return err
	}
	closed(doc)
	if c.answers, err = compiler(doc); err != nil {
		return err
	}
	c.doc = doc
	return nil
}

func compiler(doc any) (*jsonschema.Compiler, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	return c, c.AddResource(document, value)
}

// closed lets every described object have its described properties alone.
func closed(node any) {
	switch node := node.(type) {
	case map[string]any:
		_, open := node["additionalProperties"]
		if _, object := node["properties"].(map[string]any); object && node["type"] == "object" && !open {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			closed(child)
		}
	case []any:
		for _, child := range node {
			closed(child)
		}
	}
}

// hold says how a call breaks the contract. What is no route of the engine's own is a channel, of which the document says nothing.
func (c *contract) hold(q Request, a Answer) error {
	path, _, _ := strings.Cut(q.Path, "?")
	at := c.operation(path, strings.ToLower(q.Method))
	if at == "" {
		return nil
	}
	name := q.Method + " " + path
	response := at + "/responses/" + strconv.Itoa(a.Status)
	if c.node(response) == nil {
		response = at + "/responses/default"
	}
	described, response := c.follow(response)
	if described == nil {
		return fmt.Errorf("%s answers %d, which is not described", name, a.Status)
	}
	if content, has := described["content"].(map[string]any); has {
		kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
		if content[kind] == nil {
			return fmt.Errorf("%s answers %d as %q, which is not described", name, a.Status, kind)
		}
		if strings.HasSuffix(kind, "json") {
			if err := c.valid(c.answers, response+"/content/"+escaped(kind)+"/schema", a.Body); err != nil {
				return fmt.Errorf("%s answers %s: %w", name, a, err)
			}
		}
	}
	if a.Status >= http.StatusMultipleChoices || q.Kind != "application/json" || len(q.Body) == 0 {
		return nil
	}
	if body, from := c.follow(at + "/requestBody"); body != nil {
		if err := c.valid(c.requests, from+"/content/application~1json/schema", q.Body); err != nil {
			return fmt.Errorf("%s took %s: %w", name, q.Body, err)
		}
	}
	return nil
}

// operation is where the document describes a route.
func (c *contract) operation(path, method string) string {
	parts := strings.Split(path, "/")
	paths, _ := c.doc["paths"].(map[string]any)
	found := ""
	for template, methods := range paths {
		if _, has := methods.(map[string]any)[method]; !has || !fits(strings.Split(template, "/"), parts) {
			continue
		}
		if found == "" || template == path { // the plain one comes before that with a parameter
			found = "/paths/" + escaped(template) + "/" + method
		}
	}
	return found
}

func fits(template, path []string) bool {
	if len(template) != len(path) {
		return false
	}
	for i, t := range template {
		if t != path[i] && !strings.HasPrefix(t, "{") {
			return false
		}
	}
	return true
}

func escaped(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// node is what a pointer leads to.
func (c *contract) node(pointer string) map[string]any {
	at := c.doc
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		at, _ = at[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)].(map[string]any)
	}
	return at
}

// follow is node, or what it refers to, and where that stands.
func (c *contract) follow(pointer string) (map[string]any, string) {
	node := c.node(pointer)
	if ref, is := node["$ref"].(string); is {
		pointer = strings.TrimPrefix(ref, "#")
		node = c.node(pointer)
	}
	return node, pointer
}

func (c *contract) valid(with *jsonschema.Compiler, pointer string, body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	schema, err := with.Compile(document + "#" + pointer)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
