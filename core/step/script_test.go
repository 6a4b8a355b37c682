package step_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/step"
)

// whole plays a process from its start to its end by a script, one thing a line:
//
//	want task a, timer b       what it waits for, or how it ended
//	done a {"x": 1}            the oldest task at a is completed; done 2 a: the second oldest
//	error a E1                 a worker throws an error at a
//	message m1 KEY {"x": 1}    a message comes; KEY may be -
//	late m1 KEY                a message comes that nothing takes
//	fire b                     the timer at b is due
//	deliver                    deliveries reach their instances
//	on 1                       from here on it is about the instance started as number 1
//	var x 5                    the process variable x is 5
//	input a x 5                the task at a sees 5 in x
func whole(t *testing.T, model, variables, script string) {
	t.Helper()
	w := newWorld(t, model)
	follow(t, w, w.start(variables), script)
}

func follow(t *testing.T, w *world, i *instance, script string) {
	t.Helper()
	for n, line := range strings.Split(strings.TrimSpace(script), "\n") {
		what, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if what == "on" {
			number, err := strconv.Atoi(rest)
			if err != nil || number >= len(w.order) {
				t.Fatalf("line %d: there is no instance %s", n+1, rest)
			}
			i = w.nth(number)
			continue
		}
		act := map[string]func(t *testing.T, i *instance, rest string){
			"want": wants, "done": does, "error": throws, "message": hears, "late": missed, "var": holdsVariable, "input": seesInput,
			"fire":    func(_ *testing.T, i *instance, node string) { i.fire(node) },
			"deliver": func(*testing.T, *instance, string) { w.deliver() },
		}[what]
		if act == nil {
			t.Fatalf("line %d: %q means nothing", n+1, line)
		}
		act(t, i, rest)
		if t.Failed() {
			t.Fatalf("at line %d: %s", n+1, line)
		}
	}
}

func wants(t *testing.T, i *instance, expected string) {
	t.Helper()
	if got := i.stands(); got != expected {
		t.Errorf("got %q, want %q (fault %+v)\nhistory of the last step: %s", got, expected, i.fault, i.lastHistory())
	}
}

func does(t *testing.T, i *instance, rest string) {
	t.Helper()
	node, payload, _ := strings.Cut(rest, " ")
	place := 1
	if n, err := strconv.Atoi(node); err == nil {
		place = n
		node, payload, _ = strings.Cut(payload, " ")
	}
	all := i.all(node)
	if len(all) < place {
		t.Errorf("%d tasks wait at %s; waiting: %s", len(all), node, i.stands())
		return
	}
	i.applied(step.Event{Kind: step.KindTaskDone, Wait: all[place-1].ID, Payload: value(t, payload)})
}

func throws(t *testing.T, i *instance, rest string) {
	t.Helper()
	node, code, _ := strings.Cut(rest, " ")
	i.applied(step.Event{Kind: step.KindTaskError, Wait: i.at(node).ID, Code: code, Message: "it went wrong"})
}

func messageOf(rest string) (name, key, payload string) {
	name, rest, _ = strings.Cut(rest, " ")
	key, payload, _ = strings.Cut(rest, " ")
	if key == "-" {
		key = ""
	}
	return name, key, payload
}

func hears(t *testing.T, i *instance, rest string) {
	t.Helper()
	if got := i.message(messageOf(rest)); got != step.Applied {
		t.Errorf("the message was %s", got)
	}
}

func missed(t *testing.T, i *instance, rest string) {
	t.Helper()
	if got := i.message(messageOf(rest)); got != step.Unmatched {
		t.Errorf("the message was %s", got)
	}
}

func holdsVariable(t *testing.T, i *instance, rest string) {
	t.Helper()
	name, want, _ := strings.Cut(rest, " ")
	if got := i.variable(name); got != want {
		t.Errorf("%s is %s", name, got)
	}
}

func seesInput(t *testing.T, i *instance, rest string) {
	t.Helper()
	words := strings.SplitN(rest, " ", 3)
	if got := i.input(words[0], words[1]); got != words[2] {
		t.Errorf("%s at %s is %s", words[1], words[0], got)
	}
}

// topics lists the topics and headers of the tasks there are.
func (i *instance) topics() []string {
	var out []string
	for _, task := range i.tasks {
		out = append(out, task.Topic+" "+string(task.Headers))
	}
	slices.Sort(out)
	return out
}
