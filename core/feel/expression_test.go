package feel_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/feel"
)

var scope = feel.Context{
	"x":      feel.NumberOfInt(5),
	"name":   feel.String("Ada"),
	"orders": feel.List{feel.Context{"id": feel.NumberOfInt(1), "price": feel.NumberOfInt(30)}, feel.Context{"id": feel.NumberOfInt(2), "price": feel.NumberOfInt(7)}},
	"order":  feel.Context{"customer": feel.Context{"vip": feel.Boolean(true)}},
}

func env() feel.Env {
	return feel.Env{Scope: scope, Now: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)}
}

func evaluate(t *testing.T, source string) feel.Value {
	t.Helper()
	e, err := feel.Compile(source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	v, err := e.Eval(env())
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return v
}

func TestExpressionsEvaluateToTheirValue(t *testing.T) {
	for source, want := range map[string]string{
		`= 1 + 2 * 3`:                          `7`,
		`0.1 + 0.2`:                            `0.3`,
		`2 ** 10`:                              `1024`,
		`-2 ** 2`:                              `4`,
		`1 / 3`:                                `0.3333333333333333333333333333333333`,
		`1 / 0`:                                `null`,
		`"a" + "b"`:                            `ab`,
		`1 + "a"`:                              `null`,
		`x > 3 and name = "Ada"`:               `true`,
		`null and false`:                       `false`,
		`null or 1`:                            `null`,
		`if x > 3 then "big" else "small"`:     `big`,
		`order.customer.vip`:                   `true`,
		`orders[price > 10].id`:                `[1]`,
		`orders[1].price`:                      `30`,
		`orders[-1].price`:                     `7`,
		`sum(orders.price)`:                    `37`,
		`for o in orders return o.price * 2`:   `[60, 14]`,
		`for i in 3..1 return i`:               `[3, 2, 1]`,
		`some o in orders satisfies o.id = 2`:  `true`,
		`every o in orders satisfies o.id = 2`: `false`,
		`{a: 1, b: a + 1}.b`:                   `2`,
		`{first name: "x"}.first name`:         `x`,
		`(function(a, b) a * b)(3, 4)`:         `12`,
		`(function(a, b) a - b)(b: 3, a: 4)`:   `1`,
		`substring("hello", 2, 3)`:             `ell`,
		`substring(string: "hello", start position: -2)`: `lo`,
		`string(42.0)`:                                      `42`,
		`date("2024-01-31") + duration("P1M")`:              `2024-02-29`,
		`date and time("2024-01-31T10:00:00Z").time offset`: `PT0S`,
		`now()`:                              `2024-02-29T12:00:00Z`,
		`today()`:                            `2024-02-29`,
		`5 in [1..5)`:                        `false`,
		`5 in (1, [5..9])`:                   `true`,
		`x between 1 and 5`:                  `true`,
		`[1,2,3] instance of list<number>`:   `true`,
		`missing.thing`:                      `null`,
		"`name`":                             `Ada`,
		`]1..3[ = (1..3)`:                    `true`,
		`sort([3,1,2], function(a,b) a < b)`: `[1, 2, 3]`,
		`@"PT90M"`:                           `PT1H30M`,
	} {
		if got := feel.Text(evaluate(t, source)); got != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
}

func TestSyntaxErrorsSayWhere(t *testing.T) {
	for source, want := range map[string][2]int{
		"1 +":               {1, 4},
		"a >\n  5 foo":      {2, 5},
		`"open`:             {1, 1},
		"if x then 1":       {1, 12},
		"amount gt 5":       {1, 8},
		`1 + @"2024-02-30"`: {1, 6},
		`{a: 1, a: 2}`:      {1, 8},
		"order.total x":     {1, 13},
		`function(a) external {java: {class: "x"}}`: {1, 13},
		"ü §": {1, 3},
	} {
		_, err := feel.Compile(source)
		var syntax *feel.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != want[0] || syntax.Column != want[1] {
			t.Errorf("%q: got %v, want line %d, column %d", source, err, want[0], want[1])
		}
	}
}

func TestNamesAreTheFreeOnes(t *testing.T) {
	e, err := feel.Compile(`for i in items return i + rate * count(now()) + {a: 1, b: a}.b`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.Names(), []string{"items", "rate"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !e.Calls("now") || e.Calls("today") {
		t.Errorf("Calls: got now %v, today %v", e.Calls("now"), e.Calls("today"))
	}
}

func TestBudgetsEndRunawayEvaluations(t *testing.T) {
	for source, bound := range map[string]string{
		`for i in 1..1000 return for j in 1..100000 return i * j`:                                          "more steps",
		`{f: function(n) f(n + 1), r: f(1)}.r`:                                                             "constructs deep",
		`for i in 1..100000000 return i`:                                                                   "an iteration over more",
		`for i in 1..90000, j in 1..90000 return 1`:                                                        "a list of more",
		`count(for i in 0..99 return if i = 0 then "aaaaaaaaaaaaaaaaaaaa" else partial[-1] + partial[-1])`: "a string of more",
		`(for i in 0..200 return if i = 0 then [] else [partial[-1]])[-1] = []`:                            "levels",
	} {
		e, err := feel.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Eval(env())
		if limit, ok := errors.AsType[*feel.LimitError](err); !ok || !strings.Contains(limit.Limit, bound) {
			t.Errorf("%s: got %v, want a *LimitError of %q", source, err, bound)
		}
	}
}

func TestNestingOfASourceIsBounded(t *testing.T) {
	for _, source := range []string{
		strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
		strings.Repeat("-", 30000) + "1",
		strings.Repeat("[", 20000),
		strings.Repeat("if true then ", 3000),
		strings.Repeat(" ", 70000) + "1",
	} {
		if _, err := feel.Compile(source); err == nil {
			t.Errorf("compiled %.20q… of %d bytes", source, len(source))
		}
	}
}
