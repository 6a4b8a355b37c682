// Package portable holds every statement once, as most databases read it. A dialect overrides what its database says otherwise.
package portable

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// Statements is the base layer of every dialect.
func Statements() fs.FS { return files }
