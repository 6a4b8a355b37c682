package scenario

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a server that the engine sends its spans to, as OTLP over HTTP.
type Collector struct {
	URL string

	mu    sync.Mutex
	spans []Span
}

// Span is one span that arrived.
type Span struct {
	Trace, ID, Parent string // in hex
	Name, Kind        string
	Replica           string // service.instance.id of who sent it
	Links             []Link
	Attributes        map[string]string
	Failed            bool
}

// Link is another span that a span names.
type Link struct{ Trace, ID string }

// Collect starts a collector. It ends with the test.
func Collect(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// ServeHTTP takes one batch.
func (c *Collector) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var batch collect.ExportTraceServiceRequest
	if req.URL.Path != "/v1/traces" || err != nil || proto.Unmarshal(body, &batch) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range batch.ResourceSpans {
		replica := texts(of.Resource.Attributes)["service.instance.id"]
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, spanOf(s, replica))
			}
		}
	}
}

func spanOf(s *otlp.Span, replica string) Span {
	out := Span{
		Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
		Name: s.Name, Kind: s.Kind.String(), Replica: replica, Attributes: texts(s.Attributes), Failed: s.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR,
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, Link{hex.EncodeToString(l.TraceId), hex.EncodeToString(l.SpanId)})
	}
	return out
}

func texts(all []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range all {
		out[a.Key] = a.Value.String()
		if text, ok := a.Value.GetValue().(*common.AnyValue_StringValue); ok {
			out[a.Key] = text.StringValue
		}
	}
	return out
}

// Spans are those that have arrived.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}
