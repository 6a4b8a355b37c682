package sqlite

import (
	"errors"

	"modernc.org/sqlite"

	"github.com/sutra-engine/sutra/dialects"
)

// classify reads SQLite's extended result codes.
func classify(err error) dialects.Class {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return dialects.Other
	}
	switch code := e.Code(); {
	case code == 2067 || code == 1555:
		return dialects.Duplicate
	case code&0xff == 5 || code&0xff == 6: // BUSY, LOCKED
		return dialects.Conflict
	case code&0xff == 8: // READONLY
		return dialects.ReadOnly
	case code&0xff == 18: // TOOBIG
		return dialects.TooLong
	case code&0xff == 9: // INTERRUPT
		return dialects.Timeout
	case code&0xff == 10 || code&0xff == 13: // IOERR, FULL: the transaction is gone, a later one may do
		return dialects.Lost
	}
	return dialects.Other
}
