package token_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/apd/v3"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func number(t testing.TB, text string) feel.Value {
	t.Helper()
	d, _, err := apd.NewFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	n, ok := feel.NumberOf(d)
	if !ok {
		t.Fatalf("%s is no FEEL number", text)
	}
	return n
}

// full is a snapshot with something in every part.
func full(t testing.TB) *token.Snapshot {
	t.Helper()
	due := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	vars := feel.Context{
		"n": number(t, "1.50"), "big": number(t, "-1234567890123456789012345678901234"), "tiny": number(t, "1e-400"), "s": feel.String("grüße\x00"), "b": feel.Boolean(false), "null": nil,
		"l": feel.List{nil, feel.List{}, feel.Context{}}, "c": feel.Context{"b": feel.String(""), "aa": nil},
		"d": feel.Date{Year: 2024, Month: 2, Day: 29}, "t": feel.Time{Nanos: 1, Zone: feel.Zone{Name: "Europe/Berlin", Known: true}},
		"dt":  feel.DateTime{Date: feel.Date{Year: 1, Month: 1, Day: 1}, Time: feel.Time{Zone: feel.Zone{Offset: -3600, Known: true}}},
		"dur": feel.DaysTime{Seconds: -5, Nanos: -1}, "ym": feel.YearsMonths(-14), "r": feel.Range{Low: number(t, "1"), HighClosed: true},
	}
	return &token.Snapshot{
		Process: "p", Next: 40, Step: 7, Status: ports.Suspended, Open: []token.Open{{Channel: "orders", Event: ports.NewKey("e")}}, Trace: "00-t-s-01",
		Parent:  &token.Parent{Instance: ports.ID{1}, Wait: 3, Root: ports.ID{2}, Depth: 2, Catches: []string{"E1"}, CatchAny: true, Wants: []string{"x"}, WantAll: true},
		Failure: &token.Failure{Code: "SUTRA.X", Detail: "d", Node: "a", Trace: []string{"s", "a"}, Event: []byte{1, 2}},
		Scopes: []token.Scope{
			{ID: 1, Kind: token.ProcessScope, Variables: vars, Interrupted: true, Gates: []token.Gate{{Node: "g", Consumed: []string{"f1", "f2"}}}},
			{
				ID: 4, Parent: 1, Node: "mi", Kind: token.BodyScope, Body: &token.Body{Sequential: true, Total: 3, Next: 2, Completed: 1, Terminated: 1, Items: feel.List{nil, feel.Boolean(true)}, Results: []token.Result{{Index: 1, Value: nil}, {Index: 2, Value: feel.String("x")}}},
				Log: []token.Entry{{Node: "mi", Kind: token.RoundsEntry, Together: true, Log: []token.Entry{{Node: "mi", Kind: token.HandlerEntry, Variables: feel.Context{"item": nil}}}}},
			},
			{ID: 5, Parent: 1, Node: "ah", Kind: token.AdHocScope, ToStart: []string{"z", "a"}},
		},
		Tokens: []token.Token{{ID: 2, Scope: 1, Node: "mi", Flow: "f1", State: token.Active, Inner: 4, Tries: 2}, {ID: 6, Scope: 1, Node: "ah", State: token.Throw, Undo: 9}},
		Waits: []token.Wait{
			{ID: 10, Token: 2, Node: "b", Kind: ports.WaitTimer, Due: due, Anchor: due.Add(time.Hour), Period: "PT1H", Fired: 2, Left: -1},
			{ID: 11, Scope: 1, Node: "m", Kind: ports.WaitMessage, Name: "orders", Group: 2},
			{ID: 12, Token: 2, Node: "mi", Kind: ports.WaitTask, Topic: "t", Task: ports.ID{9}, Retries: 3, Headers: feel.Context{"assignee": feel.String("me")}, Trace: "00-t-p-01 v=1"},
			{ID: 13, Token: 2, Node: "c", Kind: ports.WaitCall, Child: ports.ID{8}, Attempt: 2},
			{ID: 14, Token: 2, Node: "x", Kind: token.Condition, Truth: true},
		},
		Aliases: []token.Alias{{Name: "order", Value: "1", Unique: true, Scope: 4}, {Name: "k", Value: "v", Wait: 11}},
		Undoing: []token.Undoing{{ID: 9, Scope: 1, Token: 6, Together: true, Left: []token.Entry{{Node: "a", Kind: token.HandlerEntry}}}},
	}
}

