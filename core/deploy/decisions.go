package deploy

import (
	"fmt"
	"strings"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/dmn"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

// readDecisions compiles rules/; the models may import each other.
func (c *compiler) readDecisions() {
	var files []dmn.File
	for _, f := range c.below("rules", "") {
		files = append(files, dmn.File{Name: "rules/" + f.Path, Data: f.Data})
	}
	models, findings := dmn.ReadAll(files)
	c.findings = append(c.findings, findings...)
	c.decisions = models
}

// checkDecision holds the decision that a task names against what there is.
func (c *compiler) checkDecision(p *bpmn.Process, n *bpmn.Node) {
	if n.Task == nil || n.Task.Decision == nil || n.Task.Decision.Expr != nil || c.decisions.Knows(n.Task.Decision.Literal) {
		return
	}
	c.findings = append(c.findings, lint.Finding{
		Level: lint.Error, Code: fault.ModelDecisionUnknown, File: p.File, Line: n.Line, Element: string(n.Kind), ID: n.ID,
		Text: fmt.Sprintf("names decision %q, which rules/ does not have; it has: %s", n.Task.Decision.Literal, strings.Join(c.decisions.Decisions(), ", ")),
	})
}
