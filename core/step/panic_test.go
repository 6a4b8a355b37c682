package step

import (
	"errors"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// broken are decisions that panic, as a bug would.
type broken struct{}

func (broken) Decide(string, feel.Env) (feel.Value, error) { panic("a bug") }

func (broken) Rows(string, feel.Value) feel.List { panic("a bug") }

func TestAPanicFailsTheInstanceAndKeepsTheEvent(t *testing.T) {
	model, findings := bpmn.Read("m.bpmn", []byte(`<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:camunda="http://camunda.org/schema/1.0/bpmn">
		<process id="p" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="d"/>
		<businessRuleTask id="d" camunda:decisionRef="x" camunda:resultVariable="y"/></process></definitions>`), bpmn.Limits{})
	if model == nil {
		t.Fatal(findings)
	}
	p := &Program{Deployment: "d", Module: "m", Process: model.Processes[0], Decisions: broken{}}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := New(p, Begin{Ref: ports.Ref{Tenant: "t", ID: ports.ID{1}}, Step: ports.ID{2}, Event: Event{Kind: KindStart, At: at, Payload: feel.Context{}}})
	if r.Start == nil || r.Start.Status != ports.Failed || r.Start.Fault == nil || r.Start.Fault.Code != string(fault.StepPanicked) {
		t.Fatalf("got %+v, want a FAILED instance with %s", r, fault.StepPanicked)
	}
	if !errors.Is(r.Failure, fault.StepPanicked) || r.Outcomes[0] != Failed {
		t.Fatalf("got %v %v", r.Failure, r.Outcomes)
	}
}
