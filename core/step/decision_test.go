package step_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/dmn"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports"
)

// rated is a library of one table, of a number and of rules that match above 0 and above 5.
func rated(t *testing.T, table, outputs string) dmn.Library {
	t.Helper()
	cells := func(n int) string {
		return strings.Repeat(fmt.Sprintf("<outputEntry><text>%d</text></outputEntry>", n), strings.Count(outputs, "<output "))
	}
	library, findings := dmn.ReadAll([]dmn.File{{Name: "rules/rate.dmn", Data: []byte(`<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="d" name="d" namespace="n">
<decision id="rate" name="Rate"><decisionTable ` + table + `><input id="i"><inputExpression><text>n</text></inputExpression></input>` + outputs + `
<rule id="r1"><inputEntry><text>&gt; 0</text></inputEntry>` + cells(1) + `</rule><rule id="r2"><inputEntry><text>&gt; 5</text></inputEntry>` + cells(2) + `</rule></decisionTable></decision></definitions>`)}})
	if lint.Refused(findings) {
		t.Fatal(findings)
	}
	return library
}

// What a task wants of its decision is what it gets, whatever the hit policy of the table.
func TestDecisionsAreMapped(t *testing.T) {
	const one, plain, two = `<output id="o" name="price"/>`, `<output id="o"/>`, `<output id="o" name="price"/><output id="p" name="weight"/>`
	for _, c := range []struct {
		table, outputs, as string
		n                  int
		want               string // empty: it fails
	}{
		{`hitPolicy="COLLECT"`, one, "", 7, `[1,2]`},
		{`hitPolicy="COLLECT"`, one, "collectEntries", 7, `[1,2]`},
		{`hitPolicy="COLLECT"`, one, "collectEntries", -1, `[]`},
		{`hitPolicy="COLLECT"`, one, "resultList", 7, `[{"price":1},{"price":2}]`},
		{`hitPolicy="COLLECT"`, one, "singleEntry", 3, `1`},
		{`hitPolicy="COLLECT"`, one, "singleEntry", -1, `null`},
		{`hitPolicy="COLLECT"`, one, "singleEntry", 7, ``},
		{`hitPolicy="COLLECT"`, one, "singleResult", 3, `{"price":1}`},
		{`hitPolicy="COLLECT" aggregation="SUM"`, one, "singleEntry", 7, `3`},
		{`hitPolicy="FIRST"`, one, "singleEntry", 7, `1`},
		{`hitPolicy="FIRST"`, one, "collectEntries", 7, `[1]`},
		{`hitPolicy="FIRST"`, one, "resultList", -1, `[]`},
		{`hitPolicy="FIRST"`, plain, "singleResult", 7, `{"Rate":1}`},
		{`hitPolicy="FIRST"`, two, "singleResult", 7, `{"price":1,"weight":1}`},
		{`hitPolicy="FIRST"`, two, "resultList", 7, `[{"price":1,"weight":1}]`},
		{`hitPolicy="FIRST"`, two, "singleEntry", 7, ``},
		{`hitPolicy="RULE ORDER"`, two, "resultList", 7, `[{"price":1,"weight":1},{"price":2,"weight":2}]`},
		{`hitPolicy="RULE ORDER"`, two, "collectEntries", 7, ``},
		{`hitPolicy="RULE ORDER"`, two, "singleResult", 7, ``},
	} {
		attributes := `camunda:decisionRef="rate" camunda:resultVariable="r"`
		if c.as != "" {
			attributes += ` camunda:mapDecisionResult="` + c.as + `"`
		}
		w := newWorld(t, process(start("s"), elWith("businessRuleTask", "x", attributes), worker("a"), path("s", "x", "a")))
		w.programs["p"].Decisions = rated(t, c.table, c.outputs)
		i := w.start(fmt.Sprintf(`{"n": %d}`, c.n))
		got := i.variable("r")
		if i.status == ports.Failed {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s %s of %d as %q is %q, want %q (%+v)", c.table, c.outputs, c.n, c.as, got, c.want, i.fault)
		}
	}
}
