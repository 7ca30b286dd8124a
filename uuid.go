package loopbroker

import (
	"encoding/hex"
	"fmt"
)

// UUID is a 128-bit identifier in the byte order of its text form.
type UUID [16]byte

// ParseUUID reads the form with four hyphens, in either case.
func ParseUUID(text string) (UUID, error) {
	var u UUID
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return UUID{}, fmt.Errorf("%w: UUID %q", ErrInvalid, text)
	}
	digits := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return UUID{}, fmt.Errorf("%w: UUID %q", ErrInvalid, text)
	}
	return u, nil
}

// IsZero reports whether u is the nil UUID.
func (u UUID) IsZero() bool { return u == UUID{} }

// String returns the lower-case form with four hyphens.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
