package provision

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// ErrForeign is the answer of the fault methods for a server that was not started here, and for SQLite, which has none.
var ErrForeign = errors.New("this server was not started by provision")

// patience bounds what a server may take to start, to stop, or to create a database.
const patience = 60 * time.Second

// Server is a running database server, or for SQLite none. Its methods may be called at the same time from several tests, but who
// pauses, kills or restarts it needs it alone.
type Server struct {
	Dialect string

	engine engine
	host   host
	admin  *url.URL // the administrator's address; nil for SQLite
	db     *sql.DB  // the administrator's connections
	role   *url.Userinfo

	mu        sync.Mutex
	databases []string

	one sync.Mutex // administrator at a time: Babelfish cannot make two databases at once
}

// host is what can be done to the server itself.
type host interface {
	Pause() error
	Resume() error
	Kill() error
	Stop(ctx context.Context) error
	Start(ctx context.Context) error // after Kill or Stop, at the same address, with what it stored
	Close() error                    // ends it and removes what it stored
}

// Database creates an empty database and answers its address, for a role that owns it and nothing else. It is dropped when the
// test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	if s.Dialect == "sqlite" {
		return "sqlite://" + filepath.Join(t.TempDir(), "sutra.db")
	}
	name := "sutra_" + random(6)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.run(ctx, s.engine.createDatabase(name, s.role.Username())); err != nil {
		t.Fatalf("create a database on %s: %v", s.Dialect, err)
	}
	s.mu.Lock()
	s.databases = append(s.databases, name)
	s.mu.Unlock()
	t.Cleanup(func() { s.drop(t, name) })
	return s.engine.address(s.admin, s.role, name).String()
}

func (s *Server) drop(t testing.TB, name string) {
	t.Helper()
	s.mu.Lock()
	for i, known := range s.databases {
		if known == name {
			s.databases = append(s.databases[:i], s.databases[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.run(ctx, s.engine.dropDatabase(name)); err != nil {
		t.Logf("drop database %s on %s: %v", name, s.Dialect, err)
	}
}

// Administrator answers the address of the same database for somebody who may do everything: read past row security, end
// connections. Empty for SQLite, where the address itself does.
func (s *Server) Administrator(database string) (string, error) {
	if s.admin == nil {
		return database, nil
	}
	u, err := url.Parse(database)
	if err != nil {
		return "", fmt.Errorf("address of a database: %w", err)
	}
	u.User = s.admin.User
	return u.String(), nil
}

// Pause freezes the server as a stopped machine would: connections stay open, nothing answers.
func (s *Server) Pause() error { return s.host.Pause() }

// Resume undoes Pause.
func (s *Server) Resume() error { return s.host.Resume() }

// Kill ends the server at once, as a power cut would. Restart brings it back.
func (s *Server) Kill() error { return s.host.Kill() }

// Restart stops the server if it runs, starts it again at the same address, and returns when it answers.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.host.Stop(ctx); err != nil {
		return err
	}
	if err := s.host.Start(ctx); err != nil {
		return err
	}
	return s.answering(ctx)
}

// ReadOnly makes the server refuse every write of the test's role, as after a failover to a replica.
func (s *Server) ReadOnly(ctx context.Context) error { return s.allow(ctx, s.engine.readOnly) }

// ReadWrite undoes ReadOnly.
func (s *Server) ReadWrite(ctx context.Context) error { return s.allow(ctx, s.engine.readWrite) }

func (s *Server) allow(ctx context.Context, statements func(string, []string) []string) error {
	if statements == nil {
		return ErrForeign
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run(ctx, statements(s.role.Username(), s.databases))
}

// Disconnect ends up to so many connections of the tests' role, chosen at random, and answers how many it ended.
func (s *Server) Disconnect(ctx context.Context, most int) (int, error) {
	if s.admin == nil {
		return 0, ErrForeign
	}
	rows, err := s.db.QueryContext(ctx, s.engine.sessions(s.role.Username()))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	mathrand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ended := 0
	for _, id := range ids[:min(most, len(ids))] {
		if _, err := s.db.ExecContext(ctx, s.engine.endSession(id)); err == nil { // else it had ended by itself
			ended++
		}
	}
	return ended, nil
}

// Close drops the role and ends what was started here.
func (s *Server) Close() error {
	var errs []error
	if s.db != nil {
		if _, ours := s.host.(foreign); ours && s.role != nil {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			errs = append(errs, s.run(ctx, s.engine.dropRole(s.role.Username())))
			cancel()
		}
		errs = append(errs, s.db.Close())
	}
	return errors.Join(append(errs, s.host.Close())...)
}

// prepare waits for the server and creates the role that owns the tests' databases.
func (s *Server) prepare(ctx context.Context) error {
	if s.admin == nil {
		return nil
	}
	db, err := Open(s.admin.String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(4)
	s.db = db
	if err := s.answering(ctx); err != nil {
		return err
	}
	role, password := "sutra_"+random(4), random(16)+"Aa1!"
	if err := s.run(ctx, s.engine.createRole(role, password)); err != nil {
		return err
	}
	s.role = url.UserPassword(role, password)
	return nil
}

// answering returns when the server takes a connection.
func (s *Server) answering(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.db.PingContext(ctx)
		if err == nil {
			return nil
		}
		if l, ok := s.host.(*local); ok && l.ended() {
			return fmt.Errorf("it ended: %s", l.log())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		}
	}
}

func (s *Server) run(ctx context.Context, statements []string) error {
	s.one.Lock()
	defer s.one.Unlock()
	for _, text := range statements {
		if _, err := s.db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// foreign is a server that somebody else runs.
type foreign struct{}

func (foreign) Pause() error                { return ErrForeign }
func (foreign) Resume() error               { return ErrForeign }
func (foreign) Kill() error                 { return ErrForeign }
func (foreign) Stop(context.Context) error  { return ErrForeign }
func (foreign) Start(context.Context) error { return ErrForeign }
func (foreign) Close() error                { return nil }

func given(e engine, dsn string) (Source, error) {
	admin, err := url.Parse(dsn)
	if err != nil {
		return Source{}, fmt.Errorf("the %s address: %w", e.name, err)
	}
	return Source{Dialect: e.name, Where: "at " + admin.Redacted(), start: func(context.Context) (*Server, error) {
		return &Server{Dialect: e.name, engine: e, host: foreign{}, admin: admin}, nil
	}}, nil
}

func startNothing(context.Context) (*Server, error) {
	return &Server{Dialect: "sqlite", host: foreign{}}, nil
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