func encode(t testing.TB, s *token.Snapshot) []byte {
	t.Helper()
	data, err := token.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSameStateSameBytes(t *testing.T) {
	s := full(t)
	data := encode(t, s)
	for range 20 {
		if again := encode(t, full(t)); !bytes.Equal(again, data) {
			t.Fatal("the same state has other bytes")
		}
	}
	back, err := token.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, back); !bytes.Equal(got, data) {
		t.Fatal("decode then encode changed the bytes")
	}
	for i := range s.Scopes {
		for name, v := range s.Scopes[i].Variables {
			if got := back.Scopes[i].Variables[name]; feel.Text(got) != feel.Text(v) || reflect.TypeOf(got) != reflect.TypeOf(v) {
				t.Errorf("%s: got %T %v, want %T %v", name, got, got, v, v)
			}
		}
		s.Scopes[i].Variables, back.Scopes[i].Variables = nil, nil // numbers compare by value, not by pointer
	}
	if !reflect.DeepEqual(back, s) {
		t.Errorf("got  %+v\nwant %+v", back, s)
	}
}

func TestRefusesNonCanonical(t *testing.T) {
	data := encode(t, full(t))
	for name, bad := range map[string][]byte{
		"empty": {}, "no snapshot": []byte("XX\x01\x00\xa0"), "trailing": append(bytes.Clone(data), 0), "cut": data[:len(data)-1],
		"indefinite map": {'S', 'T', 1, 0, 0xbf, 0xff}, "doubled key": {'S', 'T', 1, 0, 0xa2, 3, 1, 3, 1}, "unsorted keys": {'S', 'T', 1, 0, 0xa2, 4, 1, 3, 1},
		"long integer": {'S', 'T', 1, 0, 0xa1, 3, 0x18, 1}, "empty part": {'S', 'T', 1, 0, 0xa1, 9, 0x80},
		"zero kept": {'S', 'T', 1, 0, 0xa1, 3, 0}, "unused name": {'S', 'T', 1, 0, 0xa1, 1, 0x81, 0x61, 'x'}, "a name that is not there": {'S', 'T', 1, 0, 0xa1, 2, 5},
		"too deep": append([]byte{'S', 'T', 1, 0}, bytes.Repeat([]byte{0x81}, 600)...),
	} {
		if _, err := token.Decode(bad); !errors.Is(err, fault.SnapshotInvalid) {
			t.Errorf("%s: got %v, want %s", name, err, fault.SnapshotInvalid)
		}
	}
	for i := range data {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(data)
			bad[i] ^= bit
			if s, err := token.Decode(bad); err == nil {
				if again := encode(t, s); !bytes.Equal(again[4:], bad[4:]) {
					t.Fatalf("byte %d: read what it would not write", i)
				}
			}
		}
	}
}

