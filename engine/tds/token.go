package tds

// The tokens of a reply ([MS-TDS] 2.2.4).
const (
	tokenReturnStatus  = 0x79
	tokenColMetadata   = 0x81
	tokenOrder         = 0xA9
	tokenError         = 0xAA
	tokenInfo          = 0xAB
	tokenReturnValue   = 0xAC
	tokenLoginAck      = 0xAD
	tokenFeatureExtAck = 0xAE
	tokenRow           = 0xD1
	tokenNBCRow        = 0xD2
	tokenEnvChange     = 0xE3
	tokenDone          = 0xFD
	tokenDoneProc      = 0xFE
	tokenDoneInProc    = 0xFF
)

// MaxInfoClass is the highest severity of a message that is information and
// not an error.
const MaxInfoClass = 10

// Message is the content of an ERROR or INFO token.
type Message struct {
	Number    int32
	State     uint8
	Class     uint8
	Text      string
	Server    string
	Procedure string
	Line      int32
}

// AppendMessage appends an ERROR token ([MS-TDS] 2.2.7.10), or an INFO token
// (2.2.7.13) if the class is MaxInfoClass or less. Texts are cut to what fits.
func AppendMessage(dst []byte, m Message) []byte {
	token := byte(tokenError)
	if m.Class <= MaxInfoClass {
		token = tokenInfo
	}
	dst, at := beginLength(append(dst, token))
	dst = appendU32(dst, uint32(m.Number))
	dst = append(dst, m.State, m.Class)
	dst = appendUSVarChar(dst, m.Text, maxMessageText)
	dst = appendBVarChar(dst, m.Server)
	dst = appendBVarChar(dst, m.Procedure)
	dst = appendU32(dst, uint32(m.Line))
	return endLength(dst, at)
}

// AppendReturnStatus appends RETURNSTATUS ([MS-TDS] 2.2.7.18).
func AppendReturnStatus(dst []byte, n int32) []byte {
	return appendU32(append(dst, tokenReturnStatus), uint32(n))
}

// AppendOrder appends ORDER, the ordinals (from 1) of the columns that the
// result is sorted by ([MS-TDS] 2.2.7.17).
func AppendOrder(dst []byte, columns []uint16) []byte {
	dst, at := beginLength(append(dst, tokenOrder))
	for _, c := range columns {
		dst = appendU16(dst, c)
	}
	return endLength(dst, at)
}
