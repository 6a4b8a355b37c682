package feel

import "github.com/cockroachdb/apd/v3"

// numerics are the functions of DMN 1.5, 10.3.4.5, and not().
var numerics = definitions{
	"not(negand)":               unary(func(b Boolean) Value { return !b }),
	"decimal(n, scale)":         rounding(apd.RoundHalfEven),
	"floor(n, scale?)":          rounding(apd.RoundFloor),
	"ceiling(n, scale?)":        rounding(apd.RoundCeiling),
	"round up(n, scale)":        rounding(apd.RoundUp),
	"round down(n, scale)":      rounding(apd.RoundDown),
	"round half up(n, scale)":   rounding(apd.RoundHalfUp),
	"round half down(n, scale)": rounding(apd.RoundHalfDown),
	"abs(n)":                    absolute,
	"modulo(dividend, divisor)": remainder,
	"sqrt(number)":              function(stepsOfRoot, decimals.Sqrt),
	"log(number)":               function(stepsOfLog, decimals.Ln),
	"exp(number)":               exponential,
	"even(number)":              unary(func(n Number) Value { return n.divisible(2) }),
	"odd(number)":               unary(odd),
}

func rounding(rounder apd.Rounder) func(*machine, []Value) Value {
	return func(_ *machine, args []Value) Value {
		n, ok := as[Number](args[0])
		if !ok {
			return nil
		}
		scale := numberOf(0)
		if len(args) == 2 {
			if scale, ok = as[Number](args[1]); !ok {
				return nil
			}
		}
		return n.quantize(scale, rounder)
	}
}

func absolute(_ *machine, args []Value) Value {
	switch v := single(args[0]).(type) {
	case Number:
		if v.Decimal.Negative {
			return v.negate()
		}
		return v
	case DaysTime:
		if v.Seconds < 0 || v.Nanos < 0 {
			return DaysTime{Seconds: -v.Seconds, Nanos: -v.Nanos}
		}
		return v
	case YearsMonths:
		return YearsMonths(abs(int64(v)))
	}
	return nil
}

func remainder(m *machine, args []Value) Value {
	dividend, ok := as[Number](args[0])
	divisor, both := as[Number](args[1])
	if !ok || !both {
		return nil
	}
	m.weigh(dividend, divisor)
	return modulo(dividend, divisor)
}

// modulo is dividend - divisor*floor(dividend/divisor): it has the sign of the divisor.
func modulo(dividend, divisor Number) Value {
	if divisor.Decimal.IsZero() {
		return nil
	}
	rest, ok := calculate(func(d *apd.Decimal) (apd.Condition, error) {
		return decimals.Rem(d, dividend.Decimal, divisor.Decimal)
	}).(Number)
	if !ok {
		return nil
	}
	if !rest.Decimal.IsZero() && rest.Decimal.Negative != divisor.Decimal.Negative {
		return rest.add(divisor)
	}
	return rest
}

// function lifts an operation of the decimal context that has one operand, at a price.
func function(steps int, operation func(d, x *apd.Decimal) (apd.Condition, error)) func(*machine, []Value) Value {
	return func(m *machine, args []Value) Value {
		n, ok := as[Number](args[0])
		if !ok {
			return nil
		}
		m.spend(steps)
		return calculate(func(d *apd.Decimal) (apd.Condition, error) { return operation(d, n.Decimal) })
	}
}

// exponential refuses what would overflow before it is computed.
func exponential(m *machine, args []Value) Value {
	n, ok := as[Number](args[0])
	if !ok {
		return nil
	}
	if order := n.Decimal.NumDigits() + int64(n.Decimal.Exponent); order > 5 {
		if n.Decimal.Negative {
			return numberOf(0)
		}
		return nil
	}
	size, _ := n.whole()
	m.spend(stepsOfExp + 5*int(abs(size)))
	return calculate(func(d *apd.Decimal) (apd.Condition, error) { return decimals.Exp(d, n.Decimal) })
}

func (n Number) divisible(by int64) Value {
	rest, ok := modulo(n, numberOf(by)).(Number)
	if !ok {
		return nil
	}
	return Boolean(rest.Decimal.IsZero())
}

func odd(n Number) Value {
	rest, ok := modulo(n, numberOf(2)).(Number)
	if !ok {
		return nil
	}
	return Boolean(rest.Decimal.Cmp(apd.New(1, 0)) == 0)
}
