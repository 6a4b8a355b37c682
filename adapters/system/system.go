// Package system is the machine under the process: its clock, its randomness, its secrets. It is the only place that reads them.
package system

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Clock is the machine's clock as a ports.Clock, for stores that have no database clock of their own.
type Clock struct{}

// Now is UTC, cut to microseconds.
func (Clock) Now() time.Time { return Now().UTC().Truncate(time.Microsecond) }

// IDs makes UUIDv7 (RFC 9562, 5.7) that rise within the process: the milliseconds, then a counter seeded anew each millisecond.
type IDs struct {
	mu   sync.Mutex
	last int64  // milliseconds
	seq  uint16 // 12 bits
}

// New makes the next id.
func (g *IDs) New() ports.ID {
	var id ports.ID
	_, _ = rand.Read(id[:]) // crypto/rand ends the process when it fails
	g.mu.Lock()
	now := Now().UnixMilli()
	switch {
	case now > g.last:
		g.last, g.seq = now, uint16(id[6])<<3|uint16(id[7])>>5
	case g.seq == 0xfff:
		g.last, g.seq = g.last+1, 0
	default:
		g.seq++
	}
	ms, seq := uint64(g.last), g.seq
	g.mu.Unlock()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], ms<<16|0x7000|uint64(seq))
	copy(id[:8], b[:])
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Secrets resolves env:NAME, file:PATH and broker:NAME.
type Secrets struct {
	Brokers map[string]string // the brokers' addresses by name, which may be references themselves
}

// Resolve reads the value each time it is asked, so that a changed secret is picked up. Values without a scheme are answered as they are.
func (s Secrets) Resolve(reference string) (string, error) {
	kind, name, _ := strings.Cut(reference, ":")
	switch kind {
	case "env":
		value, ok := os.LookupEnv(name)
		if !ok || value == "" {
			return "", fault.SecretUnset.With("environment variable %s is not set, and is referred to", name)
		}
		return value, nil
	case "file":
		data, err := os.ReadFile(name)
		if err != nil {
			return "", fault.SecretUnset.With("cannot read the file that is referred to: %w", err)
		}
		return strings.TrimSpace(string(data)), nil
	case "broker":
		address, ok := s.Brokers[name]
		if !ok {
			return "", fault.SecretUnset.With("no broker is named %q here; a channel refers to it: name it in sutra.brokers", name)
		}
		return Secrets{}.Resolve(address)
	}
	return reference, nil
}
