package feel

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on the machine having them
)

// ParseDate reads an ISO 8601 date, as XML Schema writes it.
func ParseDate(text string) (Date, error) {
	s := scanner{text: text}
	d, ok := s.date()
	if !ok || !s.done() {
		return Date{}, fmt.Errorf("feel: %q is not a date", text)
	}
	return d, nil
}

// ParseTime reads an ISO 8601 time of day, with an offset, an IANA zone after @, or neither.
func ParseTime(text string) (Time, error) {
	s := scanner{text: text}
	s.accept('T')
	t, ok := s.time()
	if !ok || !s.done() {
		return Time{}, fmt.Errorf("feel: %q is not a time", text)
	}
	return t, nil
}

// ParseDateTime reads an ISO 8601 date and time; a date alone is its midnight, without zone.
func ParseDateTime(text string) (DateTime, error) {
	s := scanner{text: text}
	d, ok := s.date()
	if ok && s.done() {
		return DateTime{Date: d}, nil
	}
	if ok && s.accept('T') {
		d, midnight := s.endOfDay(d)
		if t, ok := s.time(); ok && s.done() && (!midnight || t.Nanos == 0) {
			return DateTime{Date: d, Time: t}, nil
		}
	}
	return DateTime{}, fmt.Errorf("feel: %q is not a date and time", text)
}

// ParseDuration reads an ISO 8601 duration of days and time, of years and months, or of weeks. One that mixes months with days has
// no FEEL value and is refused.
func ParseDuration(text string) (Value, error) {
	s := scanner{text: text}
	negative := s.accept('-')
	if s.accept('P') {
		if weeks, ok := s.number(); ok && s.accept('W') && s.done() && weeks < math.MaxInt32 {
			return DaysTime{Seconds: signed(weeks*7*daySeconds, negative)}, nil
		}
	}
	if v := parseDuration(text); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("feel: %q is not a duration of days and time or of years and months", text)
}

func signed(n int64, negative bool) int64 {
	if negative {
		return -n
	}
	return n
}

// parseTemporal reads what an at-literal holds; null when it is none of them.
func parseTemporal(text string) Value {
	if d, err := ParseDate(text); err == nil {
		return d
	}
	if dt, err := ParseDateTime(text); err == nil {
		return dt
	}
	if t, err := ParseTime(text); err == nil {
		return t
	}
	return parseDuration(text)
}

// scanner reads the fixed forms of dates and times.
type scanner struct {
	text string
	pos  int
}

func (s *scanner) done() bool { return s.pos == len(s.text) }

