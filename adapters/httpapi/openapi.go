package httpapi

import (
	_ "embed"
	"net/http"

	"github.com/uptrace/bunrouter"
)

// openAPI describes the whole surface; a test holds it against the routes.
//
//go:embed openapi.yaml
var openAPI []byte

func (s *Server) openapi(w http.ResponseWriter, _ bunrouter.Request, _ Principal) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, err := w.Write(openAPI)
	return err
}
