package database_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/sqlserver"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// tds is a server that speaks just enough of SQL Server's protocol (MS-TDS) to show what the driver does with its answers. It runs
// nothing: each request is answered by a script.
type tds struct {
	listener net.Listener
	answer   func(request string) reply // "begin", "commit", "rollback", or the text of a batch or call
	mu       sync.Mutex
	heard    []string
	conns    []net.Conn
	done     sync.WaitGroup
}

// reply is what the server answers to one request.
type reply struct {
	rows  uint64 // affected, or returned where the text asks for rows
	err   int32  // the number of an error
	ended bool   // the error has rolled the transaction back
	cut   bool   // hang up instead
}

func fakeSQLServer(t *testing.T, answer func(request string) reply) *tds {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &tds{listener: l, answer: answer}
	s.done.Go(s.accept)
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.done.Wait()
	})
	return s
}

func (s *tds) url() string {
	return "sqlserver://u:p@" + s.listener.Addr().String() + "?encrypt=disable&database=d"
}

// count says how many requests held this text.
func (s *tds) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.heard), func(h string) bool { return !strings.Contains(h, text) }))
}

func (s *tds) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		s.done.Go(func() {
			defer c.Close()
			s.serve(c)
		})
	}
}

const (
	typeBatch, typeCall, typeTransaction, typeLogin, typePrelogin = 1, 3, 14, 16, 18
	begin, commit, rollback                                       = 5, 7, 8
)

func (s *tds) serve(c net.Conn) {
	for {
		kind, body, err := request(c)
		if err != nil {
			return
		}
		var out []byte
		switch kind {
		case typePrelogin: // version, and no encryption
			out = []byte{0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2}
		case typeLogin:
			out = append(loginAck(), finished(0)...)
		case typeTransaction:
			out = s.transaction(binary.LittleEndian.Uint16(body[binary.LittleEndian.Uint32(body):]))
		case typeBatch, typeCall:
			out = s.text(string(bytes.ReplaceAll(body, []byte{0}, nil)))
		}
		if out == nil {
			return
		}
		packet := append([]byte{4, 1, 0, 0, 0, 0, 1, 0}, out...)
		binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)))
		if _, err := c.Write(packet); err != nil {
			return
		}
	}
}

// request reads the packets of one message.
func request(c net.Conn) (kind byte, body []byte, err error) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return 0, nil, err
		}
		part := make([]byte, int(binary.BigEndian.Uint16(head[2:]))-len(head))
		if _, err := io.ReadFull(c, part); err != nil {
			return 0, nil, err
		}
		if body = append(body, part...); head[1]&1 != 0 {
			return head[0], body, nil
		}
	}
}

func (s *tds) ask(what string) reply {
	s.mu.Lock()
	s.heard = append(s.heard, what)
	s.mu.Unlock()
	return s.answer(what)
}

// transaction answers to begin, commit and rollback: the environment has changed.
func (s *tds) transaction(what uint16) []byte {
	name := map[uint16]string{begin: "begin", commit: "commit", rollback: "rollback"}[what]
	r := s.ask(name)
	switch {
	case r.cut:
		return nil
	case r.err != 0:
		return append(failed(r.err), finished(0)...)
	case what == begin:
		return append([]byte{0xe3, 11, 0, 8, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0}, finished(0)...)
	default:
		return append(environment(map[uint16]byte{commit: 9, rollback: 10}[what]), finished(0)...)
	}
}

func (s *tds) text(text string) []byte {
	r := s.ask(text)
	switch {
	case r.cut:
		return nil
	case r.err != 0:
		out := failed(r.err)
		if r.ended {
			out = append(out, environment(10)...)
		}
		return append(out, finished(0)...)
	}
	out := []byte{0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x26, 4, 1, 'a', 0} // one column of integers
	if !strings.Contains(text, "SELECT") || strings.Contains(text, "INSERT") || strings.Contains(text, "UPDATE") {
		out = nil
	}
	for range r.rows {
		if out != nil {
			out = append(out, 0xd1, 4, 1, 0, 0, 0)
		}
	}
	return append(out, finished(r.rows)...)
}

func loginAck() []byte {
	return []byte{0xad, 12, 0, 1, 0x74, 0, 0, 4, 1, 's', 0, 16, 0, 0, 0}
}

// environment says that a transaction ended.
func environment(kind byte) []byte { return []byte{0xe3, 11, 0, kind, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8} }

func finished(rows uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0xfd, 0x10, 0, 0, 0}, rows)
}

