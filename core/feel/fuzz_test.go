package feel_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/sutra-engine/sutra/core/feel"
)

func FuzzCompileEval(f *testing.F) {
	for _, source := range []string{
		`x > 3 and name = "Ada"`, `for i in 1..3 return i * partial[-1]`, `some o in orders satisfies o.price > 1`, `{a b: 1, c: a b + 1}.c`,
		`(function(a: number, b) a ** b)(b: 2, a: 3)`, `@"2024-02-29T10:00:00@Europe/Paris" + @"P1M"`, `5 in (>1, [2..3], ]1..2[)`,
		`if x between 1 and 2 then null else not(true)`, `[1,2,3][item > 1][-1] instance of list<number>`, `matches("a.b", "[a-z-[b]].", "x")`,
		`sort(orders, function(a, b) a.price < b.price)`, `string join(split("a;b", ";"), "-")`, "`x` /* c */ // d", `1E6000 ** -2.5`,
		`context put({a: {b: 1}}, ["a", "b"], 2)`, `-"\u00e9\U01F600"`, `duration("-P1DT2H3M4.5S") / 3`, `range("[1..3)")`,
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if unary, err := feel.CompileUnary(source); err == nil {
			run(t, unary)
		}
		e, err := feel.Compile(source)
		if err != nil {
			var syntax *feel.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Column < 1 {
				t.Fatalf("%q: error without position: %v", source, err)
			}
			return
		}
		first, second := run(t, e), run(t, e)
		if a, b := feel.Text(first), feel.Text(second); a != b {
			t.Fatalf("%q: got %s, then %s", source, a, b)
		}
	})
}

func run(t *testing.T, e *feel.Expression) feel.Value {
	t.Helper()
	env := env()
	env.Steps = 20_000
	v, err := e.Eval(env)
	var limit *feel.LimitError
	if err != nil && !errors.As(err, &limit) {
		t.Fatalf("%q: %v", e.Source(), err)
	}
	if _, err := feel.ToJSON(v); err == nil {
		feel.Equal(v, v)
	}
	return v
}

func FuzzFromJSON(f *testing.F) {
	for _, source := range []string{`{"a":[1,2.5e-3,"\u00e9\ud83d\ude00",null,true]}`, `-0`, `[[[]]]`, `{"a":{"a":{}}}`, ` "x" `, `1e400`} {
		f.Add([]byte(source))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := feel.FromJSON(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q was taken and is no JSON", data)
		}
		text, err := feel.ToJSON(v)
		if err != nil {
			t.Fatalf("%q: cannot be written: %v", data, err)
		}
		again, err := feel.FromJSON(text)
		if err != nil {
			t.Fatalf("%q: %s cannot be read: %v", data, text, err)
		}
		if equal, ok := feel.Equal(v, again); !equal || !ok {
			t.Fatalf("%q became %s", data, text)
		}
	})
}
