package feel_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/feel"
)

// holds checks sources against the text of their values.
func holds(t *testing.T, table map[string]string) {
	t.Helper()
	for source, want := range table {
		if got := feel.Text(evaluate(t, source)); got != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
}

func TestLogicHasThreeValues(t *testing.T) {
	holds(t, map[string]string{
		`true and null`: `null`, `null and true`: `null`, `false and null`: `false`, `null and null`: `null`, `"a" and true`: `null`,
		`true or null`: `true`, `null or false`: `null`, `false or false`: `false`, `1 or true`: `true`,
		`not(null)`: `null`, `not(true)`: `false`, `not("a")`: `null`,
		`["a"] = [1]`: `false`, `{a: 1} = {a: "1"}`: `false`, `[1..2] = ["a".."b"]`: `false`, `list contains(["a"], 1)`: `false`,
		`null = null`: `true`, `null != 1`: `true`, `1 = "1"`: `null`, `1 < "2"`: `null`, `null < 1`: `null`,
		`if null then 1 else 2`: `2`, `if "x" then 1 else 2`: `2`,
		`some x in [null, true] satisfies x`: `true`, `some x in [null, false] satisfies x`: `null`,
		`every x in [null, true] satisfies x`: `null`, `every x in [null, false] satisfies x`: `false`,
		`some x in [] satisfies x`: `false`, `every x in [] satisfies x`: `true`,
		`all([true, null])`: `null`, `any([true, null])`: `true`, `all([])`: `true`, `any([])`: `false`,
	})
}

func TestNumbersAreExactDecimals(t *testing.T) {
	holds(t, map[string]string{
		`0.1 + 0.2 = 0.3`: `true`, `1.10`: `1.1`, `100 * 1.00`: `100`, `-0`: `0`, `1e3`: `1000`, `1.5E-3`: `0.0015`, `.5`: `0.5`,
		`2/3`: `0.6666666666666666666666666666666667`, `1/0`: `null`, `9999999999999999999999999999999999 + 1`: `10000000000000000000000000000000000`,
		`1E6144 * 10`: `null`, `2 ** -1`: `0.5`, `2 ** 3 ** 2`: `64`, `-3 ** 2`: `9`, `0 ** 0`: `null`, `10 - 2 - 3`: `5`, `2 + 3 * 4`: `14`, `[2] + 1`: `null`,
		`decimal(2.5, 0)`: `2`, `decimal(3.5, 0)`: `4`, `decimal(1234.5678, -2)`: `1200`, `round half up(2.5, 0)`: `3`, `round half up(-2.5, 0)`: `-3`,
		`round half down(2.5, 0)`: `2`, `round up(1.121, 2)`: `1.13`, `round down(-1.129, 2)`: `-1.12`, `floor(-1.5)`: `-2`, `ceiling(-1.5)`: `-1`,
		`floor(1.567, 2)`: `1.56`, `modulo(-12, 5)`: `3`, `modulo(12, -5)`: `-3`, `modulo(10.1, 4.5)`: `1.1`, `modulo(1, 0)`: `null`,
		`sqrt(16)`: `4`, `sqrt(-1)`: `null`, `log(0)`: `null`, `abs(-5)`: `5`, `odd(-1)`: `true`, `even(0)`: `true`, `even(1.5)`: `false`, `odd(1.5)`: `false`,
		`number("1 000,5", " ", ",")`: `1000.5`, `number("1.000,5", ".", ",")`: `1000.5`, `number("1,5", ",", ",")`: `null`, `number("x")`: `null`,
		`number("Infinity")`: `null`, `string(1000000000000000000000)`: `1000000000000000000000`, `string(0.0000001)`: `0.0000001`,
	})
	if _, err := feel.Compile(`12345678901234567890123456789012345`); err == nil {
		t.Error("a literal of 35 digits was rounded silently")
	}
}

func TestStringsCountCodePoints(t *testing.T) {
	holds(t, map[string]string{
		`string length("\U01F40Eab")`: `3`, `substring("\U01F40Eab", 1, 1)`: `🐎`, `substring("abc", -2)`: `bc`, `substring("abc", 0)`: `null`,
		`substring("abc", 4)`: `null`, `"\u00e9"`: `é`, `"a\"b\\c\'d\te"`: "a\"b\\c'd\te", `"\d"`: `\d`, `"\ud83d\ude00"`: `😀`,
		`upper case("é")`: `É`, `contains("abc", "")`: `true`, `starts with("abc", "ab")`: `true`, `ends with("abc", "bc")`: `true`,
		`substring before("a-b-c", "-")`: `a`, `substring before("abc", "x")`: ``, `substring after("a-b-c", "-")`: `b-c`, `substring after("abc", "x")`: ``,
		`replace("abcd", "(ab)|(a)", "[1=$1][2=$2]")`: `[1=ab][2=]cd`, `replace("a.b", "\\.", "\\$")`: `a$b`, `replace("abc", "x*", "-")`: `null`,
		`replace("abc", "[", "-")`: `null`, `matches("foobar", "^fo*b")`: `true`, `matches("A", "a", "i")`: `true`, `matches("a", "a", "z")`: `null`,
		`matches("e", "[a-z-[aeiou]]")`: `false`, `matches("f", "[a-z-[aeiou]]")`: `true`, `matches("a\nb", "a.b")`: `false`, `matches("a\nb", "a.b", "s")`: `true`,
		`matches("aa", "(a)\\1")`: `null`, `split("a;b;;c", ";")`: `["a", "b", "", "c"]`, `string join(["a", null, "b"], "-")`: `a-b`,
		`string join(["a"], "-", "<", ">")`: `<a>`, `string(null)`: `null`, `string([1, "a", {b: @"2024-01-01"}])`: `[1, "a", {b: 2024-01-01}]`, `"a" + null`: `null`,
	})
}

func TestListsKeepTheirOrder(t *testing.T) {
	holds(t, map[string]string{
		`[1,2,3][2]`: `2`, `[1,2,3][-1]`: `3`, `[1,2,3][0]`: `null`, `[1,2,3][4]`: `null`, `5[1]`: `5`, `null[1]`: `null`, `[][item > 1]`: `[]`,
		`[1,2,3,4][item > 2]`: `[3, 4]`, `[{item: 1}][item = 1]`: `[{item: 1}]`, `[{a: 1}, {a: 2}].a`: `[1, 2]`, `[{a: 1}, {b: 2}].a`: `[1, null]`,
		`min(3, 1, 2)`: `1`, `max(["a", "c", "b"])`: `c`, `min([])`: `null`, `sum([])`: `null`, `mean(1, 2)`: `1.5`, `sum([@"PT1H", @"PT30M"])`: `PT1H30M`,
		`count([])`: `0`, `sublist([1,2,3], -2, 1)`: `[2]`, `append([1], 2, 3)`: `[1, 2, 3]`, `concatenate([1], [2, 3])`: `[1, 2, 3]`,
		`insert before([1, 3], 2, 2)`: `[1, 2, 3]`, `remove([1, 2], -1)`: `[1]`, `reverse([1, 2])`: `[2, 1]`, `index of([1, 2, 1], 1)`: `[1, 3]`,
		`union([1, 2], [2, 3])`: `[1, 2, 3]`, `distinct values([1, 1.0, "1", null, null])`: `[1, "1", null]`, `flatten([[1, [2]], 3])`: `[1, 2, 3]`,
		`product([2, 3])`: `6`, `median([8, 2, 5, 3, 4])`: `4`, `median([6, 1, 2, 3])`: `2.5`, `stddev([2, 4, 7, 5])`: `2.081665999466132735282297706979931`,
		`mode([6, 3, 9, 6, 6])`: `[6]`, `mode([6, 1, 9, 6, 1])`: `[1, 6]`, `mode([])`: `[]`, `list contains([1, null], null)`: `true`,
		`sort([3, 1, 2], function(a, b) a > b)`: `[3, 2, 1]`, `sort(["b", "a"])`: `["a", "b"]`, `sort([1, "a"])`: `null`,
		`list replace([1, 2, 3], 2, 9)`: `[1, 9, 3]`, `list replace([1, 2, 3], function(i, n) i > 1, 9)`: `[1, 9, 9]`,
		`for x in [1, 2], y in [x, 10] return x * y`: `[1, 10, 4, 20]`, `for i in 0..4 return if i = 0 then 1 else i * partial[-1]`: `[1, 1, 2, 6, 24]`,
		`for d in @"2024-02-28"..@"2024-03-01" return d.day`: `[28, 29, 1]`, `for i in (1..4) return i`: `[2, 3]`, `for i in null return i`: `null`,
	})
}

func TestDatesFollowTheCalendar(t *testing.T) {
	holds(t, map[string]string{
		`date("2024-02-30")`: `null`, `date("2023-02-29")`: `null`, `date("24-01-01")`: `null`, `date(2024, 2, 29)`: `2024-02-29`, `date("-0044-03-15").year`: `-44`,
		`date("999999999-12-31")`: `999999999-12-31`, `date("999999999-12-31") + @"P1D"`: `null`,
		`@"2024-01-31" + @"P1M"`: `2024-02-29`, `@"2024-02-29" + @"P1Y"`: `2025-02-28`, `@"2024-03-31" - @"P1M"`: `2024-02-29`, `@"P1M" + @"2024-01-31"`: `2024-02-29`,
		`@"2024-03-01" - @"2024-02-28"`: `P2D`, `@"2024-01-01" + @"PT36H"`: `2024-01-02`, `@"2024-01-01" < @"2024-01-02"`: `true`,
		`@"2024-03-31T01:30:00@Europe/Berlin" + @"PT1H"`:         `2024-03-31T03:30:00@Europe/Berlin`,
		`@"2024-03-31T00:30:00Z" = @"2024-03-31T02:30:00+02:00"`: `true`, `@"2024-03-31T00:30:00" = @"2024-03-31T00:30:00Z"`: `null`,
		`@"2024-07-01T12:00:00@Europe/Paris".time offset`: `PT2H`, `@"2024-07-01T12:00:00@Europe/Paris".timezone`: `Europe/Paris`,
		`@"2024-02-29".weekday`: `4`, `day of week(@"2024-02-29")`: `Thursday`, `month of year(@"2024-02-29")`: `February`, `day of year(@"2024-12-31")`: `366`,
		`week of year(@"2005-01-01")`: `53`, `time("10:30:00+01:00") - time("10:30:00Z")`: `-PT1H`, `@"23:30:00" + @"PT1H"`: `00:30:00`,
		`time(10, 30, 15.5, @"PT1H")`: `10:30:15.5+01:00`, `date and time(@"2024-02-29", @"10:00:00")`: `2024-02-29T10:00:00`,
		`date and time("2024-02-29T24:00:00")`: `2024-03-01T00:00:00`, `time("24:00:00")`: `null`, `date and time("2024-02-29T10:00:00@Nowhere/City")`: `null`,
		`is(@"10:00:00Z", @"10:00:00+00:00")`: `true`, `is(@"10:00:00Z", @"11:00:00+01:00")`: `false`,
		`now() - @"2024-02-29T11:00:00Z"`: `PT1H`, `today() + @"P1D"`: `2024-03-01`,
	})
}

func TestDurationsOfTwoKindsDoNotMix(t *testing.T) {
	holds(t, map[string]string{
		`@"P1Y" + @"P1M"`: `P1Y1M`, `@"P1Y" + @"P1D"`: `null`, `@"P1Y" = @"P12M"`: `true`, `@"P1D" = @"PT24H"`: `true`, `@"P0D" = @"P0Y"`: `null`, `duration("P1Y2D")`: `null`,
		`@"P1D" * 1.5`: `P1DT12H`, `@"P1Y" / 5`: `P2M`, `@"PT1H" / @"PT15M"`: `4`, `-@"P1D"`: `-P1D`, `abs(@"-PT1S")`: `PT1S`, `@"-PT0S"`: `PT0S`, `@"P0Y"`: `P0M`,
		`@"P1DT2H3M4.5S".seconds`: `4.5`, `@"-P400D".days`: `-400`, `@"P14M".years`: `1`, `@"P14M".months`: `2`, `duration("P")`: `null`, `duration("PT")`: `null`, `duration("P1W")`: `null`,
		`years and months duration(@"2011-12-22", @"2013-08-24")`: `P1Y8M`, `years and months duration(@"2013-08-24", @"2011-12-25")`: `-P1Y7M`,
	})
}

func TestRangesHoldAndRelate(t *testing.T) {
	holds(t, map[string]string{
		`5 in [1..5]`: `true`, `5 in ]1..5[`: `false`, `"b" in ["a".."c"]`: `true`, `1 in [2..1]`: `null`, `[2..1]`: `null`, `[1.."a"]`: `null`,
		`5 in (> 3)`: `true`, `5 in (1, 2)`: `false`, `[1..3] = [1..3]`: `true`, `[1..3].start included`: `true`, `(< 5).end`: `5`, `range("[1..3)") = [1..3)`: `true`,
		`before(1, [2..3])`: `true`, `overlaps([1..3], [2..5])`: `true`, `meets([1..3], [3..5])`: `true`, `includes([1..3], 2)`: `true`, `during(2, [1..3])`: `true`,
		`starts([1..2], [1..3])`: `true`, `finishes(3, [1..3])`: `true`, `coincides([1..2], [1..2])`: `true`, `before("a", 1)`: `null`,
	})
}

func TestContextsSeeWhatStandsBefore(t *testing.T) {
	holds(t, map[string]string{
		`{a: 1, b: a + 1}.b`: `2`, `{b: a, a: 1}.b`: `null`, `{"a b": 1}.a b`: `1`, `{a: {b: 1}}.a.b`: `1`, `{}.a`: `null`, `1.a`: `null`,
		`get value({a: 1}, "a")`: `1`, `get entries({b: 2, a: 1})[1].key`: `a`, `context([{key: "a", value: 1}])`: `{a: 1}`, `context put({a: 1}, "b", 2)`: `{a: 1, b: 2}`,
		`context put({a: {b: 1}}, ["a", "b"], 2)`: `{a: {b: 2}}`, `context merge([{a: 1}, {a: 2, b: 3}])`: `{a: 2, b: 3}`,
		`{f: function(n) if n < 2 then 1 else n * f(n - 1), r: f(5)}.r`: `120`,
		`{a: 1, f: function() a, g: {a: 2, r: f()}.r}.g`:                `1`,
	})
}

func TestTypesAreCheckedWithTheirParts(t *testing.T) {
	holds(t, map[string]string{
		`1 instance of number`: `true`, `null instance of Any`: `false`, `null instance of Null`: `true`, `[1, 2] instance of list<number>`: `true`,
		`[1, "a"] instance of list<number>`: `false`, `{a: 1} instance of context<a: number>`: `true`, `{a: 1} instance of context<b: number>`: `false`,
		`[1..2] instance of range<number>`: `true`, `@"P1D" instance of days and time duration`: `true`, `@"P1Y" instance of years and months duration`: `true`,
		`@"2024-01-01T00:00:00" instance of date and time`: `true`, `(function(a: number) a) instance of function<number> -> number`: `true`,
		`(function(a: number) a)("x")`: `null`, `(function(a: list<number>) a)(1)`: `[1]`, `(function(a: number) a)([1])`: `1`,
		`(function(a: date and time) a)(@"2024-01-01")`: `2024-01-01T00:00:00Z`, `(function(a) a)()`: `null`, `(function(a) a)(1, 2)`: `null`, `(function(a) a)(b: 1)`: `null`,
		`missing(1)`: `null`, `"abs"(1)`: `null`,
	})
}

func TestUnaryTestsReadTheirInput(t *testing.T) {
	for _, c := range []struct {
		tests string
		input feel.Value
		want  string
	}{
		{`-`, nil, `true`},
		{`5`, feel.NumberOfInt(5), `true`},
		{`< 5`, feel.NumberOfInt(5), `false`},
		{`1, 5, 7`, feel.NumberOfInt(5), `true`},
		{`not(1, 5)`, feel.NumberOfInt(5), `false`},
		{`not(1)`, feel.NumberOfInt(5), `true`},
		{`[1..5)`, feel.NumberOfInt(5), `false`},
		{`(1..9), 3`, feel.NumberOfInt(5), `true`},
		{`? > 3 and ? < 9`, feel.NumberOfInt(5), `true`},
		{`odd(?)`, feel.NumberOfInt(5), `true`},
		{`[4, 5]`, feel.NumberOfInt(5), `true`},
		{`"a", "b"`, feel.String("b"), `true`},
		{`null`, nil, `true`},
		{`> 1`, nil, `null`},
		{`> "a"`, feel.NumberOfInt(5), `null`},
		{`true`, feel.Boolean(true), `true`},
		{`false`, feel.Boolean(false), `true`},
		{`x`, feel.NumberOfInt(5), `true`},
		{`> x`, feel.NumberOfInt(6), `true`},
		{`contains(?, "d")`, feel.String("Ada"), `true`},
		{`!= 5`, feel.NumberOfInt(5), `false`},
	} {
		e, err := feel.CompileUnary(c.tests)
		if err != nil {
			t.Errorf("%s: %v", c.tests, err)
			continue
		}
		got, err := e.Eval(feel.Env{Scope: feel.Context{"?": c.input, "x": feel.NumberOfInt(5)}})
		if err != nil || feel.Text(got) != c.want {
			t.Errorf("%s with %s: got %s, %v, want %s", c.tests, feel.Text(c.input), feel.Text(got), err, c.want)
		}
	}
}

func TestKnownNamesMayHaveSeveralWords(t *testing.T) {
	names := []string{"Full Name", "Fee-Total", "Applicant's age", "a", "a b", "date and place", "order"}
	scope := feel.Context{
		"Full Name": feel.String("Ada"), "Fee-Total": feel.NumberOfInt(7), "Applicant's age": feel.NumberOfInt(40), "a": feel.NumberOfInt(1),
		"a b": feel.NumberOfInt(2), "date and place": feel.String("here"), "order": feel.Context{"Full Name": feel.String("Bob")},
	}
	for source, want := range map[string]string{
		`Full  Name + "!"`: `Ada!`, `Fee-Total - 1`: `6`, `Applicant's age + a`: `41`, `a b + a`: `3`, `date and place`: `here`, `order.Full Name`: `Bob`,
		`for each one in [1] return each one + a b`: `[3]`, `[order][Full Name = "Bob"].Full Name`: `["Bob"]`, `date and time("2024-01-01T00:00:00").year`: `2024`,
	} {
		e, err := feel.CompileNames(source, names)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := e.Eval(feel.Env{Scope: scope}); err != nil || feel.Text(got) != want {
			t.Errorf("%s: got %s, %v, want %s", source, feel.Text(got), err, want)
		}
	}
}

func TestFunctionsSeeTheScopeOfTheirDefinition(t *testing.T) {
	definition, err := feel.Compile(`function(b) a * b`)
	if err != nil {
		t.Fatal(err)
	}
	fn, err := definition.Eval(feel.Env{Scope: feel.Context{"a": feel.NumberOfInt(10)}})
	if err != nil {
		t.Fatal(err)
	}
	call, err := feel.Compile(`f(2)`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := call.Eval(feel.Env{Scope: feel.Context{"f": fn, "a": feel.NumberOfInt(99)}})
	if err != nil || feel.Text(got) != "20" {
		t.Errorf("got %s, %v, want 20", feel.Text(got), err)
	}
}

func TestValuesThatHoldOneAnotherOverAndOverAreMeasured(t *testing.T) {
	var source strings.Builder
	source.WriteString(`{a0: [1, 1]`)
	names := "abcdefghijklmnopqrstuvwxyz"
	for i := range 40 {
		source.WriteString(`, ` + string(names[(i+1)%26]) + string(rune('0'+(i+1)/26)) + `: [`)
		previous := string(names[i%26]) + string(rune('0'+i/26))
		source.WriteString(previous + `, ` + previous + `]`)
	}
	for _, use := range []string{`string(o1)`, `o1 = o1`, `o1`, `o1 instance of list<list<Any>>`} {
		e, err := feel.Compile(source.String() + `, r: ` + use + `}.r`)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if v, err := e.Eval(env()); err == nil {
			t.Errorf("%s: got %.40s, want a *LimitError", use, feel.Text(v))
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %v", use, took)
		}
	}
}

func TestNestedInTestsCompileInLinearTime(t *testing.T) {
	began := time.Now()
	for _, source := range []string{strings.Repeat("1 in (", 140), strings.Repeat("1 in (", 100) + "1" + strings.Repeat(")", 100), strings.Repeat("]1..a[", 100)} {
		_, _ = feel.Compile(source) // compiling or refusing it is as good
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestDurationsAddToInstantsByTheCalendar(t *testing.T) {
	from := time.Date(2024, 1, 31, 10, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"P1M": "2024-02-29T09:00:00Z", "P1Y": "2025-01-31T09:00:00Z", "PT90M": "2024-01-31T10:30:00Z", "P2W": "2024-02-14T09:00:00Z", "-P1D": "2024-01-30T09:00:00Z",
		"PT0.5S": "2024-01-31T09:00:00.5Z",
	} {
		d, err := feel.ParseDuration(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := feel.AddDuration(from, d)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: got %s, %v, want %s", text, got.Format(time.RFC3339Nano), err, want)
		}
	}
	for _, text := range []string{"", "P", "PT", "1D", "P1M2D", "P1", "PT1D", "P99999999999999999999D"} {
		if d, err := feel.ParseDuration(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, feel.Text(d))
		}
	}
	if _, err := feel.AddDuration(from, feel.String("P1D")); err == nil {
		t.Error("a string was added to an instant")
	}
}

func TestFunctionsThatToolsKnowBeyondTheStandard(t *testing.T) {
	holds(t, map[string]string{
		`get or else(null, 1)`: `1`, `get or else(2, 1)`: `2`, `is defined(x)`: `true`, `is defined(nothing)`: `false`, `is defined(order.customer)`: `true`,
		`is defined(order.nobody)`: `false`, `is defined({a: null}.a)`: `true`, `is empty([])`: `true`, `is blank(" ")`: `true`, `is blank("a")`: `false`,
		`trim(" a b ")`: `a b`, `to base64("FEEL")`: `RkVFTA==`, `extract("a1 b22", "[0-9]+")`: `["1", "22"]`, `duplicate values([1, 2, 1, null, null])`: `[1, null]`,
		`partition([1, 2, 3], 2)`: `[[1, 2], [3]]`, `partition([1], 0)`: `null`, `last day of month(@"2024-02-03")`: `2024-02-29`,
	})
}

func TestEdgesOfTheLibrary(t *testing.T) {
	holds(t, map[string]string{
		`1 ** 10000000`: `1`, `(-1) ** 10000001`: `-1`, `(-1) ** 10000000`: `1`, `2 ** 10000000`: `null`, `0 ** 10000000`: `0`,
		`exp(0)`: `1`, `exp(1000000)`: `null`, `exp(-1000000)`: `0`, `abs(@"-P1Y")`: `P1Y`, `decimal(1, 10000)`: `null`,
		`overlaps before([1..3], [2..5])`: `true`, `overlaps before([1..5], [2..3])`: `false`, `overlaps after([2..5], [1..3])`: `true`, `overlaps([1..2], [3..4])`: `false`,
		`starts([1..2), (1..3])`: `false`, `finishes((1..3), [1..3])`: `false`, `met by([3..5], [1..3])`: `true`, `after([3..4], [1..2])`: `true`,
		`date and time(2024, 2, 29, 10, 30, 0)`: `2024-02-29T10:30:00`, `date and time(2024, 2, 29, 10, 30, 0, @"PT1H")`: `2024-02-29T10:30:00+01:00`,
		`date and time(@"2024-02-29")`: `2024-02-29T00:00:00Z`, `date(@"2024-02-29T10:00:00")`: `2024-02-29`, `time(@"2024-02-29T10:00:00Z")`: `10:00:00Z`,
		`date(year: 2024, month: 2, day: 29)`: `2024-02-29`, `@"10:30:15".minute`: `30`, `@"10:30:15+02:00".time offset`: `PT2H`, `@"10:30:15".time offset`: `null`,
		`@"10:00:00Z" < @"11:00:00+02:00"`: `false`, `@"10:00:00" < @"11:00:00Z"`: `null`, `is(@"2024-02-29T10:00:00Z", @"2024-02-29T10:00:00Z")`: `true`, `is(1, "1")`: `false`,
		`range("[date(\"2024-01-01\")..@\"2024-01-02\"]").end`: `2024-01-02`, `range("[\"a\"..\"b\")").start`: `a`, `range("[-1..2]").start`: `-1`, `range("[now()..now()]")`: `null`,
		`append(null, 1)`: `[null, 1]`, `[< 5, > 3][1].end`: `5`, `sort(5)`: `[5]`, `5.5.a`: `null`,
		`matches("a1", "\\i\\c")`: `true`, `matches("é", "\\p{IsBasicLatin}")`: `false`, `matches("x", "\\p{L}")`: `true`, `matches("a.b", ".", "q")`: `true`, `matches("a", "(?i)A")`: `null`,
	})
}

func TestGivenFunctionsShareBudgetAndErrors(t *testing.T) {
	failure := errors.New("refused")
	double := feel.NewFunction("double", []feel.Parameter{{Name: "n", Type: feel.Type{Kind: feel.KindNumber}}}, feel.Type{}, func(env feel.Env, args []feel.Value) (feel.Value, error) {
		if args[0] == nil {
			return nil, failure
		}
		if err := env.Spend(900); err != nil {
			return nil, err
		}
		return feel.Builtin("sum").Invoke(env, nil, []feel.Value{args[0], args[0]})
	})
	call := func(source string) (feel.Value, error) {
		e, err := feel.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		return e.Eval(feel.Env{Scope: feel.Context{"double": double}, Steps: 1000})
	}
	for source, want := range map[string]string{`double(n: 2)`: `4`, `double("2")`: `null`, `double()`: `null`, `double([3])`: `6`} {
		if got, err := call(source); err != nil || feel.Text(got) != want {
			t.Errorf("%s: got %s, %v, want %s", source, feel.Text(got), err, want)
		}
	}
	if _, err := call(`double(null)`); !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
	if _, err := call(`double(1) + double(1)`); err == nil {
		t.Error("two invocations of 900 steps fit a budget of 1000")
	}
}
