package system_test

import (
	"bytes"
	"testing"

	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/ports"
)

func TestIDsRiseAndAreVersion7(t *testing.T) {
	var ids system.IDs
	last := ports.ID{}
	for range 20_000 {
		id := ids.New()
		if bytes.Compare(last[:], id[:]) >= 0 {
			t.Fatalf("%s is not above %s", id, last)
		}
		if id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%s is no UUIDv7", id)
		}
		last = id
	}
}
