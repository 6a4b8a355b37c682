package database

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/sutra-engine/sutra/ports"
)

// floor is an id that is sent as it is, zero too: the start of a keyset.
type floor ports.ID

// null is a text that is absent when it is empty.
type null string

// arg is v as a driver takes it: ids and keys as bytes, zero ones and zero instants as NULL, names as strings.
func (b book) arg(v any) any {
	switch t := v.(type) {
	case ports.ID:
		if t.IsZero() {
			return b.id(nil)
		}
		return b.id(t[:])
	case floor:
		return b.id(t[:])
	case ports.Key:
		if t.IsZero() {
			return []byte(nil)
		}
		return t[:]
	case time.Time:
		if t.IsZero() {
			v = nil
		}
	case null:
		if t == "" {
			v = nil
		} else {
			v = plain(string(t))
		}
	case ports.Trace:
		if v = []byte(nil); t != "" {
			v = []byte(t)
		}
	case string:
		v = plain(t)
	case ports.Owner:
		v = plain(string(t))
	case ports.Status:
		v = string(t)
	case ports.WaitKind:
		v = string(t)
	case ports.MessageKind:
		v = string(t)
	case ports.DeploymentID:
		v = string(t)
	case ports.WaitID:
		v = int64(t)
	case ports.Version:
		v = int64(t)
	}
	if b.dialect.Arg != nil {
		return b.dialect.Arg(v)
	}
	return v
}

func (b book) id(bytes []byte) any {
	switch {
	case !b.dialect.Native:
		return bytes
	case bytes == nil:
		return nil
	default:
		return [16]byte(bytes)
	}
}

// plain is text that every database takes: names of ours already are, error texts and details need not be.
func plain(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// arrays turns rows into one array a column. FlatArray[any] needs no reflection for known element types, and takes nil.
func arrays(rows []any, width int) []any {
	n := len(rows) / width
	out, cells := make([]any, width), make([]any, len(rows))
	for c := range width {
		column := cells[c*n : (c+1)*n : (c+1)*n]
		for i := range n {
			column[i] = rows[i*width+c]
		}
		out[c] = pgtype.FlatArray[any](column)
	}
	return out
}

// cells reads a row into our types, whatever the driver gives. NULL is the zero value.
type cells struct {
	row  row
	into [32]any
	cell [32]cell
}

// Scan reads one row.
func (c *cells) Scan(into ...any) error {
	for i, to := range into {
		if bytes, ok := to.(*[]byte); ok {
			c.into[i] = bytes
			continue
		}
		c.cell[i].to = to
		c.into[i] = &c.cell[i]
	}
	return c.row.Scan(c.into[:len(into)]...)
}

type cell struct{ to any }

var _ sql.Scanner = (*cell)(nil)

// Scan takes one value of a driver.
func (c *cell) Scan(v any) error {
	switch to := c.to.(type) {
	case *ports.ID:
		return scanID(to, v)
	case *ports.Key:
		*to = ports.Key{}
		if b, ok := v.([]byte); ok && len(b) == len(to) {
			copy(to[:], b)
			return nil
		}
		return unless(v == nil, "key", v)
	case *time.Time:
		return scanTime(to, v)
	case *int64:
		return scanInt(to, v)
	case *int:
		return scanInt(to, v)
	case *ports.WaitID:
		return scanInt(to, v)
	case *ports.Version:
		return scanInt(to, v)
	case *string:
		return scanText(to, v)
	case *ports.Owner:
		return scanText(to, v)
	case *ports.Status:
		return scanText(to, v)
	case *ports.WaitKind:
		return scanText(to, v)
	case *ports.MessageKind:
		return scanText(to, v)
	case *ports.DeploymentID:
		return scanText(to, v)
	case *ports.Trace:
		return scanText(to, v)
	case *ports.Phase:
		return scanText(to, v)
	}
	return fmt.Errorf("nothing is read into %T", c.to)
}

func scanID(to *ports.ID, v any) error {
	*to = ports.ID{}
	switch v := v.(type) {
	case []byte:
		if len(v) == len(to) {
			copy(to[:], v)
			return nil
		}
	case string:
		if len(v) == 36 {
			_, err := hex.Decode(to[:], []byte(v[:8]+v[9:13]+v[14:18]+v[19:23]+v[24:]))
			return err
		}
	}
	return unless(v == nil, "id", v)
}

func scanTime(to *time.Time, v any) error {
	*to = time.Time{}
	switch v := v.(type) {
	case time.Time:
		*to = v.UTC()
		return nil
	case int64:
		*to = time.UnixMicro(v).UTC()
		return nil
	}
	return unless(v == nil, "instant", v)
}

func scanInt[T ~int64 | ~int](to *T, v any) error {
	n, ok := v.(int64)
	if digits, text := v.([]byte); text { // a driver's text protocol
		parsed, err := strconv.ParseInt(string(digits), 10, 64)
		n, ok = parsed, err == nil
	}
	*to = T(n)
	return unless(ok || v == nil, "integer", v)
}

func scanText[T ~string](to *T, v any) error {
	*to = ""
	switch v := v.(type) {
	case string:
		*to = T(v)
		return nil
	case []byte:
		*to = T(v)
		return nil
	}
	return unless(v == nil, "text", v)
}

func unless(ok bool, what string, v any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%T is no %s", v, what)
}
