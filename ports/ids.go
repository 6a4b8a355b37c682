package ports

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// ID is a UUID (RFC 9562), version 7 where the engine makes it. The zero ID is none.
type ID [16]byte

// The ids of the engine, all UUIDs.
type (
	InstanceID = ID
	StepID     = ID
	EmissionID = ID
	TaskID     = ID
)

// WaitID names a wait inside its instance; it is never used twice there.
type WaitID int64

// DeploymentID is the lower-case hex SHA-256 of a revision's manifest.
type DeploymentID string

// IDs makes new ids. Implementations give UUIDv7 in rising order within one process.
type IDs interface{ New() ID }

// String is the 36 character form.
func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[:], id[:4])
	hex.Encode(b[9:], id[4:6])
	hex.Encode(b[14:], id[6:8])
	hex.Encode(b[19:], id[8:10])
	hex.Encode(b[24:], id[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// IsZero says that id is none.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText writes the 36 character form.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the 36 character form.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	*id = parsed
	return err
}

// ParseID reads the 36 character form and refuses every other.
func ParseID(text string) (ID, error) {
	var id ID
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return ID{}, fmt.Errorf("%q is no id: want 8-4-4-4-12 hexadecimal digits", text)
	}
	if _, err := hex.Decode(id[:], []byte(text[:8]+text[9:13]+text[14:18]+text[19:23]+text[24:])); err != nil {
		return ID{}, fmt.Errorf("%q is no id: %w", text, err)
	}
	return id, nil
}

// FirstID is the least UUIDv7 of an instant's millisecond: no id made before it is greater, none made after it is less.
func FirstID(at time.Time) (id ID) {
	binary.BigEndian.PutUint64(id[:], uint64(max(0, at.UnixMilli()))<<16|0x7000)
	return id
}

// Derive gives the n-th id made by the step id: same step and ordinal, same id, in the shape of a UUIDv7 of the step's time.
func (id ID) Derive(n int) ID {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("sutra/derive/"), id[:]...), uint64(n)))
	derived := ID(sum[:16])
	copy(derived[:6], id[:6])
	derived[6] = derived[6]&0x0f | 0x70
	derived[8] = derived[8]&0x3f | 0x80
	return derived
}

// Key stands for a foreign string: the SHA-256 of its parts, so that no collation, case, blank or length can make two of them one.
// The zero Key is none.
type Key [sha256.Size]byte

// NewKey hashes parts, each with its length before it.
func NewKey(parts ...string) Key {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return Key(h.Sum(nil))
}

// IsZero says that k is none.
func (k Key) IsZero() bool { return k == Key{} }

// String is the lower-case hex form.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Clock is the database's time as this process knows it: UTC, cut to microseconds, never running back. No correctness rests on it.
type Clock interface{ Now() time.Time }
