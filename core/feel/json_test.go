package feel_test

import (
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/feel"
)

func TestJSONKeepsNumbersExactlyAndKeysInOrder(t *testing.T) {
	for source, want := range map[string]string{
		`0.1`:       `0.1`,
		`1e3`:       `1000`,
		`42.0`:      `42`,
		`-0`:        `0`,
		`-0.0e5`:    `0`,
		`1E-7`:      `0.0000001`,
		`[ 1 , 2 ]`: `[1,2]`,
		`[]`:        `[]`,
		`{}`:        `{}`,
		`null`:      `null`,
		`{"b":1,"a":[true,false,null,{"x":"y"}]}`: `{"a":[true,false,null,{"x":"y"}],"b":1}`,
		`"2024-01-01"`:                         `"2024-01-01"`,
		`"\u00e9\ud83d\ude00\n\"\\\/\b\f\r\t"`: "\"é😀\\n\\\"\\\\/\\u0008\\u000c\\r\\t\"",
		`"<&>"`:                                `"<&>"`,
		`1234567890123456789012345678901234`:   `1234567890123456789012345678901234`,
	} {
		v, err := feel.FromJSON([]byte(source))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := feel.ToJSON(v); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", source, got, err, want)
		}
	}
}

func TestJSONRefusesWhatWouldBeChangedSilently(t *testing.T) {
	for _, source := range []string{
		`12345678901234567890123456789012345`, `0.12345678901234567890123456789012345`, `1e7000`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		"\"\xff\"", `"\ud800"`, `"\ud800\u0061"`, `"\udc00"`, `"\u12"`, `"\x"`, "\"a\nb\"", `"open`, `1 2`, `[1,]`, `{"a":1,}`, `{a:1}`, `{"a" 1}`,
		`01`, `1.`, `.5`, `+1`, `-`, `1e`, `NaN`, `Infinity`, `nul`, `truex`, ``, ` `, `[`, `{`, `]`,
		strings.Repeat("[", 151) + strings.Repeat("]", 151),
		strings.Repeat("[", 1_000_000),
	} {
		if v, err := feel.FromJSON([]byte(source)); err == nil {
			t.Errorf("%.40q: got %s, want an error", source, feel.Text(v))
		}
	}
}

func TestJSONWritesDatesAsTextAndRefusesFunctions(t *testing.T) {
	for source, want := range map[string]string{
		`date("2024-02-29")`:                         `"2024-02-29"`,
		`date and time("2024-02-29T10:00:00+02:00")`: `"2024-02-29T10:00:00+02:00"`,
		`time("10:00:00.5Z")`:                        `"10:00:00.5Z"`,
		`duration("P1DT2H")`:                         `"P1DT2H"`,
		`duration("P14M")`:                           `"P1Y2M"`,
		`[1..5)`:                                     `"[1..5)"`,
		`{d: [date("2024-02-29")]}`:                  `{"d":["2024-02-29"]}`,
	} {
		if got, err := feel.ToJSON(evaluate(t, source)); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", source, got, err, want)
		}
	}
	if got, err := feel.ToJSON(evaluate(t, `{f: function(x) x}`)); err == nil {
		t.Errorf("a function became %s", got)
	}
}
