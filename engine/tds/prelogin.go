package tds

import (
	"encoding/binary"
	"fmt"
)

// The options of PRELOGIN ([MS-TDS] 2.2.6.5).
const (
	preloginVersion    = 0
	preloginEncryption = 1
	preloginInstance   = 2
	preloginThreadID   = 3
	preloginMARS       = 4
	preloginTraceID    = 5
	preloginFedAuth    = 6
	preloginNonce      = 7
	preloginTerminator = 0xFF

	preloginEntrySize = 5
	maxPreloginOption = 32 // more entries than there are options are a fault
)

// Encryption is the ENCRYPTION option of PRELOGIN.
type Encryption byte

// The values of Encryption.
const (
	EncryptOff    Encryption = 0 // available, used for the login only
	EncryptOn     Encryption = 1
	EncryptNotSup Encryption = 2
	EncryptReq    Encryption = 3

	encryptMask = 0x0F // above it are flags for client certificates
)

// Prelogin is a PRELOGIN message, the client's or the server's.
type Prelogin struct {
	Version    [6]byte // major, minor, build (big endian), sub-build
	Encryption Encryption
	// HasEncryption is false if the client sent no such option.
	HasEncryption bool
	Instance      string
	ThreadID      uint32
	MARS          bool
	// FedAuth is set if the option is there; the server answers 0 then.
	FedAuth bool
}

// ParsePrelogin reads a PRELOGIN message ([MS-TDS] 2.2.6.5).
func ParsePrelogin(b []byte) (Prelogin, error) {
	var p Prelogin
	for i := 0; ; i++ {
		at := i * preloginEntrySize
		if at >= len(b) || i > maxPreloginOption {
			return p, fmt.Errorf("%w: PRELOGIN without terminator", ErrMalformed)
		}
		if b[at] == preloginTerminator {
			return p, nil
		}
		if at+preloginEntrySize > len(b) {
			return p, ErrShort
		}
		off := int(binary.BigEndian.Uint16(b[at+1:]))
		n := int(binary.BigEndian.Uint16(b[at+3:]))
		if off+n > len(b) {
			return p, fmt.Errorf("%w: PRELOGIN option %d at %d+%d of %d", ErrMalformed, b[at], off, n, len(b))
		}
		p.set(b[at], b[off:off+n])
	}
}

// set takes one option over. Options of an unexpected length are passed over,
// as are unknown ones.
func (p *Prelogin) set(option byte, v []byte) {
	switch option {
	case preloginVersion:
		copy(p.Version[:], v)
	case preloginEncryption:
		if len(v) > 0 {
			p.Encryption, p.HasEncryption = Encryption(v[0]&encryptMask), true
		}
	case preloginInstance:
		for len(v) > 0 && v[len(v)-1] == 0 {
			v = v[:len(v)-1]
		}
		p.Instance = string(v)
	case preloginThreadID:
		if len(v) == 4 {
			p.ThreadID = binary.BigEndian.Uint32(v)
		}
	case preloginMARS:
		p.MARS = len(v) > 0 && v[0] == 1
	case preloginFedAuth:
		p.FedAuth = true
	}
}

// Append appends the server's form of p.
func (p Prelogin) Append(dst []byte) []byte {
	type option struct {
		id   byte
		data []byte
	}
	mars := byte(0)
	if p.MARS {
		mars = 1
	}
	// INSTOPT: one byte, 0 = the name matches. THREADID: empty from a server.
	options := []option{
		{preloginVersion, p.Version[:]},
		{preloginEncryption, []byte{byte(p.Encryption)}},
		{preloginInstance, []byte{0}},
		{preloginThreadID, nil},
		{preloginMARS, []byte{mars}},
	}
	if p.FedAuth {
		options = append(options, option{preloginFedAuth, []byte{0}})
	}
	off := len(options)*preloginEntrySize + 1
	for _, o := range options {
		dst = append(dst, o.id)
		dst = binary.BigEndian.AppendUint16(dst, uint16(off))
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(o.data)))
		off += len(o.data)
	}
	dst = append(dst, preloginTerminator)
	for _, o := range options {
		dst = append(dst, o.data...)
	}
	return dst
}

// Required reports whether a client that sends e insists on encryption.
func (e Encryption) Required() bool { return e == EncryptOn || e == EncryptReq }
