package deploy_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/ports/fault"
)

const model = `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:q="urn:sutra:q:1.0" id="d" targetNamespace="urn:test">
  <process id="p" isExecutable="true">
    <startEvent id="s"><extensionElements><q:source channel="in" name="in"/></extensionElements></startEvent>
    <sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    TASK
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/>
    <endEvent id="e"/>
  </process>
</definitions>`

const (
	sends = `<sendTask id="t"><extensionElements><q:send channel="out" contentType="application/json" body="{a: 1}"/></extensionElements></sendTask>`
	calls = `<serviceTask id="t" implementation="channel:out"/>`
)

// compiled answers the codes of the findings, and the addresses of the doors.
func compiled(t *testing.T, yaml, task string) (codes map[fault.Code]string, doors []string) {
	t.Helper()
	sealed, err := archive.Seal(fstest.MapFS{
		"package.yaml":  {Data: []byte("labels: {tenant: acme, module: m, version: 1.0.0}\nengine: {minContract: 1}\n")},
		"channels.yaml": {Data: []byte("channels:\n" + yaml)},
		"bpmn/p.bpmn":   {Data: []byte(strings.Replace(model, "TASK", task, 1))},
	}, archive.Default())
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(sealed.Bytes, archive.Default())
	if err != nil {
		t.Fatal(err)
	}
	rev, findings := deploy.Compile(a, deploy.Limits{})
	codes = map[fault.Code]string{}
	for _, f := range findings {
		codes[f.Code] = f.String()
	}
	if rev != nil {
		for _, d := range rev.Doors {
			doors = append(doors, d.Address)
		}
	}
	return codes, doors
}

func TestChannelsOverBrokers(t *testing.T) {
	for name, tc := range map[string]struct {
		channels, task string
		code           fault.Code // empty: it compiles
		door           string
	}{
		"rabbitmq": {"- {name: in, transport: rabbitmq, bind: main/q}\n- {name: out, transport: rabbitmq, to: main/x/k}", sends, "", "rabbitmq main/q"},
		"nats":     {"- {name: in, transport: nats, bind: main/s/c}\n- {name: out, transport: nats, to: main/a.b}", sends, "", "nats main/s/c"},
		"kafka":    {"- {name: in, transport: kafka, bind: main/t/g}\n- {name: out, transport: kafka, to: main/t}", sends, "", "kafka main/t/g"},
		"no way out": {
			"- {name: in, transport: rabbitmq, bind: main/q}\n- {name: out, transport: rabbitmq, bind: main/r}", sends, fault.ModelChannelUse, "",
		},
		"a call that nobody answers": {
			"- {name: in, transport: rabbitmq, bind: main/q}\n- {name: out, transport: nats, to: main/a.b}", calls, fault.ModelChannelUse, "",
		},
		"a queue twice": {
			"- {name: in, transport: rabbitmq, bind: main/q}\n- {name: out, transport: rabbitmq, bind: main/q, to: main/x}", sends, fault.ChannelTwice, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			codes, doors := compiled(t, tc.channels, tc.task)
			if _, refused := codes[tc.code]; refused != (tc.code != "") {
				t.Errorf("got %v, want %q", codes, tc.code)
			}
			if tc.code == "" && (len(doors) != 1 || doors[0] != tc.door) {
				t.Errorf("got doors %q and %v, want %q", doors, codes, tc.door)
			}
		})
	}
}
