package step

import (
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
)

// EncodeCallReply is the payload of a call-reply delivery: EventOf reads it back as Attempt, Status, Headers and Payload.
func EncodeCallReply(attempt, status int, headers []ports.Header, value feel.Value) ([]byte, error) {
	return nil, errUnwritten
}

// EncodeCallFailed is the payload of a call-failed delivery: EventOf reads it back as Attempt, Code and Message.
func EncodeCallFailed(attempt int, code, message string) []byte { return nil }
