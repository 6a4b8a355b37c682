// Package fault holds the codes of everything that can go wrong, each declared once, with what a transport does about it.
// Transports look at dispositions, never at codes. It holds no text for people beyond one line a code.
package fault

import (
	"errors"
	"fmt"
)

// Disposition is what the sender of the work should do.
type Disposition string

// The dispositions.
const (
	Redeliver Disposition = "redeliver" // nothing was applied: send it again
	Reject    Disposition = "reject"    // never as it was sent
	Uncertain Disposition = "uncertain" // it may have happened: ask, or send it again under the same key
	Operator  Disposition = "operator"  // a person is needed
	Bug       Disposition = "bug"       // the engine contradicts itself
)

// Code is one kind of fault: SUTRA.<AREA>.<OPERATION>.<REASON>. It is an error, so errors.Is finds it through wrapping.
type Code string

// Error is the code itself.
func (c Code) Error() string { return string(c) }

// Disposition is what the table says of the code; an undeclared code is a Bug.
func (c Code) Disposition() Disposition { return c.entry().Disposition }

// Status is the code's HTTP status; an undeclared code is 500.
func (c Code) Status() int { return c.entry().Status }

func (c Code) entry() Entry {
	if e, ok := byCode[c]; ok {
		return e
	}
	return Entry{Code: c, Disposition: Bug, Status: 500}
}

// With makes a fault of this code with a detail for people.
func (c Code) With(format string, args ...any) *Fault {
	err := fmt.Errorf(format, args...)
	return &Fault{Code: c, Detail: err.Error(), Cause: errors.Unwrap(err)}
}

// Fault is one occurrence: what happened, to what, and what to do.
type Fault struct {
	Code     Code
	Detail   string // says what to do; holds no secret
	Instance string // the instance it is about, or empty
	File     string // of a package, or empty
	Line     int
	Element  string  // BPMN id, or empty
	All      []Fault // further violations found with it
	Cause    error
}

// About names the instance that the fault is about.
func (f *Fault) About(instance string) *Fault {
	f.Instance = instance
	return f
}

// Error is the code and the detail.
func (f *Fault) Error() string {
	if f.Detail == "" {
		return string(f.Code)
	}
	return f.Detail + " [" + string(f.Code) + "]"
}

// Is makes errors.Is(err, SomeCode) true for a fault of that code.
func (f *Fault) Is(target error) bool { c, ok := target.(Code); return ok && c == f.Code }

// Unwrap is the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// Of is the fault in err; an error without one is a fault of code Internal that wraps it.
func Of(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if c, ok := errors.AsType[Code](err); ok {
		return &Fault{Code: c, Detail: err.Error(), Cause: err}
	}
	return &Fault{Code: Internal, Detail: "the engine met trouble it has no code for; see its log", Cause: err}
}
