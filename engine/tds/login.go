package tds

import (
	"encoding/binary"
	"fmt"

	"loopbroker/engine/types"
)

// The versions of the protocol, as LOGIN7 has them ([MS-TDS] 2.2.6.4).
const (
	Version72  uint32 = 0x72090002
	Version73A uint32 = 0x730A0003
	Version73B uint32 = 0x730B0003
	Version74  uint32 = 0x74000004
	Version80  uint32 = 0x08000000
)

// The layout of LOGIN7's fixed part.
const (
	loginFixedSize    = 94
	loginOldSize      = 86 // before version 7.2
	loginOffsets      = 36
	loginClientIDSize = 6
	loginMaxSize      = 128*1024 - 1
	loginMaxName      = 128 // UTF-16 units, [MS-TDS] 2.2.6.4 cch… fields
	loginMaxFile      = 260
)

// Bits of LOGIN7's flag bytes.
const (
	flag1UseDBFatal   = 0x40 // fDatabase: a failing USE is fatal; 0x20 is fUseDB, the notice
	flag2LangFatal    = 0x01
	flag2ODBC         = 0x02
	flag2IntSecurity  = 0x80
	typeReadOnly      = 0x20
	typeOLEDB         = 0x10
	flag3Extension    = 0x10
	featureTerminator = 0xFF
)

// MaxLoginSize is the longest LOGIN7 message that the protocol allows.
const MaxLoginSize = loginMaxSize

// Login is a LOGIN7 message.
type Login struct {
	Version      uint32
	PacketSize   uint32
	ClientVer    uint32
	ClientPID    uint32
	ClientLCID   uint32
	TimeZone     int32
	HostName     string
	UserName     string
	Password     string // SECURITY: never log
	NewPassword  string // SECURITY: never log
	AppName      string
	ServerName   string
	Interface    string
	Language     string
	Database     string
	AttachDBFile string
	ClientID     [loginClientIDSize]byte
	// Integrated is set if the client wants Windows authentication.
	Integrated bool
	ODBC       bool
	ReadOnly   bool
	// DatabaseFatal and LanguageFatal tell that the login is to fail if the
	// database or language cannot be had.
	DatabaseFatal bool
	LanguageFatal bool
	// HasFeatures is set if there is a list of feature extensions, which
	// FEATUREEXTACK must answer; Features are their ids.
	HasFeatures bool
	Features    []byte
}

// ParseLogin reads a LOGIN7 message ([MS-TDS] 2.2.6.4). Of a client of version
// 7.1 or before it returns the numbers only.
func ParseLogin(b []byte) (Login, error) {
	if len(b) < loginOldSize || len(b) > loginMaxSize {
		return Login{}, fmt.Errorf("%w: LOGIN7 of %d bytes", ErrMalformed, len(b))
	}
	// The length counts itself; a client may pad what it sends.
	if n := binary.LittleEndian.Uint32(b); n < loginOldSize || n > uint32(len(b)) {
		return Login{}, fmt.Errorf("%w: LOGIN7 says %d bytes and has %d", ErrMalformed, n, len(b))
	}
	l := Login{
		Version:    binary.LittleEndian.Uint32(b[4:]),
		PacketSize: binary.LittleEndian.Uint32(b[8:]),
		ClientVer:  binary.LittleEndian.Uint32(b[12:]),
		ClientPID:  binary.LittleEndian.Uint32(b[16:]),
		TimeZone:   int32(binary.LittleEndian.Uint32(b[28:])),
		ClientLCID: binary.LittleEndian.Uint32(b[32:]),
	}
	if l.Version < Version72 && l.Version != Version80 {
		return l, nil // an older layout, which nobody needs to read
	}
	if len(b) < loginFixedSize {
		return Login{}, fmt.Errorf("%w: LOGIN7 of %d bytes", ErrMalformed, len(b))
	}
	flags1, flags2, typeFlags, flags3 := b[24], b[25], b[26], b[27]
	l.DatabaseFatal = flags1&flag1UseDBFatal != 0
	l.LanguageFatal = flags2&flag2LangFatal != 0
	l.ODBC = flags2&flag2ODBC != 0 || typeFlags&typeOLEDB != 0
	l.Integrated = flags2&flag2IntSecurity != 0
	l.ReadOnly = typeFlags&typeReadOnly != 0
	if err := l.readNames(b); err != nil {
		return Login{}, err
	}
	if flags3&flag3Extension != 0 {
		if err := l.readFeatures(b); err != nil {
			return Login{}, err
		}
	}
	return l, nil
}

