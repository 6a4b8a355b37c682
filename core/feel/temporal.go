package feel

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/apd/v3"
)

// maxYear bounds the years of dates on both sides (DMN 1.5, 10.3.2.3.4).
const maxYear = 999_999_999

const (
	daySeconds = 24 * 60 * 60
	nanosecond = 1_000_000_000 // nanoseconds of a second
)

// DateTimeOf makes a date and time of an instant, in UTC.
func DateTimeOf(t time.Time) DateTime { return dateTimeIn(t.UTC(), Zone{Known: true}) }

// dateTimeIn reads the fields of t, which stands in the zone's location.
func dateTimeIn(t time.Time, zone Zone) DateTime {
	return DateTime{Date: dateOf(t), Time: Time{Nanos: clock(t), Zone: zone}}
}

func dateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{Year: year, Month: int(month), Day: day}
}

func clock(t time.Time) int64 {
	hour, minute, second := t.Clock()
	return (int64(hour)*3600+int64(minute)*60+int64(second))*nanosecond + int64(t.Nanosecond())
}

// valid answers the date when the calendar has it.
func (d Date) valid() bool {
	return d.Year >= -maxYear && d.Year <= maxYear && dateOf(d.start()) == d
}

func (d Date) start() time.Time {
	return time.Date(d.Year, time.Month(d.Month), d.Day, 0, 0, 0, 0, time.UTC)
}

// days counts the days since 1970-01-01.
func (d Date) days() int { return int(floorDivide(d.start().Unix(), daySeconds)) }

func dateOfDays(days int) Date { return dateOf(time.Unix(int64(days)*daySeconds, 0).UTC()) }

