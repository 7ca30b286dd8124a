package tsql

import (
	"fmt"
	"strings"

	"loopbroker"
)

// schemaToken is what the files write where the schema's quoted name belongs.
const schemaToken = "[dbo]"

// maxIdentifier is the length of a sysname.
const maxIdentifier = 128

// Schema is a validated schema name. Its zero value is not one; use NewSchema.
type Schema struct{ name string }

// NewSchema returns the schema of that name, or an error that wraps
// loopbroker.ErrInvalid unless the name is made of ASCII letters, digits and
// underscores, does not start with a digit and has at most 128 characters. An
// empty name is DefaultSchema.
func NewSchema(name string) (Schema, error) {
	if name == "" {
		name = DefaultSchema
	}
	if !validIdentifier(name) {
		return Schema{}, fmt.Errorf("%w: schema %q: need letters, digits and underscores, not starting with a digit, at most %d characters",
			loopbroker.ErrInvalid, name, maxIdentifier)
	}
	return Schema{name: name}, nil
}

// validIdentifier reports whether name is a plain identifier.
func validIdentifier(name string) bool {
	if name == "" || len(name) > maxIdentifier {
		return false
	}
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}

// Name returns the schema's name without quotes.
func (s Schema) Name() string { return s.name }

// String returns the schema's quoted name.
func (s Schema) String() string { return "[" + s.name + "]" }

// Render returns a text of this package with the schema in the token's place.
func (s Schema) Render(text string) string {
	return strings.ReplaceAll(text, schemaToken, s.String())
}

// Object returns the quoted two-part name of an object in the schema, which is
// also how a Go program calls a procedure by name. The name must be one of this
// package's.
func (s Schema) Object(name string) string { return s.String() + ".[" + name + "]" }