// readNames reads the fields that the list of offsets and lengths points to.
func (l *Login) readNames(b []byte) error {
	fields := []struct {
		index  int // in the list of pairs; ClientID lies after pair 8
		limit  int
		secret bool
		to     *string
	}{
		{0, loginMaxName, false, &l.HostName},
		{1, loginMaxName, false, &l.UserName},
		{2, loginMaxName, true, &l.Password},
		{3, loginMaxName, false, &l.AppName},
		{4, loginMaxName, false, &l.ServerName},
		{6, loginMaxName, false, &l.Interface},
		{7, loginMaxName, false, &l.Language},
		{8, loginMaxName, false, &l.Database},
	}
	for _, f := range fields {
		v, err := loginField(b, loginOffsets+4*f.index, f.limit)
		if err != nil {
			return err
		}
		if f.secret {
			v = revealPassword(v)
		}
		*f.to = types.DecodeUTF16(v)
	}
	const afterClientID = loginOffsets + 9*4
	copy(l.ClientID[:], b[afterClientID:])
	file, err := loginField(b, afterClientID+loginClientIDSize+4, loginMaxFile)
	if err != nil {
		return err
	}
	l.AttachDBFile = types.DecodeUTF16(file)
	secret, err := loginField(b, afterClientID+loginClientIDSize+8, loginMaxName)
	if err != nil {
		return err
	}
	l.NewPassword = types.DecodeUTF16(revealPassword(secret))
	return nil
}

// loginField returns the bytes of the field whose offset and length (in UTF-16
// units) stand at b[at:].
func loginField(b []byte, at, limit int) ([]byte, error) {
	off := int(binary.LittleEndian.Uint16(b[at:]))
	n := int(binary.LittleEndian.Uint16(b[at+2:]))
	if n == 0 {
		return nil, nil
	}
	if n > limit || off < loginFixedSize-8 || off+2*n > len(b) {
		return nil, fmt.Errorf("%w: LOGIN7 field at %d+%d of %d", ErrMalformed, off, 2*n, len(b))
	}
	return b[off : off+2*n], nil
}

// revealPassword undoes what the client did to each byte of a password: swap
// the halves, then XOR 0xA5 ([MS-TDS] 2.2.6.4, Password).
func revealPassword(b []byte) []byte {
	out := make([]byte, len(b))
	for i, v := range b {
		v ^= 0xA5
		out[i] = v<<4 | v>>4
	}
	return out
}

// readFeatures reads the ids of the feature extensions. The pair ibExtension
// points to a DWORD that is the offset of the list.
func (l *Login) readFeatures(b []byte) error {
	const pair = loginOffsets + 5*4
	off := int(binary.LittleEndian.Uint16(b[pair:]))
	if n := binary.LittleEndian.Uint16(b[pair+2:]); n < 4 || off+4 > len(b) {
		return fmt.Errorf("%w: LOGIN7 extension at %d+%d of %d", ErrMalformed, off, n, len(b))
	}
	list := binary.LittleEndian.Uint32(b[off:])
	if list >= uint32(len(b)) {
		return fmt.Errorf("%w: LOGIN7 features at %d of %d", ErrMalformed, list, len(b))
	}
	l.HasFeatures = true
	c := cursor{b: b, pos: int(list)}
	for {
		id := c.u8()
		if c.err != nil {
			return c.err
		}
		if id == featureTerminator {
			return nil
		}
		c.take(int(min(c.u32(), loginMaxSize+1)))
		if c.err != nil {
			return c.err
		}
		l.Features = append(l.Features, id)
	}
}

// NegotiateVersion returns the version to use with a client that offers the
// given one, and false if it is too old.
func NegotiateVersion(offered uint32, strict bool) (uint32, bool) {
	switch {
	case strict || offered == Version80:
		return Version80, true
	case offered >= Version74:
		return Version74, true
	case offered >= Version73A:
		return offered, true
	}
	return 0, false
}
