package sqlserver

import (
	"errors"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/sutra-engine/sutra/dialects"
)

// classify reads the server's error numbers.
func classify(err error) dialects.Class {
	e, ok := errors.AsType[mssql.Error](err)
	if !ok {
		return dialects.Other
	}
	switch e.Number {
	case 2627, 2601:
		return dialects.Duplicate
	case missed:
		return dialects.Missed
	case 1205, 51205, 3960, 3961, 1222, 1204: // deadlock, one over an application lock, snapshot conflicts, lock timeout, no locks left
		return dialects.Conflict
	case 18456, 18452, 229, 262, 916: // login failed, no permission, no user of this database
		return dialects.Denied
	case 3906, 3908, 976, 983: // read only, recovering, secondary replica
		return dialects.ReadOnly
	case 2628, 8152, 1946: // truncation, key too long
		return dialects.TooLong
	case 3617, 8645: // attention, no memory in time
		return dialects.Timeout
	case 4060, 40613, 40197, 40501, 10928, 10929, 10053, 10054, 596, 6005, 922, 942, 952: // not to be reached, throttled, killed, shutdown, coming or going
		return dialects.Lost
	}
	return dialects.Other
}
