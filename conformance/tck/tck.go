package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"github.com/sutra-engine/sutra/core/dmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/lint"
)

// reasons say why cases fail that are meant to, by model and case.
var reasons = map[string]string{
	"0076-feel-external-java.dmn":                      "external Java functions are refused",
	"0068-feel-equality.dmn time_005":                  "the kit leaves fractions of a second out of =; here = agrees with < and >",
	"0068-feel-equality.dmn datetime_003_a":            "the kit leaves fractions of a second out of =; here = agrees with < and >",
	"0068-feel-equality.dmn range_010":                 "(=10) is the range [10..10] here",
	"1111-feel-matches-function.dmn K2-MatchesFunc-17": "back-references are refused, so that matching is linear",
	"1146-feel-context-put-function.dmn nested008":     "the names key and keys do not choose between signatures here",
}

// Report is what a level's cases gave.
type Report struct {
	Passed, Total int
	Failures      []string
}

type testCases struct {
	ModelName string     `xml:"modelName"`
	Cases     []testCase `xml:"testCase"`
}

type testCase struct {
	ID        string       `xml:"id,attr"`
	Type      string       `xml:"type,attr"`
	Invocable string       `xml:"invocableName,attr"`
	Inputs    []inputNode  `xml:"inputNode"`
	Results   []resultNode `xml:"resultNode"`
}

type inputNode struct {
	Name string `xml:"name,attr"`
	value
}

type resultNode struct {
	Name     string `xml:"name,attr"`
	Error    bool   `xml:"errorResult,attr"`
	Expected value  `xml:"expected"`
}

// value is a simple value, a list or components, as the kit writes them.
type value struct {
	Value *struct {
		Type string `xml:"http://www.w3.org/2001/XMLSchema-instance type,attr"`
		Nil  bool   `xml:"http://www.w3.org/2001/XMLSchema-instance nil,attr"`
		Text string `xml:",chardata"`
	} `xml:"value"`
	List *struct {
		Items []value `xml:"item"`
	} `xml:"list"`
	Components []struct {
		Name string `xml:"name,attr"`
		value
	} `xml:"component"`
}

// Run runs all cases below a folder.
func Run(dir string) (Report, error) {
	var report Report
	folders, err := os.ReadDir(dir)
	if err != nil {
		return report, err
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(dir, folder.Name(), "*.xml"))
		if err != nil {
			return report, err
		}
		for _, file := range files {
			if err := report.file(file); err != nil {
				return report, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return report, nil
}

func (r *Report) file(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var cases testCases
	if err := xml.Unmarshal(data, &cases); err != nil {
		return err
	}
	model, findings, err := readModel(filepath.Join(filepath.Dir(path), cases.ModelName))
	if err != nil {
		return err
	}
	for _, c := range cases.Cases {
		r.Total++
		if reason := run(model, c); reason != "" {
			why := cmp.Or(reasons[cases.ModelName+" "+c.ID], reasons[cases.ModelName], "not understood")
			r.Failures = append(r.Failures, fmt.Sprintf("%s %s: %s (%s)", cases.ModelName, c.ID, reason, why))
		} else {
			r.Passed++
		}
	}
	if model == nil {
		r.Failures = append(r.Failures, fmt.Sprintf("%s: %v", cases.ModelName, findings))
	}
	return nil
}

// readModel reads a model with all others of its folder as imports.
func readModel(path string) (*dmn.Model, []lint.Finding, error) {
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.dmn"))
	if err != nil {
		return nil, nil, err
	}
	var files []dmn.File
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, dmn.File{Name: filepath.Base(p), Data: data})
	}
	models, findings := dmn.ReadAll(files)
	i := slices.IndexFunc(models, func(m *dmn.Model) bool { return m.File == filepath.Base(path) })
	if i < 0 {
		return nil, findings, nil
	}
	return models[i], findings, nil
}

// run answers why a case fails, or nothing.
func run(model *dmn.Model, c testCase) string {
	if model == nil {
		return "the model cannot be read"
	}
	input := feel.Context{}
	for _, node := range c.Inputs {
		v, err := node.feel()
		if err != nil {
			return err.Error()
		}
		input[node.Name] = v
	}
	for _, want := range c.Results {
		if reason := check(model, c, input, want); reason != "" {
			return reason
		}
	}
	return ""
}

func check(model *dmn.Model, c testCase, input feel.Context, want resultNode) string {
	expected, err := want.Expected.feel()
	if err != nil {
		return err.Error()
	}
	name := want.Name
	if c.Type == "decisionService" {
		name = c.Invocable
	}
	got, err := model.Evaluate(name, feel.Env{Scope: input, Now: time.Now()})
	if c.Type == "decisionService" && err == nil && len(c.Results) > 1 {
		context, _ := got.(feel.Context)
		got = context[want.Name]
	}
	switch {
	case want.Error && err != nil:
		return ""
	case err != nil:
		return fmt.Sprintf("%s: error %v, want %s", want.Name, err, feel.Text(expected))
	case !equal(got, expected):
		return fmt.Sprintf("%s: got %s, want %s", want.Name, feel.Text(got), feel.Text(expected))
	}
	return ""
}

// equal compares as the kit asks: numbers to eight places, for it holds results of binary arithmetic.
func equal(got, want feel.Value) bool {
	switch want := want.(type) {
	case feel.Number:
		n, ok := got.(feel.Number)
		return ok && near(n.Decimal, want.Decimal)
	case feel.List:
		list, ok := got.(feel.List)
		return ok && slices.EqualFunc(list, want, equal)
	case feel.Context:
		context, ok := got.(feel.Context)
		if !ok || len(context) != len(want) {
			return false
		}
		for key, v := range want {
			if g, ok := context[key]; !ok || !equal(g, v) {
				return false
			}
		}
		return true
	}
	if got != nil && want != nil && got.Kind() != want.Kind() {
		return false
	}
	same, ok := feel.Equal(got, want)
	return same && ok
}

func near(a, b *apd.Decimal) bool {
	context := apd.BaseContext.WithPrecision(40)
	var difference apd.Decimal
	if _, err := context.Sub(&difference, a, b); err != nil {
		return false
	}
	difference.Abs(&difference)
	return difference.Cmp(apd.New(1, -8)) < 0
}

func (v value) feel() (feel.Value, error) {
	switch {
	case v.List != nil:
		list := feel.List{}
		for _, item := range v.List.Items {
			element, err := item.feel()
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		return list, nil
	case len(v.Components) > 0:
		context := feel.Context{}
		for _, component := range v.Components {
			element, err := component.feel()
			if err != nil {
				return nil, err
			}
			context[component.Name] = element
		}
		return context, nil
	case v.Value == nil || v.Value.Nil:
		return nil, nil
	}
	return simple(v.Value.Type, v.Value.Text)
}

func simple(kind, text string) (feel.Value, error) {
	_, kind, _ = strings.Cut(kind, ":")
	if kind != "string" && kind != "" {
		text = strings.TrimSpace(text)
	}
	switch kind {
	case "boolean":
		return feel.Boolean(text == "true"), nil
	case "decimal", "double", "integer", "int", "long", "float":
		d, _, err := apd.NewFromString(text)
		if err != nil {
			return nil, err
		}
		n, ok := feel.NumberOf(d)
		if !ok {
			return nil, fmt.Errorf("%s is no number", text)
		}
		return n, nil
	case "date":
		return feel.ParseDate(text)
	case "time":
		return feel.ParseTime(text)
	case "dateTime":
		return feel.ParseDateTime(text)
	case "duration":
		return feel.ParseDuration(text)
	}
	return feel.String(text), nil
}
