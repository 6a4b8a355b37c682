package feel

import (
	"time"

	"github.com/cockroachdb/apd/v3"
)

// Value is one FEEL value. The nil Value is null. No other types than those of this file implement it.
type Value interface{ Kind() Kind }

// Kind names a FEEL type, as instance of and error messages spell it.
type Kind string

// The kinds of values. Null has no type of its own: it is the nil Value.
const (
	KindNull       Kind = "null"
	KindBoolean    Kind = "boolean"
	KindNumber     Kind = "number"
	KindString     Kind = "string"
	KindDate       Kind = "date"
	KindTime       Kind = "time"
	KindDateTime   Kind = "date and time"
	KindDaysTime   Kind = "days and time duration"
	KindYearsMonth Kind = "years and months duration"
	KindList       Kind = "list"
	KindContext    Kind = "context"
	KindRange      Kind = "range"
	KindFunction   Kind = "function"
)

type (
	// Boolean is true or false.
	Boolean bool
	// String is text; its length is counted in code points.
	String string
	// Number is an exact decimal of at most 34 digits (DMN 1.5, 10.3.2.3.1), held reduced: no trailing zeros, no negative zero.
	// The decimal is never changed after the value was made.
	Number struct{ Decimal *apd.Decimal }
	// Date is a day of the proleptic Gregorian calendar.
	Date struct {
		Year       int
		Month, Day int
	}
	// Time is a time of day: nanoseconds since midnight, and a zone or none.
	Time struct {
		Nanos int64
		Zone  Zone
	}
	// DateTime is a date with a time of day.
	DateTime struct {
		Date Date
		Time Time
	}
	// DaysTime is a days and time duration, in nanoseconds kept as seconds and a rest so that it spans all dates.
	DaysTime struct {
		Seconds int64
		Nanos   int32 // same sign as Seconds, below one second
	}
	// YearsMonths is a years and months duration, in months.
	YearsMonths int64
	// List is a list. It is never changed after the value was made.
	List []Value
	// Context is a context; its entries are read in the order of their keys. It is never changed after the value was made.
	Context map[string]Value
	// Range is an interval; a nil end is unbounded.
	Range struct {
		Low, High             Value
		LowClosed, HighClosed bool
	}
)

// Zone is the offset or the named zone of a time. The zero Zone is none: local time.
type Zone struct {
	Name   string // IANA name, "" when an offset or none
	Offset int    // seconds east of UTC, when Known and Name is ""
	Known  bool
}

func (Boolean) Kind() Kind     { return KindBoolean }
func (String) Kind() Kind      { return KindString }
func (Number) Kind() Kind      { return KindNumber }
func (Date) Kind() Kind        { return KindDate }
func (Time) Kind() Kind        { return KindTime }
func (DateTime) Kind() Kind    { return KindDateTime }
func (DaysTime) Kind() Kind    { return KindDaysTime }
func (YearsMonths) Kind() Kind { return KindYearsMonth }
func (List) Kind() Kind        { return KindList }
func (Context) Kind() Kind     { return KindContext }
func (Range) Kind() Kind       { return KindRange }

// Scope gives the variables that an expression sees.
type Scope interface {
	// Lookup answers the value of a name, and whether the name is known. An unknown name is null in FEEL.
	Lookup(name string) (Value, bool)
}

// Lookup makes a context the scope of an expression.
func (c Context) Lookup(name string) (Value, bool) { v, ok := c[name]; return v, ok }

// Env is what an evaluation is given. Nothing else reaches it: no clock, no locale, no randomness.
type Env struct {
	Scope Scope
	Now   time.Time // what now() and today() answer
	Steps int       // budget of evaluation steps; 0 is the default budget
	meter *meter    // shared by the evaluations of one decision
}
