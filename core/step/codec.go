package step

import (
	"errors"
	"time"

	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// wireEvent is an event as inbox rows and failures carry it. A key, once released, keeps its meaning.
type wireEvent struct {
	Kind     EventKind      `cbor:"1,keyasint,omitempty"`
	At       int64          `cbor:"2,keyasint,omitempty"` // microseconds
	Wait     int64          `cbor:"3,keyasint,omitempty"`
	Name     []byte         `cbor:"4,keyasint,omitempty"`
	Match    []byte         `cbor:"5,keyasint,omitempty"`
	Payload  *token.Stored  `cbor:"6,keyasint,omitempty"`
	Headers  []ports.Header `cbor:"7,keyasint,omitempty"`
	Status   int            `cbor:"8,keyasint,omitempty"`
	Code     string         `cbor:"9,keyasint,omitempty"`
	Message  string         `cbor:"10,keyasint,omitempty"`
	Attempt  int            `cbor:"11,keyasint,omitempty"`
	Node     string         `cbor:"12,keyasint,omitempty"`
	Process  string         `cbor:"13,keyasint,omitempty"`
	Parent   *wireParent    `cbor:"14,keyasint,omitempty"`
	Source   []byte         `cbor:"15,keyasint,omitempty"`
	Step     int64          `cbor:"16,keyasint,omitempty"`
	Ordinal  int            `cbor:"17,keyasint,omitempty"`
	Asked    *wireRef       `cbor:"18,keyasint,omitempty"`
	Answered bool           `cbor:"19,keyasint,omitempty"`
	Wrong    []Violation    `cbor:"20,keyasint,omitempty"`
	Mode     string         `cbor:"21,keyasint,omitempty"`
	Trace    ports.Trace    `cbor:"22,keyasint,omitempty"`
}

type wireParent struct {
	Instance []byte   `cbor:"1,keyasint,omitempty"`
	Wait     int64    `cbor:"2,keyasint,omitempty"`
	Root     []byte   `cbor:"3,keyasint,omitempty"`
	Depth    int      `cbor:"4,keyasint,omitempty"`
	Catches  []string `cbor:"5,keyasint,omitempty"`
	CatchAny bool     `cbor:"6,keyasint,omitempty"`
	Wants    []string `cbor:"7,keyasint,omitempty"`
	WantAll  bool     `cbor:"8,keyasint,omitempty"`
}

type wireRef struct {
	Tenant  string `cbor:"1,keyasint,omitempty"`
	Channel string `cbor:"2,keyasint,omitempty"`
	Event   []byte `cbor:"3,keyasint,omitempty"`
}

// EncodeEvent writes an event as the payload of an inbox row. What the row says itself (consumed, lock) is left out.
func EncodeEvent(ev Event) ([]byte, error) {
	w := wireEvent{
		Kind: ev.Kind, Wait: int64(ev.Wait), Name: keyBytes(ev.Name), Match: keyBytes(ev.Match), Headers: ev.Headers, Status: ev.Status,
		Code: ev.Code, Message: ev.Message, Attempt: ev.Attempt, Node: ev.Node, Process: ev.Process, Source: idBytes(ev.From.Instance),
		Step: ev.From.Step, Ordinal: ev.From.Ordinal, Answered: ev.Answered, Wrong: ev.Violations, Mode: ev.Mode, Trace: ev.Trace,
	}
	if !ev.At.IsZero() {
		w.At = ev.At.UnixMicro()
	}
	if ev.Payload != nil {
		w.Payload = &token.Stored{Value: ev.Payload}
	}
	if p := ev.Parent; p != nil {
		w.Parent = &wireParent{idBytes(p.Instance), int64(p.Wait), idBytes(p.Root), p.Depth, p.Catches, p.CatchAny, p.Wants, p.WantAll}
	}
	if a := ev.Asked; a != (ports.InboxRef{}) {
		w.Asked = &wireRef{a.Tenant, a.Channel, keyBytes(a.Event)}
	}
	return token.Marshal(w)
}

// DecodeEvent reads what EncodeEvent wrote.
func DecodeEvent(data []byte) (Event, error) {
	var w wireEvent
	if err := token.Unmarshal(data, &w); errors.Is(err, fault.SnapshotFormatUnknown) {
		return Event{}, err
	} else if err != nil {
		return Event{}, fault.EventInvalid.With("the payload cannot be read: %w", err)
	}
	ev := Event{
		Kind: w.Kind, Wait: ports.WaitID(w.Wait), Name: key(w.Name), Match: key(w.Match), Headers: w.Headers, Status: w.Status, Code: w.Code,
		Message: w.Message, Attempt: w.Attempt, Node: w.Node, Process: w.Process, Answered: w.Answered, Violations: w.Wrong, Mode: w.Mode, Trace: w.Trace,
		From: Source{Instance: id(w.Source), Step: w.Step, Ordinal: w.Ordinal},
	}
	if w.At != 0 {
		ev.At = time.UnixMicro(w.At).UTC()
	}
	if w.Payload != nil {
		ev.Payload = w.Payload.Value
	}
	if p := w.Parent; p != nil {
		ev.Parent = &Parent{
			Parent: ports.Parent{Instance: id(p.Instance), Wait: ports.WaitID(p.Wait), Root: id(p.Root)},
			Depth:  p.Depth, Catches: p.Catches, CatchAny: p.CatchAny, Wants: p.Wants, WantAll: p.WantAll,
		}
	}
	if a := w.Asked; a != nil {
		ev.Asked = ports.InboxRef{Tenant: a.Tenant, Channel: a.Channel, Event: key(a.Event)}
	}
	return ev, nil
}

// kinds are the events that inbox rows become.
var kinds = map[ports.MessageKind]EventKind{
	ports.KindMessage: KindMessage, ports.KindStart: KindStart, ports.KindRelay: KindMessage, ports.KindSignal: KindSignal, ports.KindSignalled: KindSignal,
	ports.KindChildStart: KindChildStart, ports.KindChildDone: KindChildDone, ports.KindChildError: KindChildError,
	ports.KindChildEscalation: KindChildEscalation, ports.KindChildCancel: KindCancel, ports.KindCallReply: KindCallReply,
	ports.KindCallFailed: KindCallFailed, ports.KindTaskDone: KindTaskDone, ports.KindTaskError: KindTaskError, ports.KindReplay: "", ports.KindWake: KindWake,
}

func eventOf(m ports.Message) (Event, error) {
	kind, known := kinds[m.Kind]
	if !known {
		return Event{}, fault.SnapshotFormatUnknown.With("this release knows no event of the kind %q; a newer one, which wrote it, has to take it", m.Kind)
	}
	ev, err := DecodeEvent(m.Payload)
	if err != nil {
		return Event{}, err
	}
	ev.Consumed = &ports.Consumed{InboxRef: m.InboxRef, EventID: m.EventID, Kind: m.Kind, Pending: true}
	if m.Kind == ports.KindReplay {
		return ev, nil
	}
	ev.Kind, ev.At, ev.Wait = kind, m.Accepted, m.Wait
	if !m.Name.IsZero() {
		ev.Name = m.Name
	}
	if !m.Correlation.IsZero() {
		ev.Match = m.Correlation
	}
	if ev.From.Instance.IsZero() {
		ev.From.Instance = m.Source
	}
	return ev, nil
}

// wireReply is a reply as it is kept with its message.
type wireReply struct {
	Status      int            `cbor:"1,keyasint,omitempty"`
	ContentType string         `cbor:"2,keyasint,omitempty"`
	Headers     []ports.Header `cbor:"3,keyasint,omitempty"`
	Body        []byte         `cbor:"4,keyasint,omitempty"`
}

func encodeReply(r ports.Response) ([]byte, error) { return token.Marshal(wireReply(r)) }

func decodeReply(document []byte) (ports.Response, error) {
	var w wireReply
	if err := token.Unmarshal(document, &w); err != nil {
		return ports.Response{}, fault.EventInvalid.With("the reply cannot be read: %w", err)
	}
	return ports.Response(w), nil
}

func keyBytes(k ports.Key) []byte {
	if k.IsZero() {
		return nil
	}
	return k[:]
}

func idBytes(id ports.ID) []byte {
	if id.IsZero() {
		return nil
	}
	return id[:]
}

func key(data []byte) (k ports.Key) { copy(k[:], data); return k }

func id(data []byte) (out ports.ID) { copy(out[:], data); return out }