func floorDivide(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// location answers where the zone is; a zone without offset or name counts as UTC.
func (z Zone) location() *time.Location {
	switch {
	case z.Name != "":
		if location, err := time.LoadLocation(z.Name); err == nil {
			return location
		}
	case z.Offset != 0:
		return time.FixedZone("", z.Offset)
	}
	return time.UTC
}

// offset answers the seconds east of UTC at an instant; a named zone of a time without date is read at the epoch.
func (z Zone) offset(at time.Time) int {
	if z.Name == "" {
		return z.Offset
	}
	_, offset := at.In(z.location()).Zone()
	return offset
}

func (z Zone) local() bool { return !z.Known && z.Name == "" }

// Instant answers the point in time; one without zone is read in UTC.
func (dt DateTime) Instant() time.Time {
	n := dt.Time.Nanos
	return time.Date(dt.Date.Year, time.Month(dt.Date.Month), dt.Date.Day, 0, 0, int(n/nanosecond), int(n%nanosecond), dt.Time.Zone.location())
}

// compare orders two instants, or two local times; the two are not comparable with each other.
func (dt DateTime) compare(o DateTime) (int, bool) {
	if dt.Time.Zone.local() != o.Time.Zone.local() {
		return 0, false
	}
	return dt.Instant().Compare(o.Instant()), true
}

func (t Time) compare(o Time) (int, bool) {
	if t.Zone.local() != o.Zone.local() {
		return 0, false
	}
	return cmp.Compare(t.utc(), o.utc()), true
}

// utc is the time of day in UTC, not wrapped at midnight.
func (t Time) utc() int64 {
	return t.Nanos - int64(t.Zone.offset(time.Unix(0, 0)))*nanosecond
}

// shift adds a duration to a date or time, or takes it away with sign -1.
func shift(v, duration Value, sign int64) Value {
	switch v := v.(type) {
	case Date:
		return v.shift(duration, sign)
	case DateTime:
		return v.shift(duration, sign)
	case Time:
		days, ok := duration.(DaysTime)
		if !ok {
			return nil
		}
		const day = daySeconds * nanosecond
		n := v.Nanos + sign*(days.Seconds%daySeconds*nanosecond+int64(days.Nanos))
		v.Nanos = (n%day + day) % day
		return v
	}
	return nil
}

func (d Date) shift(duration Value, sign int64) Value {
	var moved Date
	switch duration := duration.(type) {
	case YearsMonths:
		var ok bool
		if moved, ok = d.addMonths(sign * int64(duration)); !ok {
			return nil
		}
	case DaysTime:
		seconds, ok := addInt64(d.start().Unix(), sign*duration.Seconds)
		if !ok {
			return nil
		}
		moved = dateOf(time.Unix(seconds, sign*int64(duration.Nanos)).UTC())
	default:
		return nil
	}
	if !moved.valid() {
		return nil
	}
	return moved
}

// addMonths keeps the day of the month, or takes the last one the month has.
func (d Date) addMonths(months int64) (Date, bool) {
	total, ok := addInt64(int64(d.Year)*12+int64(d.Month)-1, months)
	if !ok {
		return Date{}, false
	}
	year := floorDivide(total, 12)
	if year < -maxYear || year > maxYear {
		return Date{}, false
	}
	moved := Date{Year: int(year), Month: int(total-year*12) + 1}
	moved.Day = min(d.Day, time.Date(moved.Year, time.Month(moved.Month)+1, 0, 0, 0, 0, 0, time.UTC).Day())
	return moved, true
}

func (dt DateTime) shift(duration Value, sign int64) Value {
	switch duration := duration.(type) {
	case YearsMonths:
		date, ok := dt.Date.addMonths(sign * int64(duration))
		if !ok {
			return nil
		}
		return DateTime{Date: date, Time: dt.Time}
	case DaysTime:
		t := dt.Instant()
		seconds, ok := addInt64(t.Unix(), sign*duration.Seconds)
		if !ok {
			return nil
		}
		moved := dateTimeIn(time.Unix(seconds, int64(t.Nanosecond())+sign*int64(duration.Nanos)).In(t.Location()), dt.Time.Zone)
		if !moved.Date.valid() {
			return nil
		}
		return moved
	}
	return nil
}

// AddDuration adds a duration to an instant: calendar months in UTC, keeping the day of the month or taking the month's last one.
func AddDuration(t time.Time, duration Value) (time.Time, error) {
	moved, ok := DateTimeOf(t).shift(duration, 1).(DateTime)
	if !ok {
		return time.Time{}, fmt.Errorf("feel: cannot add %s to %s", Text(duration), t.UTC().Format(time.RFC3339))
	}
	return moved.Instant(), nil
}

// difference subtracts two dates or times of one kind; a date stands for its midnight in UTC beside a date and time.
func difference(a, b Value) Value {
	if x, ok := a.(Time); ok {
		y, ok := b.(Time)
		if !ok || x.Zone.local() != y.Zone.local() {
			return nil
		}
		return daysTime(0, x.utc()-y.utc())
	}
	x, ok := asDateTime(a)
	y, isDate := asDateTime(b)
	if !ok || !isDate || x.Time.Zone.local() != y.Time.Zone.local() {
		return nil
	}
	s, t := x.Instant(), y.Instant()
	return daysTime(s.Unix()-t.Unix(), int64(s.Nanosecond()-t.Nanosecond()))
}

func asDateTime(v Value) (DateTime, bool) {
	switch v := v.(type) {
	case Date:
		return v.midnight(), true
	case DateTime:
		return v, true
	}
	return DateTime{}, false
}

// daysTime makes a duration of seconds and any number of nanoseconds.
func daysTime(seconds, nanos int64) DaysTime {
	seconds += nanos / nanosecond
	nanos %= nanosecond
	switch {
	case seconds > 0 && nanos < 0:
		seconds, nanos = seconds-1, nanos+nanosecond
	case seconds < 0 && nanos > 0:
		seconds, nanos = seconds+1, nanos-nanosecond
	}
	return DaysTime{Seconds: seconds, Nanos: int32(nanos)}
}

func addDurations(a, b Value, sign int64) Value {
	switch a := a.(type) {
	case DaysTime:
		b, ok := b.(DaysTime)
		if !ok {
			return nil
		}
		seconds, ok := addInt64(a.Seconds, sign*b.Seconds)
		if !ok || abs(seconds) > math.MaxInt64-2 {
			return nil
		}
		return daysTime(seconds, int64(a.Nanos)+sign*int64(b.Nanos))
	case YearsMonths:
		b, ok := b.(YearsMonths)
		if !ok {
			return nil
		}
		if months, ok := addInt64(int64(a), sign*int64(b)); ok {
			return YearsMonths(months)
		}
	}
	return nil
}

func abs(i int64) int64 {
	if i < 0 {
		return -i
	}
	return i
}

func addInt64(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0) && sum != math.MinInt64
}

