package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sutra-engine/sutra/dialects"
)

// classify reads SQLSTATE.
func classify(err error) dialects.Class {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting || pgconn.SafeToRetry(err) {
			return dialects.Lost
		}
		return dialects.Other
	}
	switch e.Code {
	case "23505":
		return dialects.Duplicate
	case "22012":
		return dialects.Missed
	case "40001", "40P01", "55P03":
		return dialects.Conflict
	case "25006":
		return dialects.ReadOnly
	case "3D000", "42501":
		return dialects.Denied
	case "54000", "53400":
		return dialects.TooLong
	case "57014":
		return dialects.Timeout
	case "53300", "57P01", "57P02", "57P03", "57P05", "25P03":
		return dialects.Lost
	}
	switch {
	case strings.HasPrefix(e.Code, "08"):
		return dialects.Lost
	case strings.HasPrefix(e.Code, "28"):
		return dialects.Denied
	case strings.HasPrefix(e.Code, "22"): // data exceptions: too long, out of range, no such character
		return dialects.TooLong
	}
	return dialects.Other
}
