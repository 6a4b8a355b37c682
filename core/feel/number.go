package feel

import (
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// decimals is the arithmetic of FEEL: decimal128, half-even (DMN 1.5, 10.3.2.3.1). It is never changed.
var decimals = apd.Context{
	Precision:   34,
	MaxExponent: 6144,
	MinExponent: -6143,
	Rounding:    apd.RoundHalfEven,
	Traps:       apd.SystemOverflow | apd.SystemUnderflow | apd.Overflow | apd.DivisionUndefined | apd.DivisionByZero | apd.DivisionImpossible | apd.InvalidOperation,
}

// NumberOf makes a number of a decimal, rounded to 34 digits; a decimal that is not finite has none.
func NumberOf(d *apd.Decimal) (Number, bool) {
	var rounded apd.Decimal
	if _, err := decimals.Round(&rounded, d); err != nil || rounded.Form != apd.Finite {
		return Number{}, false
	}
	reduce(&rounded)
	return Number{&rounded}, true
}

// NumberOfInt makes a number of an integer.
func NumberOfInt(i int64) Number { return numberOf(i) }

func numberOf(i int64) Number {
	d := apd.New(i, 0)
	reduce(d)
	return Number{d}
}

// parseNumber reads a numeric literal exactly. More than 34 digits are refused.
func parseNumber(text string) (Number, bool) {
	if len(text) > maxNumberText {
		return Number{}, false
	}
	d, _, err := apd.NewFromString(text)
	if err != nil || d.Form != apd.Finite {
		return Number{}, false
	}
	d.Reduce(d)
	if d.NumDigits() > int64(decimals.Precision) {
		return Number{}, false
	}
	return NumberOf(d)
}

// maxNumberText bounds the text of one number: decimal128 written out in full is shorter.
const maxNumberText = 6200

// calculate applies an operation of the decimal context; what is not finite is null.
func calculate(operation func(result *apd.Decimal) (apd.Condition, error)) Value {
	var d apd.Decimal
	if _, err := operation(&d); err != nil || d.Form != apd.Finite {
		return nil
	}
	reduce(&d)
	return Number{&d}
}

// reduce cuts trailing zeros and the sign of zero. What is odd has none, and most long quotients are found so.
func reduce(d *apd.Decimal) {
	if d.Coeff.Bit(0) == 0 {
		d.Reduce(d)
	}
	if d.IsZero() {
		d.SetInt64(0)
	}
}

// weigh pays for bringing two numbers to one exponent, which is long work where they lie far apart.
func (m *machine) weigh(a, b Number) {
	spread := int(a.Decimal.Exponent) - int(b.Decimal.Exponent)
	m.spend(max(spread, -spread) / 10)
}

// Steps that transcendental functions cost, by measure: they are hundreds of times dearer than a sum.
const (
	stepsOfRoot  = 50
	stepsOfLog   = 2000
	stepsOfPower = 1000
	stepsOfExp   = 1000
)

// int answers the number when it is a whole one that an int holds.
func (n Number) int() (int, bool) {
	i, err := n.Decimal.Int64()
	return int(i), err == nil
}

// whole answers the number without its fraction when an int64 holds it.
func (n Number) whole() (int64, bool) {
	var d apd.Decimal
	truncating := decimals
	truncating.Rounding = apd.RoundDown
	if _, err := truncating.Quantize(&d, n.Decimal, 0); err != nil {
		return 0, false
	}
	i, err := d.Int64()
	return i, err == nil
}

// String is the number without exponent.
func (n Number) String() string { return n.Decimal.Text('f') }

func (n Number) add(o Number) Value {
	return calculate(func(d *apd.Decimal) (apd.Condition, error) { return decimals.Add(d, n.Decimal, o.Decimal) })
}

func (n Number) subtract(o Number) Value {
	return calculate(func(d *apd.Decimal) (apd.Condition, error) { return decimals.Sub(d, n.Decimal, o.Decimal) })
}

func (n Number) multiply(o Number) Value {
	return calculate(func(d *apd.Decimal) (apd.Condition, error) { return decimals.Mul(d, n.Decimal, o.Decimal) })
}

func (n Number) divide(o Number) Value {
	return calculate(func(d *apd.Decimal) (apd.Condition, error) { return decimals.Quo(d, n.Decimal, o.Decimal) })
}

func (n Number) power(o Number) Value {
	if o.Decimal.Exponent > 6 || o.Decimal.NumDigits()+int64(o.Decimal.Exponent) > 6 {
		return n.hugePower(o)
	}
	return calculate(func(d *apd.Decimal) (apd.Condition, error) { return decimals.Pow(d, n.Decimal, o.Decimal) })
}

// hugePower answers powers whose exponent is beyond a million: they are 0, 1, -1 or out of range.
func (n Number) hugePower(o Number) Value {
	var size apd.Decimal
	size.Abs(n.Decimal)
	one := apd.New(1, 0)
	switch order := size.Cmp(one); {
	case n.Decimal.IsZero() && !o.Decimal.Negative:
		return numberOf(0)
	case order == 0 && !n.Decimal.Negative:
		return numberOf(1)
	case order == 0:
		even := strings.ContainsRune("02468", rune(o.String()[len(o.String())-1]))
		if even {
			return numberOf(1)
		}
		return numberOf(-1)
	}
	return nil
}

func (n Number) negate() Value {
	return calculate(func(d *apd.Decimal) (apd.Condition, error) { return decimals.Neg(d, n.Decimal) })
}

// quantize rounds to a number of places after the point, or before it when negative.
func (n Number) quantize(places Number, rounding apd.Rounder) Value {
	scale, ok := wholeInt(places)
	if !ok || scale < -6111 || scale > 6176 {
		return nil
	}
	context := decimals
	context.Rounding = rounding
	if int(n.Decimal.Exponent) >= -scale {
		return n // there is nothing to round away
	}
	return calculate(func(d *apd.Decimal) (apd.Condition, error) { return context.Quantize(d, n.Decimal, int32(-scale)) })
}