// number is the duration in seconds.
func (d DaysTime) number() Number {
	seconds, nanos := numberOf(d.Seconds), apd.New(int64(d.Nanos), -9)
	sum, _ := seconds.add(Number{nanos}).(Number)
	return sum
}

// daysTimeOf makes a duration of seconds; what does not fit one is null. Parts of a nanosecond are cut.
func daysTimeOf(v Value) Value {
	n, ok := v.(Number)
	if !ok {
		return nil
	}
	seconds, ok := n.whole()
	if !ok || abs(seconds) > math.MaxInt64-2 {
		return nil
	}
	rest, ok := n.subtract(numberOf(seconds)).(Number)
	if !ok {
		return nil
	}
	nanos, ok := rest.multiply(numberOf(nanosecond)).(Number)
	if !ok {
		return nil
	}
	part, ok := nanos.whole()
	if !ok {
		return nil
	}
	return daysTime(seconds, part)
}

// monthsOf makes a duration of months; a fraction of a month is cut.
func monthsOf(v Value) Value {
	n, ok := v.(Number)
	if !ok {
		return nil
	}
	months, ok := n.whole()
	if !ok {
		return nil
	}
	return YearsMonths(months)
}

// monthsBetween counts the whole months from one date to another (years and months duration()).
func monthsBetween(from, to Date) YearsMonths {
	months := int64(to.Year-from.Year)*12 + int64(to.Month-from.Month)
	switch {
	case months > 0 && to.Day < from.Day:
		months--
	case months < 0 && to.Day > from.Day:
		months++
	}
	return YearsMonths(months)
}

// property reads an entry of a context, or a component of a date, time, duration or range (DMN 1.5, table 66).
func property(source Value, name string) Value {
	switch v := source.(type) {
	case Context:
		return v[name]
	case Date:
		return v.property(name)
	case DateTime:
		if p := v.Date.property(name); p != nil {
			return p
		}
		return v.Time.property(name, v.Instant())
	case Time:
		return v.property(name, time.Unix(0, 0))
	case DaysTime:
		return v.property(name)
	case YearsMonths:
		switch name {
		case "years":
			return numberOf(int64(v) / 12)
		case "months":
			return numberOf(int64(v) % 12)
		}
	case Range:
		return v.property(name)
	}
	return nil
}

func (d Date) property(name string) Value {
	switch name {
	case "year":
		return numberOf(int64(d.Year))
	case "month":
		return numberOf(int64(d.Month))
	case "day":
		return numberOf(int64(d.Day))
	case "weekday":
		return numberOf(int64((d.start().Weekday()+6)%7) + 1)
	}
	return nil
}

func (t Time) property(name string, at time.Time) Value {
	seconds := t.Nanos / nanosecond
	switch name {
	case "hour":
		return numberOf(seconds / 3600)
	case "minute":
		return numberOf(seconds / 60 % 60)
	case "second":
		return numberOf(seconds % 60)
	case "time offset":
		if t.Zone.local() {
			return nil
		}
		return DaysTime{Seconds: int64(t.Zone.offset(at))}
	case "timezone":
		if t.Zone.Name != "" {
			return String(t.Zone.Name)
		}
	}
	return nil
}

func (d DaysTime) property(name string) Value {
	switch name {
	case "days":
		return numberOf(d.Seconds / daySeconds)
	case "hours":
		return numberOf(d.Seconds / 3600 % 24)
	case "minutes":
		return numberOf(d.Seconds / 60 % 60)
	case "seconds":
		return DaysTime{Seconds: d.Seconds % 60, Nanos: d.Nanos}.number()
	}
	return nil
}

func (r Range) property(name string) Value {
	switch name {
	case "start":
		return r.Low
	case "end":
		return r.High
	case "start included":
		return Boolean(r.LowClosed)
	case "end included":
		return Boolean(r.HighClosed)
	}
	return nil
}
