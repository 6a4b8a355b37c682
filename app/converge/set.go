package converge

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/ports"
)

// Set is what a replica serves at one version. It is never changed: a newer one takes its place whole.
type Set struct {
	Version ports.Version
	// Broken are revisions that this replica cannot load, and why. It takes no work of them and is not ready.
	Broken map[ports.DeploymentID]error

	revisions map[ports.DeploymentID]*Served
	doors     map[string]Door
	channels  map[[2]string]Door // tenant and channel name
	slots     map[ports.Slot]*Served
}

// Served is one revision with its phase.
type Served struct {
	*deploy.Revision
	Row ports.Revision
}

// Active says that it takes new instances.
func (s *Served) Active() bool { return s.Row.Phase == ports.Active }

// Door is a channel of a served revision.
type Door struct {
	Served  *Served
	Channel channel.Channel
}

// Revision finds a served revision; nil: it is not served here.
func (s *Set) Revision(id ports.DeploymentID) *Served { return s.revisions[id] }

// Door finds who opens an address. A draining revision keeps doors that no active one has.
func (s *Set) Door(address string) (Door, bool) { d, ok := s.doors[address]; return d, ok }

// Doors are all doors with who opens them, as Door finds them.
func (s *Set) Doors() iter.Seq2[string, Door] { return maps.All(s.doors) }

// Channel finds a tenant's channel, likewise.
func (s *Set) Channel(tenant, name string) (Door, bool) {
	d, ok := s.channels[[2]string{tenant, name}]
	return d, ok
}

// Slot finds a slot's active revision; nil: it has none.
func (s *Set) Slot(slot ports.Slot) *Served { return s.slots[slot] }

// Active answers a tenant's active revisions in the order of their slots, all modules or one.
func (s *Set) Active(tenant, module string) []*Served {
	var out []*Served
	for slot, r := range s.slots {
		if slot.Tenant == tenant && (module == "" || slot.Module == module) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Served) int { return cmp.Compare(a.Row.Slot.String(), b.Row.Slot.String()) })
	return out
}

// newSet indexes revisions, active ones first, younger before older, so that the first to open a door keeps it.
func newSet(version ports.Version, all []*Served, broken map[ports.DeploymentID]error) *Set {
	s := &Set{
		Version: version, Broken: broken,
		revisions: map[ports.DeploymentID]*Served{}, doors: map[string]Door{}, channels: map[[2]string]Door{}, slots: map[ports.Slot]*Served{},
	}
	slices.SortFunc(all, func(a, b *Served) int {
		return cmp.Or(cmp.Compare(a.Row.Phase, b.Row.Phase), cmp.Compare(b.Row.Number, a.Row.Number), cmp.Compare(a.Row.ID, b.Row.ID))
	})
	for _, r := range all {
		s.revisions[r.Row.ID] = r
		if r.Active() {
			s.slots[r.Row.Slot] = r
		}
		for _, door := range r.Doors {
			if _, taken := s.doors[door.Address]; !taken {
				s.doors[door.Address] = Door{r, r.Channels[door.Channel]}
			}
		}
		for name, c := range r.Channels {
			key := [2]string{r.Row.Slot.Tenant, name}
			if _, taken := s.channels[key]; !taken {
				s.channels[key] = Door{r, c}
			}
		}
	}
	return s
}
