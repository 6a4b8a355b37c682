package deploy

import (
	"fmt"
	"strings"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/dmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

// decisions are the DMN decisions of a revision, by id or name over all its models.
type decisions struct{ models []*dmn.Model }

// Decide evaluates a decision of whichever model has it.
func (d decisions) Decide(decision string, env feel.Env) (feel.Value, error) {
	m := d.find(decision)
	if m == nil {
		return nil, fault.ModelDecisionUnknown.With("the package has no decision %q", decision)
	}
	return m.Evaluate(decision, env)
}

// find is the model that has a decision, or nil.
func (d decisions) find(decision string) *dmn.Model {
	for _, m := range d.models {
		if m.Has(decision) {
			return m
		}
	}
	return nil
}

func (d decisions) names() []string {
	var out []string
	for _, m := range d.models {
		out = append(out, m.Decisions()...)
	}
	return out
}

// readDecisions compiles rules/; the models may import each other.
func (c *compiler) readDecisions() {
	var files []dmn.File
	for _, f := range c.below("rules", "") {
		files = append(files, dmn.File{Name: "rules/" + f.Path, Data: f.Data})
	}
	models, findings := dmn.ReadAll(files)
	c.findings = append(c.findings, findings...)
	c.decisions = decisions{models}
}

// checkDecision holds the decision that a task names against what there is.
func (c *compiler) checkDecision(p *bpmn.Process, n *bpmn.Node) {
	if n.Task == nil || n.Task.Decision == nil || n.Task.Decision.Expr != nil || c.decisions.find(n.Task.Decision.Literal) != nil {
		return
	}
	c.findings = append(c.findings, lint.Finding{
		Level: lint.Error, Code: fault.ModelDecisionUnknown, File: p.File, Line: n.Line, Element: string(n.Kind), ID: n.ID,
		Text: fmt.Sprintf("names decision %q, which rules/ does not have; it has: %s", n.Task.Decision.Literal, strings.Join(c.decisions.names(), ", ")),
	})
}
