package tds

import "encoding/binary"

// AppendLoginAck appends LOGINACK ([MS-TDS] 2.2.7.14). The version is that of
// the conversation; program names the server and version is its product version.
func AppendLoginAck(dst []byte, tdsVersion uint32, program string, version [4]byte) []byte {
	const interfaceTSQL = 1
	dst, at := beginLength(append(dst, tokenLoginAck))
	dst = append(dst, interfaceTSQL)
	dst = binary.BigEndian.AppendUint32(dst, tdsVersion)
	dst = appendBVarChar(dst, program)
	dst = append(dst, version[:]...)
	return endLength(dst, at)
}

// AppendFeatureExtAck appends a FEATUREEXTACK that acknowledges no feature
// ([MS-TDS] 2.2.7.11). It must be sent if the client has sent a list of features.
func AppendFeatureExtAck(dst []byte) []byte {
	return append(dst, tokenFeatureExtAck, featureTerminator)
}

// AppendOldRefusal appends the refusal of a client of version 7.1 or before: an
// ERROR token whose line has two bytes, and a DONE whose count has four.
func AppendOldRefusal(dst []byte, m Message) []byte {
	dst, at := beginLength(append(dst, tokenError))
	dst = appendU32(dst, uint32(m.Number))
	dst = append(dst, m.State, m.Class)
	dst = appendUSVarChar(dst, m.Text, maxMessageText)
	dst = appendBVarChar(dst, m.Server)
	dst = appendBVarChar(dst, m.Procedure)
	dst = endLength(appendU16(dst, uint16(m.Line)), at)
	dst = appendU16(append(dst, tokenDone), uint16(DoneError))
	return appendU32(appendU16(dst, 0), 0)
}
