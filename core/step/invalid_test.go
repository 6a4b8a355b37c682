package step_test

import (
	encoding "encoding/json"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
)

// wrongly is a message whose payload violates its channel's schema.
func wrongly(t *testing.T, channel, payload string) step.Event {
	t.Helper()
	ev := messageEvent(t, channel, "", payload)
	ev.Violations = []step.Violation{{Path: "/n", Text: "is no number"}, {Text: "has no m"}}
	return ev
}

func TestInvalidPayloadsMeetNodesThatTakeThem(t *testing.T) {
	on := func(mode string) string {
		return source("decisions") + `<q:onValidation mode="` + mode + `" errorCode="E1"/>`
	}
	routed := strings.Replace(on("route"), ` errorCode="E1"`, "", 1)
	caught := boundary("err", "sub", errorDef("e1")) + worker("h") + path("err", "h")
	for _, c := range []struct {
		name, model string
		outcome     step.Outcome
		want        string
	}{
		{"a catch event refuses it", process(start("s"), catch("c", source("decisions")), worker("a"), path("s", "c", "a")), step.Unmatched, "message c"},
		{"a catch event takes it", process(start("s"), catch("c", routed), worker("a"), path("s", "c", "a")), step.Applied, "task a"},
		{"a catch event throws", process(start("s"), sub("sub", start("is"), catch("c", on("error")), path("is", "c")), caught, path("s", "sub")), step.Applied, "task h"},
		{"a receive task throws to its own boundary", process(start("s"), el("receiveTask", "c", on("error")), boundary("err", "c", errorDef("e1")), worker("h"), path("s", "c"), path("err", "h")), step.Applied, "task h"},
		{"a boundary event throws to its sibling", process(start("s"), worker("a"), boundary("m", "a", on("error")), boundary("err", "a", errorDef("e1")), worker("x"), worker("h"), path("s", "a"), path("m", "x"), path("err", "h")), step.Applied, "task h"},
		{"an event gateway throws outward", process(start("s"), sub("sub", start("is"), eventGate("g"), catch("c", on("error")), catch("tm", after("PT1H")), path("is", "g", "c"), path("g", "tm")), caught, path("s", "sub")), step.Applied, "task h"},
		{"an event sub-process throws to its sibling", process(start("s"), worker("a"), path("s", "a"), eventSub("ev", startOn("c", on("error")), worker("x"), path("c", "x")), eventSub("eh", start("es", errorDef("e1")), worker("h"), path("es", "h"))), step.Applied, "task h"},
		{"an event sub-process throws outward", process(start("s"), sub("sub", start("is"), worker("a"), path("is", "a"), eventSub("ev", start("c", on("error")), worker("x"), path("c", "x"))), caught, path("s", "sub")), step.Applied, "task h"},
		{"nobody catches it", process(start("s"), catch("c", on("error")), path("s", "c")), step.Failed, "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.model)
			i := w.start("")
			if got := i.drive(wrongly(t, "decisions", `{"n": "x"}`)); got[0] != c.outcome {
				t.Fatalf("%s, want %s (%+v)", got[0], c.outcome, i.fault)
			}
			i.want(c.want)
			if c.want == "task h" && (i.input("h", "code") != `"E1"` || i.input("h", "message") != `"/n: is no number; has no m"` || i.input("h", "data") != `{"n":"x"}`) {
				t.Errorf("code %s, message %s, data %s", i.input("h", "code"), i.input("h", "message"), i.input("h", "data"))
			}
			if c.want == "task a" && i.variable("validationErrors") != `[{"message":"is no number","path":"/n"},{"message":"has no m","path":""}]` {
				t.Errorf("validationErrors is %s", i.variable("validationErrors"))
			}
		})
	}
	w := newWorld(t, process(start("s"), catch("c", on("error")), worker("a"), path("s", "c", "a")))
	i := w.start("")
	if i.message("decisions", "", `{"n": 1}`); i.variable("payload") != `{"n":1}` {
		t.Errorf("a valid payload became %s", i.variable("payload"))
	}
}

func TestWhatIsWrongSurvivesItsBytes(t *testing.T) {
	ev := wrongly(t, "decisions", `{"n": "x"}`)
	ev.Mode = "cloudevent-binary"
	data, err := step.EncodeEvent(ev)
	if err != nil {
		t.Fatal(err)
	}
	again, err := step.DecodeEvent(data)
	if err != nil || len(again.Violations) != 2 || again.Violations[0] != ev.Violations[0] || again.Mode != ev.Mode {
		t.Errorf("%+v became %+v (%v)", ev, again, err)
	}
}

func TestEmissionsAreCloudEventsWhereTheModelSaysSo(t *testing.T) {
	for _, c := range []struct{ name, send, contentType, body string }{
		{"native", `<q:send channel="out" body="{n: 1}"/>`, "application/json", `{"n":1}`},
		{"binary", `<q:send channel="out" mode="cloudevent-binary" body="{n: 1}"/>`, "application/json", `{"n":1}`},
		{"structured", `<q:send channel="out" mode="cloudevent-structured" body="{n: 1}"/>`, "application/cloudevents+json", `{"n":1}`},
		{"structured text", `<q:send channel="out" mode="cloudevent-structured" contentType="text/plain" body="&quot;hello&quot;"/>`, "application/cloudevents+json", `"hello"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, process(start("s"), throw("x", `<messageEventDefinition messageRef="m1"/>`, c.send), worker("a"), path("s", "x", "a")))
			i := w.start("")
			e := w.emitted[0]
			if e.ContentType != c.contentType {
				t.Errorf("content type %s, want %s", e.ContentType, c.contentType)
			}
			got, data := headersOf(e), e.Body
			if strings.HasPrefix(c.name, "structured") {
				var envelope map[string]encoding.RawMessage
				if err := encoding.Unmarshal(e.Body, &envelope); err != nil {
					t.Fatal(err)
				}
				for name, v := range envelope {
					got["ce-"+name] = strings.Trim(string(v), `"`)
				}
				data = envelope["data"]
			}
			if string(data) != c.body {
				t.Errorf("data %s, want %s", data, c.body)
			}
			if want := map[string]string{"ce-id": e.ID.String(), "ce-type": "m1", "ce-source": "/sutra/mod/p", "ce-subject": i.ref.ID.String(), "ce-time": "2026-01-31T12:00:00Z", "ce-specversion": "1.0"}; c.name != "native" {
				for name, v := range want {
					if got[name] != v {
						t.Errorf("%s is %q, want %q", name, got[name], v)
					}
				}
			} else if len(got) != 0 {
				t.Errorf("headers %v, want none", got)
			}
		})
	}
}

func headersOf(e ports.Emission) map[string]string {
	out := map[string]string{}
	for _, h := range e.Headers {
		out[h.Name] = h.Value
	}
	return out
}
