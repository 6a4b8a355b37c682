package step

import (
	"errors"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
)

var errUnwritten = errors.New("core/step is not written yet")

func begin(*Program, Begin) Result                             { return Result{Err: errUnwritten} }
func resume(*Program, Claimed, []Event) Result                 { return Result{Err: errUnwritten} }
func restore(*Program, Claimed, KeptEvent) Result              { return Result{Err: errUnwritten} }
func eventOf(ports.Message) (Event, error)                     { return Event{}, errUnwritten }
func encodePayload([]ports.Header, feel.Value) ([]byte, error) { return nil, errUnwritten }
func decodeReply([]byte) (ports.Response, error)               { return ports.Response{}, errUnwritten }
func encodeReply(ports.Response) ([]byte, error)               { return nil, errUnwritten }

// ParseTemplate compiles a template body.
func ParseTemplate(path string, body []byte) (*Template, error) { return nil, errUnwritten }