func failed(number int32) []byte {
	var text []byte
	for _, u := range utf16.Encode([]rune("made up")) {
		text = binary.LittleEndian.AppendUint16(text, u)
	}
	body := binary.LittleEndian.AppendUint32(nil, uint32(number))
	body = append(body, 1, 16)
	body = binary.LittleEndian.AppendUint16(body, uint16(len(text)/2))
	body = append(body, text...)
	body = append(body, 0, 0, 1, 0, 0, 0)
	return append(binary.LittleEndian.AppendUint16([]byte{0xaa}, uint16(len(body))), body...)
}

func TestDriverTellsSQLServersNumbersApart(t *testing.T) {
	d := sqlserver.Dialect()
	for number, want := range map[int32]dialects.Class{
		2627: dialects.Duplicate, 2601: dialects.Duplicate, 1205: dialects.Conflict, 51204: dialects.Missed, 51205: dialects.Conflict, 1222: dialects.Conflict, 3960: dialects.Conflict,
		18456: dialects.Denied, 3906: dialects.ReadOnly, 2628: dialects.TooLong, 8152: dialects.TooLong, 547: dialects.Other,
	} {
		s := fakeSQLServer(t, func(string) reply { return reply{err: number} })
		db, err := sql.Open(d.Driver, s.url())
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), "INSERT INTO t VALUES (@p1)", 1)
		if got := d.Classify(err); got != want {
			t.Errorf("%d: got %q (%v), want %q", number, got, err, want)
		}
		_ = db.Close()
	}
}

func TestNothingRunsAfterSQLServerHasRolledBack(t *testing.T) {
	d := sqlserver.Dialect()
	s := fakeSQLServer(t, func(request string) reply {
		if strings.Contains(request, "first") {
			return reply{err: 1205, ended: true}
		}
		return reply{rows: 1}
	})
	db, err := sql.Open(d.Driver, s.url())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	open, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.ExecContext(t.Context(), "UPDATE first"); d.Classify(err) != dialects.Conflict {
		t.Errorf("the victim of a deadlock: got %v, want a conflict", err)
	}
	if _, err := open.ExecContext(t.Context(), "UPDATE second"); err == nil || s.count("second") != 0 {
		t.Errorf("a statement after it: got %v, sent %d times; want it refused unsent: it would commit by itself", err, s.count("second"))
	}
	if err := open.Commit(); err == nil {
		t.Error("the commit of what was rolled back was done")
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return string(fault.Of(err).Code)
}

// TestStoreOnSQLServer starts one instance on a server that answers by script. The transaction is one request, which commits it.
func TestStoreOnSQLServer(t *testing.T) {
	const insert = "INSERT INTO sutra_instance"
	absent := func(request string, other reply) reply {
		if strings.Contains(request, insert) {
			return other
		}
		return reply{} // asked: it is not there
	}
	for name, c := range map[string]struct {
		answer  func(request string, nth int) reply
		inserts int
		code    string // of the refusal
	}{
		"nothing happens": {func(string, int) reply { return reply{rows: 1} }, 1, ""},
		"a deadlock": {func(request string, nth int) reply {
			if strings.Contains(request, insert) && nth == 1 {
				return reply{err: 1205, ended: true}
			}
			return reply{rows: 1}
		}, 2, ""},
		"a cut before the answer": {func(request string, nth int) reply {
			return absent(request, reply{rows: 1, cut: nth == 1})
		}, 2, ""},
		"a number nobody knows": {func(request string, _ int) reply {
			return absent(request, reply{err: 547})
		}, 1, "SUTRA.STORE.WRITE.REFUSED"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]int{}
			s := fakeSQLServer(t, func(request string) reply {
				mu.Lock()
				defer mu.Unlock()
				kind := request
				if strings.Contains(request, insert) {
					kind = insert
				}
				seen[kind]++
				return c.answer(request, seen[kind])
			})
			d := sqlserver.Dialect()
			d.Checks = nil
			store, err := database.Open(t.Context(), database.Config{
				URL: s.url(), Dialects: []dialects.Dialect{d}, Clock: system.Clock{}, Patience: 5 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			got := store.Instances().Start(t.Context(), []ports.NewInstance{
				{Ref: ports.Ref{Tenant: "t", ID: ports.ID{1}}, Pinned: true, Status: ports.Suspended, Snapshot: []byte("s")},
			})[0]
			if (got.Outcome == ports.Done) != (c.code == "") || s.count(insert) != c.inserts || code(got.Err) != c.code {
				t.Errorf("got %+v after %d inserts, want %q after %d", got, s.count(insert), c.code, c.inserts)
			}
			if s.count("COMMIT TRANSACTION") != c.inserts || s.count("begin")+s.count("commit") != 0 {
				t.Errorf("of %d transactions, %d commit themselves; %d were begun and committed apart", c.inserts, s.count("COMMIT TRANSACTION"),
					s.count("begin")+s.count("commit"))
			}
		})
	}
}
