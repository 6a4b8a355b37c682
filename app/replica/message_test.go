package replica_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// checked runs a package whose channel "begin" has a schema: key is a number.
func checked(t *testing.T, models ...string) *engine {
	t.Helper()
	e := run(t, fmt.Sprintf(door, "nothing"), process("q", start("q", "nothing"), `<endEvent id="q-1"/>`))
	e.deployBeside(
		fstest.MapFS{"schemas/order.json": &fstest.MapFile{Data: []byte(`{"type": "object", "properties": {"key": {"type": "number"}}, "required": ["key"]}`)}},
		"  - {name: begin, transport: http, schema: order, auth: {scheme: none}}\n", models...,
	)
	return e
}

// onValidation is a process whose start says what becomes of a payload that violates the schema, and whose event sub-process catches it.
func onValidation(mode string) string {
	return `<error id="bad" errorCode="BAD"/><process id="p" isExecutable="true"><startEvent id="s"><extensionElements><q:source channel="begin"/>` + mode + `</extensionElements></startEvent>
<sequenceFlow id="f" sourceRef="s" targetRef="e"/>` + strings.ReplaceAll(end("p", 1, "{taken: true, wrong: validationErrors.path}"), `id="p-1"`, `id="e"`) + `
<subProcess id="v" triggeredByEvent="true"><startEvent id="vs"><errorEventDefinition errorRef="bad"/></startEvent><sequenceFlow id="vf" sourceRef="vs" targetRef="ve"/>` +
		strings.ReplaceAll(end("v", 1, "{caught: code, of: data.key}"), `id="v-1"`, `id="ve"`) + `</subProcess></process>`
}

