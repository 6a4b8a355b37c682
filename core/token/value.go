package token

import (
	"fmt"
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"
	"github.com/fxamacker/cbor/v2"

	"github.com/sutra-engine/sutra/core/feel"
)

// Tags of values. Decimals have their own in RFC 8949; the rest are this format's.
const (
	tagDecimal     = 4
	tagDate        = 60001
	tagTime        = 60002
	tagDateTime    = 60003
	tagDaysTime    = 60004
	tagYearsMonths = 60005
	tagRange       = 60006
)

// boxed is a value as CBOR has it: nil, bool, string, []any, map[string]any, cbor.Tag.
type boxed = any

// box turns a value into what CBOR can hold. Functions cannot be stored.
func box(v feel.Value) (boxed, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case feel.Boolean:
		return bool(v), nil
	case feel.String:
		return string(v), nil
	case feel.Number:
		return boxNumber(v), nil
	case feel.Date:
		return cbor.Tag{Number: tagDate, Content: v.String()}, nil
	case feel.Time:
		return cbor.Tag{Number: tagTime, Content: v.String()}, nil
	case feel.DateTime:
		return cbor.Tag{Number: tagDateTime, Content: v.String()}, nil
	case feel.DaysTime:
		return cbor.Tag{Number: tagDaysTime, Content: []any{v.Seconds, int64(v.Nanos)}}, nil
	case feel.YearsMonths:
		return cbor.Tag{Number: tagYearsMonths, Content: int64(v)}, nil
	case feel.List:
		return boxList(v)
	case feel.Context:
		return boxContext(v)
	case feel.Range:
		ends, err := boxList(feel.List{v.Low, v.High, feel.Boolean(v.LowClosed), feel.Boolean(v.HighClosed)})
		return cbor.Tag{Number: tagRange, Content: ends}, err
	}
	return nil, fmt.Errorf("a %s cannot be stored", v.Kind())
}

func boxNumber(n feel.Number) boxed {
	if n.Decimal.Coeff.IsInt64() {
		short := n.Decimal.Coeff.Int64()
		if n.Decimal.Negative {
			short = -short
		}
		return cbor.Tag{Number: tagDecimal, Content: []any{int64(n.Decimal.Exponent), short}}
	}
	coefficient := n.Decimal.Coeff.MathBigInt()
	if n.Decimal.Negative {
		coefficient.Neg(coefficient)
	}
	return cbor.Tag{Number: tagDecimal, Content: []any{int64(n.Decimal.Exponent), *coefficient}}
}

func boxList(l feel.List) ([]any, error) {
	out := make([]any, len(l))
	for i, v := range l {
		b, err := box(v)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

func boxContext(c feel.Context) (map[string]any, error) {
	if len(c) == 0 {
		return map[string]any{}, nil
	}
	out := make(map[string]any, len(c))
	for k, v := range c {
		b, err := box(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = b
	}
	return out, nil
}

// unbox turns what CBOR held into a value.
func unbox(b boxed) (feel.Value, error) {
	switch b := b.(type) {
	case nil:
		return nil, nil
	case bool:
		return feel.Boolean(b), nil
	case string:
		return feel.String(b), nil
	case []any:
		return unboxList(b)
	case map[string]any:
		return unboxContext(b)
	case cbor.Tag:
		return unboxTag(b)
	}
	return nil, fmt.Errorf("%T is no value", b)
}

func unboxList(items []any) (feel.List, error) {
	out := make(feel.List, len(items))
	for i, item := range items {
		v, err := unbox(item)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func unboxContext(m map[string]any) (feel.Context, error) {
	if m == nil {
		return nil, nil
	}
	out := make(feel.Context, len(m))
	for k, item := range m {
		v, err := unbox(item)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}

func unboxTag(t cbor.Tag) (feel.Value, error) {
	switch t.Number {
	case tagDecimal:
		return unboxNumber(t.Content)
	case tagDaysTime:
		parts, err := integers(t.Content, 2)
		if err != nil || parts[1] < math.MinInt32 || parts[1] > math.MaxInt32 {
			return nil, fmt.Errorf("no duration: %w", err)
		}
		return feel.DaysTime{Seconds: parts[0], Nanos: int32(parts[1])}, nil
	case tagYearsMonths:
		months, err := integers([]any{t.Content}, 1)
		if err != nil {
			return nil, err
		}
		return feel.YearsMonths(months[0]), nil
	case tagRange:
		return unboxRange(t.Content)
	}
	text, ok := t.Content.(string)
	if !ok {
		return nil, fmt.Errorf("tag %d holds no text", t.Number)
	}
	switch t.Number {
	case tagDate:
		return storedValue(feel.ParseDate(text))
	case tagTime:
		return storedValue(feel.ParseTime(text))
	case tagDateTime:
		return storedValue(feel.ParseDateTime(text))
	}
	return nil, fmt.Errorf("tag %d is no value", t.Number)
}

func storedValue[V feel.Value](v V, err error) (feel.Value, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func unboxNumber(content any) (feel.Value, error) {
	parts, ok := content.([]any)
	if !ok || len(parts) != 2 {
		return nil, fmt.Errorf("a decimal has two parts")
	}
	exponent, err := integers(parts[:1], 1)
	if err != nil || exponent[0] < math.MinInt32 || exponent[0] > math.MaxInt32 {
		return nil, fmt.Errorf("a decimal's exponent is too large")
	}
	coefficient := new(big.Int)
	switch m := parts[1].(type) {
	case uint64:
		coefficient.SetUint64(m)
	case int64:
		coefficient.SetInt64(m)
	case big.Int:
		coefficient.Set(&m)
	default:
		return nil, fmt.Errorf("%T is no coefficient", m)
	}
	decimal := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(coefficient), int32(exponent[0]))
	n, ok := feel.NumberOf(decimal)
	if !ok {
		return nil, fmt.Errorf("a decimal has more digits than FEEL")
	}
	return n, nil
}

func unboxRange(content any) (feel.Value, error) {
	parts, ok := content.([]any)
	if !ok || len(parts) != 4 {
		return nil, fmt.Errorf("a range has four parts")
	}
	ends, err := unboxList(parts[:2])
	if err != nil {
		return nil, err
	}
	low, lowOK := parts[2].(bool)
	high, highOK := parts[3].(bool)
	if !lowOK || !highOK {
		return nil, fmt.Errorf("a range's ends are open or closed")
	}
	return feel.Range{Low: ends[0], High: ends[1], LowClosed: low, HighClosed: high}, nil
}

// integers reads n whole numbers that fit 64 bits with a sign.
func integers(content any, n int) ([]int64, error) {
	parts, ok := content.([]any)
	if !ok || len(parts) != n {
		return nil, fmt.Errorf("want %d whole numbers", n)
	}
	out := make([]int64, n)
	for i, p := range parts {
		switch p := p.(type) {
		case int64:
			out[i] = p
		case uint64:
			if p > math.MaxInt64 {
				return nil, fmt.Errorf("%d is too large", p)
			}
			out[i] = int64(p)
		default:
			return nil, fmt.Errorf("%T is no whole number", p)
		}
	}
	return out, nil
}
