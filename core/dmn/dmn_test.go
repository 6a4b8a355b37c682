package dmn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/sutra-engine/sutra/core/dmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

const namespace = "https://www.omg.org/spec/DMN/20230324/MODEL/"

// document wraps elements in definitions of DMN 1.5.
func document(elements string) []byte {
	return fmt.Appendf(nil, `<definitions xmlns="%s" name="m" namespace="urn:m">%s</definitions>`, namespace, elements)
}

func read(t *testing.T, elements string) *dmn.Model {
	t.Helper()
	model, findings := dmn.Read("m.dmn", document(elements))
	for _, f := range findings {
		t.Fatal(f)
	}
	return model
}

func context(t *testing.T, json string) feel.Context {
	t.Helper()
	v, err := feel.FromJSON([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := v.(feel.Context)
	return c
}

// want evaluates a decision and compares the text of its value.
func want(t *testing.T, model *dmn.Model, decision, input, text string) {
	t.Helper()
	got, err := model.Evaluate(decision, feel.Env{Scope: context(t, input)})
	if err != nil {
		t.Errorf("%s with %s: %v", decision, input, err)
	} else if feel.Text(got) != text {
		t.Errorf("%s with %s: got %s, want %s", decision, input, feel.Text(got), text)
	}
}

// table is a decision table over x with one output; rules are "test => output".
func table(policy, output string, rules ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<decision id="d" name="d"><decisionTable id="t" %s><input><inputExpression><text>x</text></inputExpression></input>%s`, policy, output)
	for _, rule := range rules {
		test, result, _ := strings.Cut(rule, "=>")
		fmt.Fprintf(&b, `<rule><inputEntry><text><![CDATA[%s]]></text></inputEntry><outputEntry><text><![CDATA[%s]]></text></outputEntry></rule>`, test, result)
	}
	return b.String() + `</decisionTable></decision>`
}

const plain = `<output/>`

func TestHitPoliciesChooseAmongTheMatchingRules(t *testing.T) {
	values := `<output><outputValues><text>"high","low","none"</text></outputValues></output>`
	overlapping := []string{`> 0 => "low"`, `> 5 => "high"`, `> 100 => "none"`}
	for _, c := range []struct {
		policy, output string
		rules          []string
		x, want        string
	}{
		{``, plain, []string{`< 5 => "a"`, `>= 5 => "b"`}, `5`, `b`},
		{`hitPolicy="UNIQUE"`, plain, []string{`< 5 => "a"`}, `5`, `null`},
		{`hitPolicy="UNIQUE"`, `<output><defaultOutputEntry><text>"z"</text></defaultOutputEntry></output>`, []string{`< 5 => "a"`}, `5`, `z`},
		{`hitPolicy="FIRST"`, plain, overlapping, `7`, `low`},
		{`hitPolicy="ANY"`, plain, []string{`> 0 => 1`, `> 5 => 1.0`}, `7`, `1`},
		{`hitPolicy="PRIORITY"`, values, overlapping, `7`, `high`},
		{`hitPolicy="OUTPUT ORDER"`, values, overlapping, `7`, `["high", "low"]`},
		{`hitPolicy="RULE ORDER"`, plain, overlapping, `7`, `["low", "high"]`},
		{`hitPolicy="COLLECT"`, plain, overlapping, `7`, `["low", "high"]`},
		{`hitPolicy="COLLECT"`, plain, overlapping, `-7`, `null`},
		{`hitPolicy="COLLECT" aggregation="SUM"`, plain, []string{`> 0 => 1`, `> 5 => 2`}, `7`, `3`},
		{`hitPolicy="COLLECT" aggregation="MIN"`, plain, []string{`> 0 => 1`, `> 5 => 2`}, `7`, `1`},
		{`hitPolicy="COLLECT" aggregation="MAX"`, plain, []string{`> 0 => 1`, `> 5 => 2`}, `7`, `2`},
		{`hitPolicy="COLLECT" aggregation="COUNT"`, plain, []string{`> 0 => 1`, `> 5 => 1`}, `7`, `2`},
		{`hitPolicy="COLLECT" aggregation="COUNT"`, plain, []string{`> 0 => 1`}, `-7`, `0`},
		{``, plain, []string{`- => "any"`}, `null`, `any`},
		{``, plain, []string{` => "blank"`}, `null`, `blank`},
		{``, plain, []string{`not(1, 2) => "other"`}, `7`, `other`},
	} {
		want(t, read(t, table(c.policy, c.output, c.rules...)), "d", `{"x":`+c.x+`}`, c.want)
	}
}

func TestViolatedHitPoliciesSayWhichRulesMatched(t *testing.T) {
	for policy, rules := range map[string][]string{
		"UNIQUE": {`> 0 => 1`, `< 0 => 2`, `> 5 => 1`},
		"ANY":    {`> 0 => 1`, `< 0 => 2`, `> 5 => 3`},
	} {
		model := read(t, table(`hitPolicy="`+policy+`"`, plain, rules...))
		_, err := model.Evaluate("d", feel.Env{Scope: context(t, `{"x":7}`)})
		var violated *dmn.HitPolicyError
		if !errors.As(err, &violated) || violated.Policy != policy || fmt.Sprint(violated.Rules) != "[1 3]" || !errors.Is(err, fault.DecisionHitPolicy) {
			t.Errorf("%s: got %v", policy, err)
		}
	}
}

func TestSeveralOutputsAreAContext(t *testing.T) {
	model := read(t, `<decision id="d" name="d"><decisionTable><input><inputExpression><text>x</text></inputExpression></input>
		<output name="price" typeRef="number"/><output name="label"/>
		<rule><inputEntry><text>-</text></inputEntry><outputEntry><text>x * 2</text></outputEntry><outputEntry><text>"n" + string(x)</text></outputEntry></rule>
	</decisionTable></decision>`)
	want(t, model, "d", `{"x":3}`, `{label: "n3", price: 6}`)
}

func TestInputsOutsideTheAllowedOnesMatchNothing(t *testing.T) {
	model := read(t, `<decision id="d" name="d"><decisionTable>
		<input><inputExpression><text>x</text></inputExpression><inputValues><text>"a","b"</text></inputValues></input><output/>
		<rule><inputEntry><text>-</text></inputEntry><outputEntry><text>"yes"</text></outputEntry></rule></decisionTable></decision>`)
	want(t, model, "d", `{"x":"a"}`, `yes`)
	want(t, model, "d", `{"x":"c"}`, `null`)
}

const graph = `
	<inputData id="i" name="Base Price"><variable name="Base Price" typeRef="number"/></inputData>
	<businessKnowledgeModel id="b" name="add tax"><encapsulatedLogic><formalParameter name="net" typeRef="number"/>
		<literalExpression><text>net * (1 + rate)</text></literalExpression></encapsulatedLogic></businessKnowledgeModel>
	<decision id="n" name="Net"><variable name="Net" typeRef="number"/><informationRequirement><requiredInput href="#i"/></informationRequirement>
		<literalExpression><text>Base Price - 10</text></literalExpression></decision>
	<decision id="g" name="Gross Price"><variable name="Gross Price"/><informationRequirement><requiredDecision href="#n"/></informationRequirement>
		<knowledgeRequirement><requiredKnowledge href="#k"/></knowledgeRequirement>
		<invocation><literalExpression><text>with tax</text></literalExpression>
			<binding><parameter name="net"/><literalExpression><text>Net</text></literalExpression></binding></invocation></decision>
	<businessKnowledgeModel id="k" name="with tax"><encapsulatedLogic><formalParameter name="net" typeRef="number"/>
		<literalExpression><text>net * 1.2</text></literalExpression></encapsulatedLogic></businessKnowledgeModel>
	<decisionService id="s" name="pricing"><outputDecision href="#g"/><inputDecision href="#n"/></decisionService>
	<decision id="u" name="uses service"><knowledgeRequirement><requiredKnowledge href="#s"/></knowledgeRequirement>
		<literalExpression><text>pricing(Net: 50)</text></literalExpression></decision>
	<decision id="h" name="hidden"><literalExpression><text>Net</text></literalExpression></decision>
	<decision id="o" name="open"><literalExpression><text>weather</text></literalExpression></decision>`

func TestDecisionsReadWhatTheyRequire(t *testing.T) {
	model := read(t, graph)
	want(t, model, "Gross Price", `{"Base Price":110}`, `120`)
	want(t, model, "g", `{"Base Price":110}`, `120`)
	want(t, model, "g", `{"Base Price":"110"}`, `null`) // a string is no number
	want(t, model, "pricing", `{"Net":10}`, `12`)
	want(t, model, "uses service", `{}`, `60`)
}

func TestOnlyUndeclaredNamesAreVisibleUnrequired(t *testing.T) {
	model := read(t, graph)
	want(t, model, "hidden", `{"Net":1,"Base Price":5}`, `null`)
	want(t, model, "open", `{"weather":"wet"}`, `wet`)
}

func TestDecisionsWithoutVariableAreReadByIDAndOutput(t *testing.T) {
	rule := func(test, result string) string {
		return `<rule><inputEntry><text><![CDATA[` + test + `]]></text></inputEntry><outputEntry><text>` + result + `</text></outputEntry></rule>`
	}
	decision := func(id, reads, output, rules string) string {
		return `<decision id="` + id + `" name="The ` + id + `"><informationRequirement><requiredDecision href="#weather"/></informationRequirement>
			<decisionTable><input><inputExpression><text>` + reads + `</text></inputExpression></input><output name="` + output + `"/>` + rules + `</decisionTable></decision>`
	}
	weather := strings.Replace(decision("weather", "degrees", "season", rule(`> 20`, `"summer"`)+rule(`<= 20`, `"winter"`)),
		`<informationRequirement><requiredDecision href="#weather"/></informationRequirement>`, ``, 1)
	model := read(t, weather+decision("dish", "season", "dish", rule(`"summer"`, `"salad"`))+decision("drink", "weather", "drink", rule(`"summer"`, `"juice"`))+
		decision("long", "The weather", "x", rule(`"winter"`, `"tea"`)))
	want(t, model, "dish", `{"degrees":30}`, `salad`)
	want(t, model, "drink", `{"degrees":30}`, `juice`)
	want(t, model, "long", `{"degrees":10}`, `tea`)
}

func TestBoxedExpressionsEvaluate(t *testing.T) {
	literal := func(text string) string {
		return `<literalExpression><text><![CDATA[` + text + `]]></text></literalExpression>`
	}
	for boxed, text := range map[string]string{
		`<context><contextEntry><variable name="a"/>` + literal(`1`) + `</contextEntry><contextEntry><variable name="b c"/>` + literal(`a + 1`) + `</contextEntry></context>`: `{a: 1, b c: 2}`,
		`<context><contextEntry><variable name="a"/>` + literal(`1`) + `</contextEntry><contextEntry>` + literal(`a + 2`) + `</contextEntry></context>`:                       `3`,
		`<list>` + literal(`1`) + literal(`x`) + `</list>`:                                                                                         `[1, 7]`,
		`<relation><column name="k"/><column name="v"/><row>` + literal(`"a"`) + literal(`x`) + `</row></relation>`:                                `[{k: "a", v: 7}]`,
		`<conditional><if>` + literal(`x > 5`) + `</if><then>` + literal(`"big"`) + `</then><else>` + literal(`"small"`) + `</else></conditional>`: `big`,
		`<filter><in>` + literal(`[1, 9]`) + `</in><match>` + literal(`item > x`) + `</match></filter>`:                                            `[9]`,
		`<for iteratorVariable="i"><in>` + literal(`[1, 2]`) + `</in><return>` + literal(`i * x`) + `</return></for>`:                              `[7, 14]`,
		`<some iteratorVariable="i"><in>` + literal(`[1, 9]`) + `</in><satisfies>` + literal(`i > x`) + `</satisfies></some>`:                      `true`,
		`<every iteratorVariable="i"><in>` + literal(`[1, 9]`) + `</in><satisfies>` + literal(`i > x`) + `</satisfies></every>`:                    `false`,
		`<context><contextEntry><variable name="f"/><functionDefinition><formalParameter name="n"/>` + literal(`n + x`) + `</functionDefinition></contextEntry><contextEntry>` +
			literal(`f(1)`) + `</contextEntry></context>`: `8`,
	} {
		want(t, read(t, `<decision id="d" name="d">`+boxed+`</decision>`), "d", `{"x":7}`, text)
	}
}

func TestItemDefinitionsCoerceResults(t *testing.T) {
	types := `<itemDefinition name="tColour"><typeRef>string</typeRef><allowedValues><text>"red","blue"</text></allowedValues></itemDefinition>
		<itemDefinition name="tCar"><itemComponent name="main colour"><typeRef>tColour</typeRef></itemComponent></itemDefinition>
		<itemDefinition name="tCars" isCollection="true"><typeRef>tCar</typeRef></itemDefinition>`
	decision := func(typ, text string) string {
		return types + `<decision id="d" name="d"><variable name="d" typeRef="` + typ + `"/><literalExpression><text>` + text + `</text></literalExpression></decision>`
	}
	for _, c := range []struct{ typ, text, want string }{
		{`tColour`, `"red"`, `red`},
		{`tColour`, `"green"`, `null`},
		{`tColour`, `["red"]`, `red`},
		{`feel:number`, `1`, `1`},
		{`number`, `"1"`, `null`},
		{`tCars`, `{main colour: "red"}`, `[{main colour: "red"}]`},
		{`tCars`, `[{main colour: "green"}]`, `null`},
		{`tCar`, `{"main colour": "blue"}.main colour`, `null`},
		{`integer`, `3`, `3`},
	} {
		want(t, read(t, decision(c.typ, c.text)), "d", `{}`, c.want)
	}
}

func TestModelsImportEachOtherInAnyOrder(t *testing.T) {
	main := []byte(`<d:definitions xmlns:d="` + namespace + `" namespace="urn:main"><d:import name="lib" namespace="urn:lib" importType="` + namespace + `"/>
		<d:decision id="d" name="d"><d:knowledgeRequirement><d:requiredKnowledge href="urn:lib#b"/></d:knowledgeRequirement>
		<d:literalExpression><d:text>lib.say hello("Ada")</d:text></d:literalExpression></d:decision></d:definitions>`)
	library := []byte(`<definitions xmlns="` + namespace + `" namespace="urn:lib"><businessKnowledgeModel id="b" name="say hello"><encapsulatedLogic>
		<formalParameter name="who"/><literalExpression><text>"Hello " + who</text></literalExpression></encapsulatedLogic></businessKnowledgeModel></definitions>`)
	models, findings := dmn.ReadAll([]dmn.File{{Name: "main.dmn", Data: main}, {Name: "lib.dmn", Data: library}})
	if len(findings) != 0 || len(models) != 2 {
		t.Fatal(findings)
	}
	want(t, models[0], "d", `{}`, `Hello Ada`)
	_, findings = dmn.ReadAll([]dmn.File{{Name: "main.dmn", Data: main}})
	if !refuses(findings, fault.ModelDecisionUnknown) {
		t.Errorf("a missing import was not refused: %v", findings)
	}
}

func TestALibraryFindsDecisionsByIDBeforeName(t *testing.T) {
	var library dmn.Library
	for i, decision := range []string{`id="a" name="b"`, `id="b" name="c"`} {
		library = append(library, read(t, fmt.Sprintf(`<decision %s><literalExpression><text>%d</text></literalExpression></decision>`, decision, i)))
	}
	for decision, want := range map[string]string{"a": "0", "b": "1", "c": "1"} {
		if got, err := library.Decide(decision, feel.Env{}); err != nil || feel.Text(got) != want {
			t.Errorf("%s: got %s, %v, want %s", decision, feel.Text(got), err, want)
		}
	}
	if _, err := library.Decide("d", feel.Env{}); !errors.Is(err, fault.ModelDecisionUnknown) || library.Knows("d") {
		t.Errorf("got %v, want %s", err, fault.ModelDecisionUnknown)
	}
}

func refuses(findings []lint.Finding, code fault.Code) bool {
	for _, f := range findings {
		if f.Level == lint.Error && f.Code == code && f.Line > 0 {
			return true
		}
	}
	return false
}

func TestBadModelsAreRefusedWithTheirCode(t *testing.T) {
	decision := func(body string) string { return `<decision id="d" name="d">` + body + `</decision>` }
	for elements, code := range map[string]fault.Code{
		decision(`<literalExpression><text>1 +</text></literalExpression>`):                           fault.ModelExpression,
		decision(`<literalExpression expressionLanguage="groovy"><text>1</text></literalExpression>`): fault.ModelLanguage,
		decision(`<variable name="d" typeRef="tNone"/>`):                                              fault.DecisionType,
		decision(`<informationRequirement><requiredInput href="#none"/></informationRequirement>`):    fault.ModelDecisionUnknown,
		decision(`<informationRequirement><requiredDecision href="#d"/></informationRequirement>`):    fault.DecisionInvalid,
		decision(``) + decision(``):                                 fault.ModelIDDuplicate,
		decision(`<decisionTable hitPolicy="BEST"/>`):               fault.DecisionInvalid,
		decision(`<decisionTable><output/><rule/></decisionTable>`): fault.DecisionInvalid,
		`<itemDefinition name="a"><typeRef>b</typeRef></itemDefinition><itemDefinition name="b"><typeRef>a</typeRef></itemDefinition>`: fault.DecisionType,
		`<businessKnowledgeModel id="b" name="b"><encapsulatedLogic kind="Java"/></businessKnowledgeModel>`:                            fault.ModelLanguage,
		`<decisionService id="s" name="s"/>`: fault.DecisionInvalid,
	} {
		if _, findings := dmn.Read("m.dmn", document(elements)); !refuses(findings, code) {
			t.Errorf("%s\n got %v\nwant %s", elements, findings, code)
		}
	}
}

func TestFilesThatAreNoModelsAreRefused(t *testing.T) {
	deep := strings.Repeat("<context>", 200) + strings.Repeat("</context>", 200)
	for data, code := range map[string]fault.Code{
		``:                                      fault.DecisionNone,
		`{}`:                                    fault.DecisionNone,
		`<definitions/>`:                        fault.DecisionNone,
		`<decision xmlns="` + namespace + `"/>`: fault.DecisionNone,
		`<definitions xmlns="` + namespace + `">`:                                        fault.ModelXMLInvalid,
		`<definitions xmlns="` + namespace + `">&a;</definitions>`:                       fault.ModelXMLInvalid,
		`<!DOCTYPE x [<!ENTITY a "b">]><definitions xmlns="` + namespace + `"/>`:         fault.ModelXMLDTD,
		`<?xml version="1.0" encoding="runes"?><definitions xmlns="` + namespace + `"/>`: fault.ModelXMLEncoding,
		string(document(deep)): fault.ModelXMLLimit,
		string(document(strings.Repeat("<decision/>", 100_001))): fault.ModelXMLLimit,
	} {
		model, findings := dmn.Read("m.dmn", []byte(data))
		if model != nil || !refuses(findings, code) {
			t.Errorf("%.60s: got %v, %v, want %s", data, model, findings, code)
		}
	}
}

func TestOneBudgetServesAllThatADecisionRequires(t *testing.T) {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `<decision id="d%d" name="d%d"><informationRequirement><requiredDecision href="#d%d"/></informationRequirement>
			<literalExpression><text>count(for i in 1..1000 return i)</text></literalExpression></decision>`, i, i, i+1)
	}
	model := read(t, b.String()+`<decision id="d20" name="d20"><literalExpression><text>1</text></literalExpression></decision>`)
	_, err := model.Evaluate("d0", feel.Env{Steps: 20_000})
	if _, ok := errors.AsType[*feel.LimitError](err); !ok {
		t.Errorf("got %v, want a *feel.LimitError", err)
	}
	if _, err := model.Evaluate("d19", feel.Env{Steps: 20_000}); err != nil {
		t.Error(err)
	}
}

func TestKnowledgeModelsThatInvokeThemselvesEnd(t *testing.T) {
	literal := func(text string) string { return `<literalExpression><text>` + text + `</text></literalExpression>` }
	recursive := func(body string) *dmn.Model {
		return read(t, `<businessKnowledgeModel id="f" name="f"><encapsulatedLogic><formalParameter name="n"/>`+body+`</encapsulatedLogic></businessKnowledgeModel>
			<decision id="d" name="d"><knowledgeRequirement><requiredKnowledge href="#f"/></knowledgeRequirement>`+literal(`f(5)`)+`</decision>`)
	}
	want(t, recursive(literal(`if n = 0 then 1 else n * f(n - 1)`)), "d", `{}`, `120`)
	for _, endless := range []string{
		literal(`f(n + 1)`),
		`<invocation>` + literal(`f`) + `<binding><parameter name="n"/>` + literal(`n`) + `</binding></invocation>`,
	} {
		_, err := recursive(endless).Evaluate("d", feel.Env{Steps: 10_000_000})
		if _, ok := errors.AsType[*feel.LimitError](err); !ok {
			t.Errorf("%s: got %v, want a *feel.LimitError", endless, err)
		}
	}
}

func TestEveryVersionOfTheNamespaceIsRead(t *testing.T) {
	for _, ns := range []string{
		"http://www.omg.org/spec/DMN/20151101/dmn11.xsd", "http://www.omg.org/spec/DMN/20151101",
		"http://www.omg.org/spec/DMN/20151101/dmn.xsd", "http://www.omg.org/spec/DMN/20180521/MODEL/", "https://www.omg.org/spec/DMN/20191111/MODEL/",
		"https://www.omg.org/spec/DMN/20211108/MODEL/", "https://www.omg.org/spec/DMN/20230324/MODEL/",
	} {
		model, findings := dmn.Read("m.dmn", []byte("\uFEFF<?xml version=\"1.0\" encoding=\"UTF-8\"?><x:definitions xmlns:x=\""+ns+`" xmlns:c="urn:c"><c:other/>
			<x:decision id="d" name="d"><x:extensionElements><x:text>no</x:text></x:extensionElements><x:literalExpression><x:text>1</x:text></x:literalExpression></x:decision></x:definitions>`))
		if model == nil || len(findings) > 0 {
			t.Errorf("%s: %v", ns, findings)
			continue
		}
		want(t, model, "d", `{}`, `1`)
	}
}

// A language that is said once for the whole model is named where it is met.
func TestLanguageOfTheModelIsNamed(t *testing.T) {
	_, findings := dmn.Read("m.dmn", []byte(`<definitions xmlns="`+namespace+`" expressionLanguage="juel"><decision id="d" name="d"><literalExpression><text>a</text></literalExpression></decision></definitions>`))
	if len(findings) != 1 || !strings.Contains(findings[0].Text, "the expression language juel ") {
		t.Errorf("%v", findings)
	}
}

func TestFilesAreReadInTheirEncoding(t *testing.T) {
	text := `<definitions xmlns="` + namespace + `"><decision id="d" name="d"><literalExpression><text>"é"</text></literalExpression></decision></definitions>`
	wide := []byte{0xFF, 0xFE}
	for _, unit := range utf16.Encode([]rune(`<?xml version="1.0" encoding="UTF-16"?>` + text)) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	for name, data := range map[string][]byte{
		"UTF-8":      []byte(text),
		"ISO-8859-1": []byte(`<?xml version="1.0" encoding="ISO-8859-1"?>` + strings.ReplaceAll(text, "é", "\xe9")),
		"UTF-16":     wide,
	} {
		model, findings := dmn.Read("m.dmn", data)
		if model == nil {
			t.Errorf("%s: %v", name, findings)
			continue
		}
		want(t, model, "d", `{}`, `é`)
	}
}

func TestFindingsNameTheLineOfTheirElement(t *testing.T) {
	_, findings := dmn.Read("m.dmn", document("\n<decision id=\"d\"\n name=\"d\">\n<literalExpression>\n<text>1 +</text></literalExpression></decision>"))
	if len(findings) != 1 || findings[0].Line != 4 || findings[0].Element != "literalExpression" {
		t.Errorf("got %v, want one of line 4", findings)
	}
}

func BenchmarkEvaluateTable(b *testing.B) {
	rules := make([]string, 20)
	for i := range rules {
		rules[i] = fmt.Sprintf("[%d..%d) => %d", i*10, i*10+10, i)
	}
	model, _ := dmn.Read("m.dmn", document(table("", plain, rules...)))
	env := feel.Env{Scope: feel.Context{"x": feel.NumberOfInt(155)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := model.Evaluate("d", env); err != nil {
			b.Fatal(err)
		}
	}
}