func TestReadsTheNextFormat(t *testing.T) {
	data := encode(t, full(t))
	data[2] = token.Format + 1
	s, err := token.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := encode(t, s); again[2] != token.Format {
		t.Errorf("it writes format %d", again[2])
	}
	data[2] = token.Format + 2
	if _, err := token.Decode(data); !errors.Is(err, fault.SnapshotFormatUnknown) || fault.SnapshotFormatUnknown.Disposition() != fault.Redeliver {
		t.Errorf("got %v", err)
	}
	if _, err := token.Decode([]byte{'S', 'T', token.Format, 0, 0xa1, 0x18, 99, 1}); !errors.Is(err, fault.SnapshotFormatUnknown) {
		t.Errorf("a key of a newer release: got %v", err)
	}
	data[2], data[3] = token.Format, 1
	if _, err := token.Decode(data); !errors.Is(err, fault.SnapshotFormatUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestFunctionsCannotBeStored(t *testing.T) {
	f := feel.NewFunction("f", nil, feel.Type{}, nil)
	if _, err := token.Encode(&token.Snapshot{Next: 1, Scopes: []token.Scope{{ID: 1, Kind: token.ProcessScope, Variables: feel.Context{"f": f}}}}); !errors.Is(err, fault.ValueNotStorable) {
		t.Errorf("got %v", err)
	}
}

func TestOneTaskInstanceIsSmall(t *testing.T) {
	vars := feel.Context{"order": feel.String("A-2026-000123"), "amount": number(t, "1234.56"), "text": feel.String(strings.Repeat("x", 450))}
	json, err := feel.ToJSON(vars)
	if err != nil {
		t.Fatal(err)
	}
	s := &token.Snapshot{
		Process: "order-approval", Next: 3, Step: 1, Status: ports.Suspended, Open: []token.Open{{Channel: "approval-request", Event: ports.NewKey("k")}},
		Scopes:  []token.Scope{{ID: 1, Kind: token.ProcessScope, Variables: vars}},
		Tokens:  []token.Token{{ID: 2, Scope: 1, Node: "Activity_0x1decide", Flow: "Flow_1abcde", State: token.Active}},
		Waits:   []token.Wait{{ID: 3, Token: 2, Node: "Activity_0x1decide", Kind: ports.WaitTask, Task: ports.ID{1, 2, 3}, Retries: 3}},
		Aliases: []token.Alias{{Name: "order", Value: "A-2026-000123"}},
	}
	data := encode(t, s)
	t.Logf("%d bytes for %d bytes of variables", len(data), len(json))
	if len(json) < 500 || len(data) >= 900 {
		t.Errorf("%d bytes for %d bytes of variables; the bar is 900", len(data), len(json))
	}
}

func TestRowsOfAFailedOrEndedInstance(t *testing.T) {
	s, p := full(t), &bpmn.Process{}
	if r := token.RowsOf(p, "m", s); len(r.Waits) != 0 || len(r.Tasks) != 0 || len(r.Aliases) != 1 {
		t.Errorf("failed: %+v", r)
	}
	failed := *s
	s.Failure = nil
	if r := token.RowsOf(p, "m", s); len(r.Waits) != 4 || len(r.Tasks) != 1 || len(r.Aliases) != 2 {
		t.Errorf("suspended: %+v", r)
	}
	rows := func(s *token.Snapshot) token.Rows { return token.RowsOf(p, "m", s) }
	insert, drop := token.Change(rows(s), rows(&failed), &failed)
	if len(insert.Waits) != 0 || len(drop.Waits) != 4 || len(drop.Tasks) != 1 || len(drop.Aliases) != 1 {
		t.Errorf("failing: %+v %+v", insert, drop)
	}
	s.Status = ports.Completed
	if _, drop := token.Change(rows(&failed), rows(s), s); !drop.All {
		t.Error("an instance that ended keeps rows")
	}
}

func FuzzDecode(f *testing.F) {
	data, err := token.Encode(full(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{'S', 'T', 1, 0, 0xa0})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := token.Decode(data)
		if err != nil {
			return
		}
		again, err := token.Encode(s)
		if err != nil || !bytes.Equal(again[4:], data[4:]) {
			t.Fatalf("decode then encode changed the bytes: %v\n%x\n%x", err, data, again)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	s := full(b)
	for b.Loop() {
		if _, err := token.Encode(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data, err := token.Encode(full(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := token.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

var update = flag.Bool("update", false, "write golden files anew")

// A snapshot that a release has written is read by every later one, to the same bytes.
func TestGoldenSnapshots(t *testing.T) {
	const golden = "testdata/format-1.snapshot"
	if *update {
		if err := os.WriteFile(golden, encode(t, full(t)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	s, err := token.Decode(data)
	if err != nil {
		t.Fatalf("%s cannot be read any more: %v", golden, err)
	}
	if again := encode(t, s); !bytes.Equal(again, data) {
		t.Errorf("%s is written differently now", golden)
	}
	if now := encode(t, full(t)); !bytes.Equal(now, data) {
		t.Error("the same state is written differently now; a new layout needs a new format")
	}
}

// A snapshot from before steps were traced has no trace, and is written again without one: a replica of that time reads it still.
func TestASnapshotFromBeforeTracesIsReadAndWrittenAsItWas(t *testing.T) {
	const golden = "testdata/format-1-before-traces.snapshot"
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	s, err := token.Decode(data)
	if err != nil || s.Trace != "" {
		t.Fatalf("%s: got trace %q, %v", golden, s.Trace, err)
	}
	if again := encode(t, s); !bytes.Equal(again, data) {
		t.Errorf("%s is written differently now", golden)
	}
}
