// Package provision gives tests a real database of each dialect: one whose address they were given, one whose server program is on
// this machine, or one in Docker, in this order. It never falls back to another dialect, and never touches a database that it did
// not create.
package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Dialects are the databases that can be provided, in the order they are always listed in.
func Dialects() []string { return []string{"sqlite", "postgres", "mysql", "mariadb", "sqlserver"} }

// Source is where a dialect's server would come from. Nothing runs yet.
type Source struct {
	Dialect string
	Where   string // in words, for people

	start func(context.Context) (*Server, error)
}

// Unavailable says why a dialect cannot be provided, and how it can.
type Unavailable struct {
	Dialect string
	Tried   []error
	Provide string
}

func (u *Unavailable) Error() string {
	tried := make([]string, len(u.Tried))
	for i, err := range u.Tried {
		tried[i] = err.Error()
	}
	return fmt.Sprintf("%s cannot be provided here (%s); provide it: %s", u.Dialect, strings.Join(tried, "; "), u.Provide)
}

// Find looks for a server of the dialect and starts nothing. An empty dsn means the environment's SUTRA_TEST_<DIALECT>_DSN, if
// any. The error is an [Unavailable] when there is no way to provide one.
func Find(ctx context.Context, dialect, dsn string) (Source, error) {
	if !slices.Contains(Dialects(), dialect) {
		return Source{}, fmt.Errorf("unknown dialect %q: there are %s", dialect, strings.Join(Dialects(), ", "))
	}
	if dialect == "sqlite" {
		return Source{Dialect: dialect, Where: "in this process", start: startNothing}, nil
	}
	d := engines[dialect]
	if variable := d.variable(); dsn == "" && os.Getenv(variable) != "" {
		dsn = os.Getenv(variable)
	}
	if dsn != "" {
		return given(d, dsn)
	}
	local, noLocal := onMachine(d)
	if noLocal == nil {
		return local, nil
	}
	docker, noDocker := inDocker(ctx, d)
	if noDocker == nil {
		return docker, nil
	}
	return Source{}, &Unavailable{
		Dialect: dialect,
		Tried:   []error{fmt.Errorf("%s is not set", d.variable()), noLocal, noDocker},
		Provide: fmt.Sprintf("%s, or start Docker, or set %s to an administrator's address such as %s", d.hint, d.variable(), d.example),
	}
}

// Start finds a server and starts it. The caller closes it.
func Start(ctx context.Context, dialect, dsn string) (*Server, error) {
	src, err := Find(ctx, dialect, dsn)
	if err != nil {
		return nil, err
	}
	s, err := src.start(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s (%s): %w", dialect, src.Where, err)
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s (%s): %w", dialect, src.Where, err), s.Close())
	}
	return s, nil
}
