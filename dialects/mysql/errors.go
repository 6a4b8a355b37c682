package mysql

import (
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/sutra-engine/sutra/dialects"
)

// classify reads the server's error numbers, MariaDB's too.
func classify(err error) dialects.Class {
	switch {
	case errors.Is(err, mysql.ErrInvalidConn):
		return dialects.Lost
	case errors.Is(err, mysql.ErrPktTooLarge):
		return dialects.TooLong
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return dialects.Other
	}
	switch e.Number {
	case 1242: // of a batch
		return dialects.Missed
	case 1062, 1586:
		return dialects.Duplicate
	case 1213, 1205, 1020, 3572, 3101: // deadlock, lock timeout, changed since read (MariaDB), locked, rolled back by a group's certification
		return dialects.Conflict
	case 1045, 1698, 1044, 1049, 1142, 1227: // password, plug-in, database denied, database unknown, table denied, privilege
		return dialects.Denied
	case 1290, 1836, 1792:
		return dialects.ReadOnly
	case 1406, 1153, 1264, 1301, 1366: // too long, packet, out of range, result, no such character
		return dialects.TooLong
	case 3024, 1969, 1317: // MySQL's and MariaDB's time limit, killed query
		return dialects.Timeout
	case 1040, 1203, 1053, 1927, 2006, 2013, 4031: // too many connections, shutdown, killed, gone, idle too long
		return dialects.Lost
	}
	return dialects.Other
}
