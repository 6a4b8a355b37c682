package step_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/step"
)

// saved is a model as Camunda Modeler saves it.
func saved(t *testing.T, name string) *world {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, string(data))
}

const order = `{"order": {"id": "O-7", "clerk": "eve", "carrier": "fast", "terms": 30, "address": "here", "known": false,
	"lines": [{"sku": "a", "warehouse": "north", "price": 80}, {"sku": "b", "warehouse": "south", "price": 40}]}}`

func (w *world) ordered(t *testing.T, payload string) *instance {
	t.Helper()
	return w.startAt("order-to-cash", step.Event{Kind: step.KindStart, Node: "Start_ordered", Payload: value(t, payload)})
}

func TestModelsOfCamunda8RunUnchanged(t *testing.T) {
	t.Run("to the end", func(t *testing.T) {
		w := saved(t, "camunda8.bpmn")
		i := w.ordered(t, order)
		if got, want := i.topics(), []string{`reserve-north {"method":"fifo"}`, `reserve-south {"method":"fifo"}`}; !slices.Equal(got, want) {
			t.Errorf("topics %q, want %q", got, want)
		}
		follow(t, w, i, `
			want message Event_cancel, task Activity_reserve, task Activity_reserve
			input Activity_reserve sku "a"
			done 2 Activity_reserve {"place": "S2", "private": 1}
			done Activity_reserve {"place": "N1"}
			want message Event_cancel, task Activity_look, timer Event_remind
			var reservations [{"sku":"a","slot":"N1"},{"sku":"b","slot":"S2"}]
			var private`)
		if got := i.topics()[0]; !strings.Contains(got, `"assignee":"eve"`) || !strings.Contains(got, `"formId":"look"`) || !strings.Contains(got, `"dueDate":"2026-02-02T10:00:00Z"`) {
			t.Errorf("the user task is %s", got)
		}
		if due := i.at("Event_remind").Due.Format("Mon 15:04"); due != "Mon 09:00" { // the world begins on a Saturday
			t.Errorf("the first reminder is due %s", due)
		}
		follow(t, w, i, `
			fire Event_remind
			want message Event_cancel, task Activity_look, task Event_reminded, timer Event_remind
			done Activity_look
			deliver
			want call Activity_ship, message Event_cancel, task Event_reminded
			on 1
			want task Activity_courier
			var address "here"
			var order
			done Activity_courier {"tracking": "T1", "cost": 3}
			deliver
			on 0
			want message Event_cancel, message Event_paid, task Event_reminded, timer Event_overdue
			var tracking "T1"
			var cost
			late paid O-8 {"amount": 1}
			message paid O-7 {"amount": 120.0}
			var paid 120
			want message Event_cancel, task Event_reminded
			done Event_reminded
			want completed`)
	})
	t.Run("out of stock", func(t *testing.T) {
		w := saved(t, "camunda8.bpmn")
		follow(t, w, w.ordered(t, order), "error Activity_reserve OUT_OF_STOCK\nwant completed")
	})
	t.Run("cancelled while it ships", func(t *testing.T) {
		w := saved(t, "camunda8.bpmn")
		follow(t, w, w.ordered(t, strings.Replace(order, `"known": false`, `"known": true`, 1)), `
			done Activity_reserve {"place": "N1"}
			done Activity_reserve {"place": "S2"}
			want call Activity_ship, message Event_cancel
			deliver
			message cancel O-7
			want task Activity_refund
			deliver
			on 1
			want cancelled
			on 0
			done Activity_refund
			want completed`)
	})
}

const trip = `{"trip": {"id": "T", "city": "Lima", "wish": "sea", "name": "Ada", "hotel": 300, "budget": 1000}, "legs": [{"to": "A", "price": 100}, {"to": "B", "price": 200}], "enough": false}`

func (w *world) travels(t *testing.T, payload string) *instance {
	t.Helper()
	return w.startAt("trip", step.Event{Kind: step.KindStart, Payload: value(t, payload)})
}

func TestModelsOfCamunda7RunUnchanged(t *testing.T) {
	t.Run("to the end", func(t *testing.T) {
		w := saved(t, "camunda7.bpmn")
		follow(t, w, w.travels(t, trip), `
			want task Flights, task Hotel
			input Hotel city "Lima"
			input Hotel wishes ["quiet","sea"]
			input Hotel guest {"name":"Ada"}
			input Flights leg {"price":100,"to":"A"}
			done Hotel {"number": 12, "floor": 1}
			done Flights
			input Flights leg {"price":200,"to":"B"}
			done Flights
			var room 12
			var floor
			var price 600
			want call Visa, timer Hurry
			fire Hurry
			deliver
			want call Visa, timer Hurry
			fire Hurry
			want call Visa
			on 1
			var borders 2
			done Consulate {"stamp": "ok", "fee": 3}
			deliver
			on 0
			var visa "ok"
			var fee
			want completed`)
	})
	t.Run("too dear: undone in reverse, each flight with its own leg", func(t *testing.T) {
		w := saved(t, "camunda7.bpmn")
		follow(t, w, w.travels(t, strings.Replace(trip, "1000", "500", 1)), `
			done Flights
			done Flights
			done Hotel {"number": 12}
			want task Leave_hotel
			done Leave_hotel
			input Return_ticket leg {"price":200,"to":"B"}
			done Return_ticket
			input Return_ticket leg {"price":100,"to":"A"}
			done Return_ticket
			want task Sorry
			done Sorry {"told": true}
			want completed`)
	})
	t.Run("no room", func(t *testing.T) {
		w := saved(t, "camunda7.bpmn")
		follow(t, w, w.travels(t, trip), `
			done Flights
			error Hotel NO_ROOM
			want task Sorry
			var reason "NO_ROOM"
			var said "it went wrong"`)
	})
}
