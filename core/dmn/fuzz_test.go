package dmn_test

import (
	"testing"

	"github.com/sutra-engine/sutra/core/dmn"
	"github.com/sutra-engine/sutra/core/feel"
)

func FuzzRead(f *testing.F) {
	f.Add(document(graph))
	f.Add(document(table(`hitPolicy="PRIORITY"`, `<output name="o"><outputValues><text>1, 2</text></outputValues></output>`, `> 1 => 2`, `- => 1`)))
	f.Add(document(`<itemDefinition name="t" isCollection="true"><itemComponent name="a b"><typeRef>t</typeRef></itemComponent></itemDefinition>
		<decision id="d" name="d"><variable name="d" typeRef="t"/><relation><column name="k"/><row><literalExpression><text>1</text></literalExpression></row></relation></decision>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		model, findings := dmn.Read("m.dmn", data)
		if model == nil {
			if len(findings) == 0 {
				t.Fatalf("%q: no model and no finding", data)
			}
			return
		}
		for _, name := range append(model.Decisions(), model.Services()...) {
			_, _ = model.Evaluate(name, feel.Env{Scope: feel.Context{"x": feel.NumberOfInt(5)}, Steps: 10_000}) // it must end, whatever it answers
		}
	})
}
