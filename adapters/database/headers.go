package database

import (
	"encoding/binary"
	"fmt"

	"github.com/sutra-engine/sutra/ports"
)

// packHeaders keeps headers in order and byte for byte: each name and value with its length before it.
func packHeaders(all []ports.Header) []byte {
	out := []byte{}
	for _, h := range all {
		for _, s := range []string{h.Name, h.Value} {
			out = binary.AppendUvarint(out, uint64(len(s)))
			out = append(out, s...)
		}
	}
	return out
}

func unpackHeaders(packed []byte) (out []ports.Header, err error) {
	next := func() string {
		n, width := binary.Uvarint(packed)
		if width <= 0 || n > uint64(len(packed)-width) {
			err, packed = fmt.Errorf("headers are cut off"), nil
			return ""
		}
		s := string(packed[width : width+int(n)])
		packed = packed[width+int(n):]
		return s
	}
	for len(packed) > 0 && err == nil {
		out = append(out, ports.Header{Name: next(), Value: next()})
	}
	return out, err
}
