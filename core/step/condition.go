package step

import (
	"slices"

	"github.com/sutra-engine/sutra/core/token"
)

// conditions evaluates armed conditions that are new, or read a variable that was written, in the order of their waits. One fires on
// the edge from false or null to true.
func (r *run) conditions() {
	for r.failure == nil && (len(r.fresh) > 0 || len(r.dirty) > 0) {
		if r.conditional == 0 {
			clear(r.dirty)
			return
		}
		fresh, dirty := r.fresh, r.dirty
		r.fresh, r.dirty = nil, map[string]bool{}
		for _, w := range r.waits {
			if w.dead || w.Kind != token.Condition || !slices.Contains(fresh, w) && !reads(w, dirty) {
				continue
			}
			before := w.Truth
			w.Truth = r.truth(w.node.Event.Condition, w.home(), nil, w.node)
			if w.Truth && !before {
				r.fire(w, nil)
			}
		}
	}
}

func reads(w *wait, names map[string]bool) bool {
	return slices.ContainsFunc(w.node.Event.Condition.Names(), func(name string) bool { return names[name] })
}
