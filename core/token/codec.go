package token

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Format is the snapshot format this release writes. It reads this one and the next, so that fleets roll both ways.
const Format = 1

// header stands before the CBOR: S, T, the format, and flags; a flag is reserved for compression.
const headerSize = 4

// modes are the two modes of the CBOR library: deterministic (RFC 8949, 4.2) out, nothing doubtful in.
var modes = sync.OnceValues(func() (cbor.UserBufferEncMode, cbor.DecMode) {
	out := cbor.CoreDetEncOptions()
	out.BigIntConvert = cbor.BigIntConvertShortest
	enc, err := out.UserBufferEncMode()
	if err != nil {
		panic(err) // constant options
	}
	dec, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, MaxNestedLevels: 512, MaxArrayElements: 1 << 20,
		MaxMapPairs: 1 << 20, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, UTF8: cbor.UTF8RejectInvalid,
		DefaultMapType: reflect.TypeFor[map[string]any](), BigIntDec: cbor.BigIntDecodeValue,
	}.DecMode()
	if err != nil {
		panic(err) // constant options
	}
	return enc, dec
})

// Encode writes a snapshot. The same snapshot has the same bytes.
func Encode(s *Snapshot) ([]byte, error) {
	w, err := wireOf(s)
	if err != nil {
		return nil, fault.ValueNotStorable.With("%w", err)
	}
	enc, _ := modes()
	var b bytes.Buffer
	b.Write([]byte{'S', 'T', Format, 0})
	if err := enc.MarshalToBuffer(w, &b); err != nil {
		return nil, fault.ValueNotStorable.With("%w", err)
	}
	return b.Bytes(), nil
}

// Decode reads a snapshot, and refuses bytes that Encode would not have written for it.
func Decode(data []byte) (*Snapshot, error) {
	if len(data) < headerSize || data[0] != 'S' || data[1] != 'T' {
		return nil, fault.SnapshotInvalid.With("these bytes are no snapshot")
	}
	if f := data[2]; f != Format && f != Format+1 {
		return nil, fault.SnapshotFormatUnknown.With("the snapshot has format %d; this release reads %d and %d", f, Format, Format+1)
	}
	if data[3] != 0 {
		return nil, fault.SnapshotFormatUnknown.With("the snapshot has flags %#x, which this release does not read", data[3])
	}
	var w wire
	if err := Unmarshal(data[headerSize:], &w); errors.Is(err, fault.SnapshotFormatUnknown) {
		return nil, err
	} else if err != nil {
		return nil, fault.SnapshotInvalid.With("%w", err)
	}
	s, err := w.snapshot()
	if err != nil {
		return nil, fault.SnapshotInvalid.With("%w", err)
	}
	again, err := Encode(s)
	if err != nil || !bytes.Equal(again[headerSize:], data[headerSize:]) {
		return nil, fault.SnapshotInvalid.With("the snapshot is not canonical")
	}
	return s, nil
}

// Marshal writes a record deterministically.
func Marshal(v any) ([]byte, error) {
	enc, _ := modes()
	return enc.Marshal(v)
}

// Unmarshal reads a record; what follows it, or is doubled, or unknown, is refused.
func Unmarshal(data []byte, into any) error {
	_, dec := modes()
	err := dec.Unmarshal(data, into)
	if _, newer := errors.AsType[*cbor.UnknownFieldError](err); newer {
		return fault.SnapshotFormatUnknown.With("a newer release wrote it, which has to read it: %w", err)
	}
	return err
}

// Stored is a value as a field of a record: it marshals as its box.
type Stored struct{ Value feel.Value }

// MarshalCBOR writes the value.
func (s Stored) MarshalCBOR() ([]byte, error) {
	b, err := box(s.Value)
	if err != nil {
		return nil, err
	}
	return Marshal(b)
}

// UnmarshalCBOR reads the value.
func (s *Stored) UnmarshalCBOR(data []byte) error {
	var b any
	if err := Unmarshal(data, &b); err != nil {
		return err
	}
	v, err := unbox(b)
	if err != nil {
		return fmt.Errorf("stored value: %w", err)
	}
	s.Value = v
	return nil
}