func (s *scanner) accept(c byte) bool {
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() string {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.text[start:s.pos]
}

// number reads an unsigned whole number.
func (s *scanner) number() (int64, bool) {
	n, err := strconv.ParseInt(s.digits(), 10, 64)
	return n, err == nil
}

// pair reads two digits that are at most limit.
func (s *scanner) pair(limit int) (int, bool) {
	digits := s.digits()
	n, err := strconv.Atoi(digits)
	return n, err == nil && len(digits) == 2 && n <= limit
}

func (s *scanner) date() (Date, bool) {
	negative := s.accept('-')
	digits := s.digits()
	year, err := strconv.Atoi(digits)
	if err != nil || len(digits) < 4 || len(digits) > 9 || len(digits) > 4 && digits[0] == '0' || !s.accept('-') {
		return Date{}, false
	}
	d := Date{Year: int(signed(int64(year), negative))}
	var ok bool
	if d.Month, ok = s.pair(12); !ok || !s.accept('-') {
		return Date{}, false
	}
	if d.Day, ok = s.pair(31); !ok {
		return Date{}, false
	}
	return d, d.valid()
}

// endOfDay reads the hour 24, which XML Schema allows for the midnight that ends a day, as the hour 0 of the next.
func (s *scanner) endOfDay(d Date) (Date, bool) {
	if !strings.HasPrefix(s.text[s.pos:], "24:") {
		return d, false
	}
	s.text = s.text[:s.pos] + "00" + s.text[s.pos+2:]
	return dateOfDays(d.days() + 1), true
}

func (s *scanner) time() (Time, bool) {
	hour, ok := s.pair(23)
	if !ok || !s.accept(':') {
		return Time{}, false
	}
	minute, ok := s.pair(59)
	if !ok || !s.accept(':') {
		return Time{}, false
	}
	second, ok := s.pair(59)
	if !ok {
		return Time{}, false
	}
	t := Time{Nanos: int64(hour*3600+minute*60+second) * nanosecond}
	if s.accept('.') {
		nanos, ok := s.fraction()
		if !ok {
			return Time{}, false
		}
		t.Nanos += nanos
	}
	t.Zone, ok = s.zone()
	return t, ok
}

// fraction reads the digits after the point, in nanoseconds; finer ones are cut.
func (s *scanner) fraction() (int64, bool) {
	digits := s.digits()
	if digits == "" {
		return 0, false
	}
	nanos, err := strconv.ParseInt((digits + "00000000")[:9], 10, 64)
	return nanos, err == nil
}

func (s *scanner) zone() (Zone, bool) {
	switch {
	case s.done():
		return Zone{}, true
	case s.accept('Z'):
		return Zone{Known: true}, true
	case s.accept('@'):
		name := s.text[s.pos:]
		s.pos = len(s.text)
		if !validZone(name) {
			return Zone{}, false
		}
		return Zone{Name: name, Known: true}, true
	}
	negative := s.accept('-')
	if !negative && !s.accept('+') {
		return Zone{}, false
	}
	hour, ok := s.pair(18)
	if !ok || !s.accept(':') {
		return Zone{}, false
	}
	minute, ok := s.pair(59)
	second := 0
	if ok && s.accept(':') {
		second, ok = s.pair(59)
	}
	offset := hour*3600 + minute*60 + second
	if !ok || offset > 18*3600 {
		return Zone{}, false
	}
	return Zone{Offset: int(signed(int64(offset), negative)), Known: true}, true
}

func validZone(name string) bool {
	if name == "" || name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// parseDuration reads a duration as XML Schema 1.1 defines its two kinds; null for anything else.
func parseDuration(text string) Value {
	s := scanner{text: text}
	negative := s.accept('-')
	if !s.accept('P') || s.done() {
		return nil
	}
	mark := s.pos
	if months, ok := s.months(); ok {
		return YearsMonths(signed(months, negative))
	}
	s.pos = mark
	seconds, nanos, ok := s.daysTime()
	if !ok {
		return nil
	}
	return DaysTime{Seconds: signed(seconds, negative), Nanos: int32(signed(nanos, negative))}
}

func (s *scanner) months() (int64, bool) {
	total := int64(0)
	for _, unit := range []struct {
		letter byte
		months int64
	}{{'Y', 12}, {'M', 1}} {
		mark := s.pos
		n, ok := s.number()
		if !ok || !s.accept(unit.letter) {
			s.pos = mark
			continue
		}
		if n > math.MaxInt64/24 {
			return 0, false
		}
		total += n * unit.months
	}
	return total, s.done()
}

func (s *scanner) daysTime() (seconds, nanos int64, ok bool) {
	if s.text[s.pos] != 'T' {
		days, ok := s.number()
		if !ok || !s.accept('D') || days > math.MaxInt64/daySeconds/8 {
			return 0, 0, false
		}
		seconds = days * daySeconds
	}
	if s.done() {
		return seconds, 0, true
	}
	if !s.accept('T') || s.done() {
		return 0, 0, false
	}
	for _, unit := range []struct {
		letter  byte
		seconds int64
	}{{'H', 3600}, {'M', 60}, {'S', 1}} {
		mark := s.pos
		n, ok := s.number()
		if unit.letter == 'S' && ok && s.accept('.') {
			nanos, _ = s.fraction() // a point without digits is what the kit and Java take
		}
		if !ok || !s.accept(unit.letter) {
			s.pos, nanos = mark, 0
			continue
		}
		if n > math.MaxInt64/unit.seconds/8 {
			return 0, 0, false
		}
		seconds += n * unit.seconds
	}
	return seconds, nanos, s.done()
}

// String is the date as XML Schema writes it.
func (d Date) String() string {
	if d.Year < 0 {
		return fmt.Sprintf("-%04d-%02d-%02d", -d.Year, d.Month, d.Day)
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// String is the time as XML Schema writes it, a named zone after @.
func (t Time) String() string {
	seconds := t.Nanos / nanosecond
	text := fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	return text + fractionText(t.Nanos%nanosecond) + t.Zone.String()
}

func fractionText(nanos int64) string {
	if nanos == 0 {
		return ""
	}
	return "." + strings.TrimRight(fmt.Sprintf("%09d", nanos), "0")
}

// String is the offset, @ and the name, or nothing for local time.
func (z Zone) String() string {
	switch {
	case z.Name != "":
		return "@" + z.Name
	case !z.Known:
		return ""
	case z.Offset == 0:
		return "Z"
	}
	sign, offset := '+', z.Offset
	if offset < 0 {
		sign, offset = '-', -offset
	}
	text := fmt.Sprintf("%c%02d:%02d", sign, offset/3600, offset/60%60)
	if offset%60 != 0 {
		text += fmt.Sprintf(":%02d", offset%60)
	}
	return text
}

func (dt DateTime) String() string { return dt.Date.String() + "T" + dt.Time.String() }

// String is the duration in its canonical form: no unit beyond days, none that is zero.
func (d DaysTime) String() string {
	if d.Seconds == 0 && d.Nanos == 0 {
		return "PT0S"
	}
	var b strings.Builder
	if d.Seconds < 0 || d.Nanos < 0 {
		b.WriteByte('-')
		d = DaysTime{Seconds: -d.Seconds, Nanos: -d.Nanos}
	}
	b.WriteByte('P')
	if days := d.Seconds / daySeconds; days > 0 {
		fmt.Fprintf(&b, "%dD", days)
	}
	rest := d.Seconds % daySeconds
	if rest == 0 && d.Nanos == 0 {
		return b.String()
	}
	b.WriteByte('T')
	if hours := rest / 3600; hours > 0 {
		fmt.Fprintf(&b, "%dH", hours)
	}
	if minutes := rest / 60 % 60; minutes > 0 {
		fmt.Fprintf(&b, "%dM", minutes)
	}
	if seconds := rest % 60; seconds > 0 || d.Nanos > 0 {
		fmt.Fprintf(&b, "%d%sS", seconds, fractionText(int64(d.Nanos)))
	}
	return b.String()
}

// String is the duration in its canonical form.
func (m YearsMonths) String() string {
	if m == 0 {
		return "P0M"
	}
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	text := sign + "P"
	if m >= 12 {
		text += fmt.Sprintf("%dY", int64(m/12))
	}
	if m%12 != 0 {
		text += fmt.Sprintf("%dM", int64(m%12))
	}
	return text
}
