package tds

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