func TestPayloadsThatViolateTheSchema(t *testing.T) {
	for _, c := range []struct{ name, mode, body, answer string }{
		{"rejected", ``, `{"key": "x"}`, ""},
		{"routed", `<q:onValidation mode="route"/>`, `{"key": "x"}`, `{"taken":true,"wrong":["/key"]}`},
		{"nothing to route", `<q:onValidation mode="route"/>`, `{"key": 1}`, `{"taken":true,"wrong":[]}`},
		{"thrown", `<q:onValidation mode="error" errorCode="BAD"/>`, `{"key": "x"}`, `{"caught":"BAD","of":"x"}`},
		{"nothing to throw", `<q:onValidation mode="error" errorCode="BAD"/>`, `{"key": 1}`, `{"taken":true,"wrong":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := checked(t, onValidation(c.mode))
			in := e.incoming(c.body)
			in.Channel = "begin"
			r, err := e.Intake.Take(t.Context(), in)
			if c.answer == "" {
				if !errors.Is(err, fault.SchemaViolated) {
					t.Errorf("got %v, want a refusal", err)
				}
				e.ended(map[string]int{})
				return
			}
			if err != nil || r.Answer == nil || string(r.Answer.Body) != c.answer {
				t.Fatalf("got %+v %v, want %s", r.Answer, err, c.answer)
			}
		})
	}
}

// A message that waits in the inbox is found by its type all the same.
func TestATypedMessageIsRoutedFromTheInbox(t *testing.T) {
	typed := func(id, kind string) string {
		return `<startEvent id="` + id + `-0"><extensionElements><q:source channel="later" messageTypeValue="` + kind + `"/></extensionElements></startEvent>`
	}
	e := run(t, "  - {name: later, transport: http, ack-mode: on-persist, auth: {scheme: none}}\n",
		process("a", typed("a", "first"), `<endEvent id="a-1"/>`), process("b", typed("b", "second"), `<endEvent id="b-1"/>`))
	in := e.incoming(`{}`)
	in.Channel, in.Headers = "later", []ports.Header{{Name: "Sutra-Message-Type", Value: "second"}}
	if _, err := e.Intake.Take(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	e.ended(map[string]int{"b completed": 1})
}

func TestAReplyMatchesTheCloudEventItAnswers(t *testing.T) {
	e := run(t, "  - {name: events, transport: http, codec: cloudevents, auth: {scheme: none}}\n",
		process("p", `<startEvent id="p-0"><extensionElements><q:source channel="events"/></extensionElements></startEvent>`,
			`<endEvent id="p-1"><extensionElements><q:reply mode="match-inbound" body="{got: payload.n}"><q:header name="ce-type" value="answered"/><q:header name="X-Own" value="1"/></q:reply></extensionElements></endEvent>`))
	structured := e.incoming(`{"specversion": "1.0", "id": "1", "source": "/s", "type": "asked", "data": {"n": 7}}`)
	structured.Channel, structured.ContentType = "events", "application/cloudevents+json"
	r, err := e.Intake.Take(t.Context(), structured)
	if err != nil || r.Answer == nil || r.Answer.ContentType != "application/cloudevents+json" {
		t.Fatalf("got %+v %v, want a structured event", r.Answer, err)
	}
	var envelope struct {
		SpecVersion, ID, Source, Type, Subject, DataContentType string
		Data                                                    struct{ Got int }
	}
	if err := json.Unmarshal(r.Answer.Body, &envelope); err != nil || envelope.Data.Got != 7 || envelope.Type != "answered" || envelope.Source != "/sutra/m/p" ||
		envelope.SpecVersion != "1.0" || envelope.ID == "" || envelope.Subject != r.Instance.String() || envelope.DataContentType != "application/json" {
		t.Errorf("got %s (%v)", r.Answer.Body, err)
	}
	if len(r.Answer.Headers) != 1 || r.Answer.Headers[0].Name != "X-Own" {
		t.Errorf("headers %+v, want its own alone", r.Answer.Headers)
	}
	binary := e.incoming(`{"n": 8}`)
	binary.Channel = "events"
	binary.Headers = []ports.Header{{Name: "Ce-Type", Value: "asked"}, {Name: "Ce-Id", Value: "2"}, {Name: "Ce-Source", Value: "/s"}}
	r, err = e.Intake.Take(t.Context(), binary)
	if err != nil || r.Answer == nil || string(r.Answer.Body) != `{"got":8}` || r.Answer.ContentType != "application/json" {
		t.Fatalf("got %+v %v, want a binary event", r.Answer, err)
	}
	got := map[string]string{}
	for _, h := range r.Answer.Headers {
		got[h.Name] = h.Value
	}
	if got["ce-type"] != "answered" || got["ce-specversion"] != "1.0" || got["ce-source"] != "/sutra/m/p" || got["ce-id"] == "" || got["X-Own"] != "1" {
		t.Errorf("headers %v", got)
	}
}

// gated is a store that starts no instance before its gate is open.
type gated struct {
	ports.Store
	open chan struct{}
}

func (g gated) Instances() ports.Instances { return gatedInstances{g.Store.Instances(), g.open} }

type gatedInstances struct {
	ports.Instances
	open chan struct{}
}

func (g gatedInstances) Start(ctx context.Context, all []ports.NewInstance) []ports.Answer {
	<-g.open
	return g.Instances.Start(ctx, all)
}

// counting counts the instances that were started.
type counting struct {
	ports.Blind
	started atomic.Int64
}

func (c *counting) Count(name string, n int64, _ ...string) {
	if name == "sutra_instances_started_total" {
		c.started.Add(n)
	}
}

// A burst that this replica has no room for is driven as soon as there is somebody who can, not when it looks abandoned.
func TestABurstIsDrivenWithoutWaitingForItsRecovery(t *testing.T) {
	const burst = 3 * 256 // the room of a channel, and more
	open, watch := make(chan struct{}), &counting{}
	e := runOn(t, func(s ports.Store) ports.Store { return gated{s, open} }, watch,
		"  - {name: later, transport: http, ack-mode: on-persist, auth: {scheme: none}}\n",
		process("p", start("p", "later"), `<endEvent id="p-1"/>`))
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() {
			for range burst / 16 {
				in := e.incoming(`{"key": 1}`)
				in.Channel = "later"
				if r, err := e.Intake.Take(t.Context(), in); err != nil || !r.Durable {
					t.Errorf("got %+v, %v; want it durable", r, err)
				}
			}
		})
	}
	senders.Wait()
	close(open)
	opened := time.Now()
	for watch.started.Load() < burst {
		if time.Since(opened) > 20*time.Second {
			t.Fatalf("%d of %d were started in 20 s", watch.started.Load(), burst)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// puttingOff counts the emissions that were put off.
type puttingOff struct {
	ports.Store
	n *atomic.Int64
}

func (p puttingOff) Outbox() ports.Outbox { return puttingOffOutbox{p.Store.Outbox(), p.n} }

type puttingOffOutbox struct {
	ports.Outbox
	n *atomic.Int64
}

func (p puttingOffOutbox) Settle(ctx context.Context, all []ports.Settled) ([]ports.Answer, error) {
	for _, s := range all {
		if s.Verdict == ports.Postponed {
			p.n.Add(1)
		}
	}
	return p.Outbox.Settle(ctx, all)
}

// Emissions to one destination wait for its places here: none is put off while there is room.
func TestEmissionsToOneDestinationFollowEachOther(t *testing.T) {
	const burst = 200
	var got, off atomic.Int64
	there := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(2 * time.Millisecond)
		got.Add(1)
	}))
	defer there.Close()
	e := runOn(t, func(s ports.Store) ports.Store { return puttingOff{s, &off} }, ports.Blind{},
		"  - {name: later, transport: http, ack-mode: on-persist, auth: {scheme: none}}\n",
		process("p", start("p", "later"), `<endEvent id="p-1"><extensionElements><q:send destination="`+there.URL+`" contentType="application/json" body="{n: 1}"/>`+
			`</extensionElements></endEvent>`))
	for range burst {
		e.send("later", `{"key": 1}`)
	}
	for began := time.Now(); got.Load() < burst; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d of %d were sent in a minute", got.Load(), burst)
		}
	}
	if n := off.Load(); n != 0 {
		t.Errorf("%d of %d were put off", n, burst)
	}
}
