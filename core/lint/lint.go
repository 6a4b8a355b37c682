// Package lint is what is said about a package before it runs: findings with file, line, element, code and what to do. It reads
// nothing and decides nothing; those who read models and channels make findings, and one error among them refuses the package.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/ports/fault"
)

// Level says what a finding means.
type Level string

// The levels of a finding.
const (
	Error   Level = "error"   // the package is refused
	Warning Level = "warning" // it runs, and not as somebody may expect
	Note    Level = "note"    // accepted without effect here
)

// Finding is one thing said about one place of a package.
type Finding struct {
	Level   Level
	Code    fault.Code
	File    string
	Line    int    // from 1; 0: not known
	Element string // the kind of element, as its file spells it: serviceTask
	ID      string // of the element, or empty
	Text    string // what is wrong; what to do
}

// String is <file>:<line>: <element> "<id>": <text> [<code>].
func (f Finding) String() string { return f.said() + " [" + string(f.Code) + "]" }

func (f Finding) said() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: ", f.File, f.Line)
	if f.Element != "" {
		b.WriteString(f.Element)
		if f.ID != "" {
			fmt.Fprintf(&b, " %q", f.ID)
		}
		b.WriteString(": ")
	}
	b.WriteString(f.Text)
	return b.String()
}

// Refused says that a finding is an error.
func Refused(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Error })
}

// Sort orders findings by file, line and code, errors before the rest of a line.
func Sort(findings []Finding) {
	rank := map[Level]int{Error: 0, Warning: 1, Note: 2}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Level != b.Level {
			return rank[a.Level] - rank[b.Level]
		}
		return strings.Compare(string(a.Code), string(b.Code))
	})
}

// Faults gives the errors among findings as one coded fault: the first one, with all others in it. Nil: nothing is refused.
func Faults(findings []Finding) *fault.Fault {
	var all []fault.Fault
	for _, f := range findings {
		if f.Level == Error {
			all = append(all, fault.Fault{Code: f.Code, Detail: f.said(), File: f.File, Line: f.Line, Element: f.ID})
		}
	}
	if len(all) == 0 {
		return nil
	}
	first := all[0]
	first.All = all[1:]
	return &first
}
