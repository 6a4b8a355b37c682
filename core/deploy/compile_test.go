package deploy_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

const channels = `channels:
  - {name: begin, transport: http, auth: {scheme: none}}
  - {name: checked, transport: http, schema: order, auth: {scheme: none}}
  - {name: near, transport: local}
  - {name: pull, transport: pull}
  - {name: bus, transport: rabbitmq, bind: main/orders}
`

// compile compiles a package with these elements in one process.
func compile(t *testing.T, elements string) (*deploy.Revision, []lint.Finding) {
	t.Helper()
	a, err := archive.Seal(fstest.MapFS{
		"package.yaml":       {Data: []byte("labels: {tenant: acme, module: m, version: '1'}\n")},
		"channels.yaml":      {Data: []byte(channels)},
		"schemas/order.json": {Data: []byte(`{"type": "object"}`)},
		"bpmn/p.bpmn": {Data: []byte(`<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:q="urn:sutra:q:1.0"><process id="p" isExecutable="true">` +
			elements + `</process></definitions>`)},
	}, archive.Default())
	if err != nil {
		t.Fatal(err)
	}
	return deploy.Compile(a, deploy.Limits{})
}

func ext(inside string) string { return "<extensionElements>" + inside + "</extensionElements>" }

// What a model asks for and a package cannot give is refused with its code, by lint as by a deploy.
func TestPackagesThatPromiseWhatTheyLackAreRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		code     fault.Code
		elements string
	}{
		{"an unknown channel", fault.ModelChannelUnknown, `<receiveTask id="x">` + ext(`<q:source channel="none"/>`) + `</receiveTask>`},
		{"a call over a broker", fault.ModelChannelUse, `<serviceTask id="x" implementation="channel:bus"/>`},
		{"a send that a broker's channel takes nowhere", fault.ModelChannelUse, `<sendTask id="x">` + ext(`<q:send channel="bus"/>`) + `</sendTask>`},
		{"an unknown template", fault.ModelTemplateUnknown, `<scriptTask id="x" scriptFormat="template"><script>none.txt</script></scriptTask>`},
		{"an unknown process", fault.ModelCallUnknown, `<callActivity id="x" calledElement="none"/>`},
		{"a dispatch to an unknown process", fault.ModelCallUnknown, `<callActivity id="x">` + ext(`<q:dispatch onNoMatch="skip"><q:case when="true" calledElement="none"/></q:dispatch>`) + `</callActivity>`},
		{"a validation mode without a schema", fault.ModelAttribute, `<startEvent id="x">` + ext(`<q:source channel="begin"/><q:onValidation mode="route"/>`) + `</startEvent>`},
		{"a CloudEvent over a local channel", fault.ModelAttribute, `<sendTask id="x">` + ext(`<q:send channel="near" mode="cloudevent-binary"/>`) + `</sendTask>`},
		{"retries of what workers fetch", fault.ModelAttribute, `<serviceTask id="x" implementation="channel:pull">` + ext(`<q:retry maxAttempts="3"/>`) + `</serviceTask>`},
		{"a timeout of what workers fetch", fault.ModelAttribute, `<serviceTask id="x" implementation="channel:pull">` + ext(`<q:timeout duration="PT5S"/>`) + `</serviceTask>`},
		{"retries of a local message", fault.ModelAttribute, `<serviceTask id="x" implementation="channel:near">` + ext(`<q:retry maxAttempts="3"/>`) + `</serviceTask>`},
		{"two starts by one channel", fault.ModelCatchDuplicate, `<startEvent id="y">` + ext(`<q:source channel="begin"/>`) + `</startEvent><startEvent id="x">` + ext(`<q:source channel="begin"/>`) + `</startEvent>`},
		{"a type pattern that does not parse", fault.PatternInvalid, `<startEvent id="x">` + ext(`<q:source channel="begin" messageTypePattern="("/>`) + `</startEvent>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rev, findings := compile(t, c.elements)
			if rev != nil || !slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Level == lint.Error && f.Code == c.code && f.ID == "x" }) {
				t.Errorf("want %s at x; got %v", c.code, findings)
			}
		})
	}
	good := `<startEvent id="s">` + ext(`<q:source channel="checked"/><q:onValidation mode="error" errorCode="BAD"/>`) + `</startEvent>
<callActivity id="c" calledElement="p"/><endEvent id="e">` + ext(`<q:reply mode="match-inbound"/>`) + `</endEvent>`
	if rev, findings := compile(t, good); rev == nil {
		t.Errorf("refused: %v", findings)
	}
}
