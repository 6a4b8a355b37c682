package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/sutra-engine/sutra/ports/fault"
)

// patience is how long a caller may take to send a request: who stops in the middle of one holds a connection no longer.
const patience = 2 * time.Minute

// all reads the body of a request, at most so many bytes.
func all(w http.ResponseWriter, req *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, most))
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // answering may take longer
	case !large:
		err = fault.BodyUndecodable.With("the body did not arrive whole: %w", err)
	}
	return body, err
}
