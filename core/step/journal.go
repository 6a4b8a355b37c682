package step

import (
	"encoding/json"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
)

// journal is what a step did, for people: the history document.
type journal struct {
	Events []journalEvent `json:"events"`
	Did    []did          `json:"did,omitempty"`
	More   int            `json:"more,omitempty"` // things done that are not listed
	Failed *journalFault  `json:"failed,omitempty"`
}

type journalEvent struct {
	Kind EventKind `json:"kind"`
	Wait int64     `json:"wait,omitempty"`
	Node string    `json:"node,omitempty"`
	Code string    `json:"code,omitempty"`
}

// did is one thing done: at a node by a token, or to a variable.
type did struct {
	What  string          `json:"what"`
	Node  string          `json:"node,omitempty"`
	Token token.ID        `json:"token,omitempty"`
	Name  string          `json:"name,omitempty"`
	Value json.RawMessage `json:"value,omitempty"` // left out when it is sensitive or long
}

type journalFault struct {
	Code   string   `json:"code"`
	Detail string   `json:"detail"`
	Node   string   `json:"node,omitempty"`
	Trace  []string `json:"trace,omitempty"`
}

// maxShown bounds the value of one variable that history shows, maxListed the things that it lists of one step.
const (
	maxShown  = 1024
	maxListed = 1000
)

func (j *journal) add(d did) {
	if len(j.Did) >= maxListed {
		j.More++
		return
	}
	j.Did = append(j.Did, d)
}

func (r *run) note(what string, n *bpmn.Node, id token.ID) {
	d := did{What: what, Token: id}
	if n != nil {
		d.Node = n.ID
	}
	r.journal.add(d)
}

func (r *run) wrote(name string, v feel.Value, c *scope) {
	if h := r.limits.History; h == NoHistory || h == ActivityHistory {
		return
	}
	d := did{What: "set", Name: name}
	if c.node != nil {
		d.Node = c.node.ID
	}
	if len(r.journal.Did) < maxListed && !r.sensitive(name) && !r.transient(name) {
		if data, err := feel.ToJSON(v); err == nil && len(data) <= maxShown {
			d.Value = data
		}
	}
	r.journal.add(d)
}

// document is the journal as it is stored.
func (j *journal) document() []byte {
	data, err := json.Marshal(j)
	if err != nil {
		return []byte("{}") // plain records of texts and numbers
	}
	return data
}
