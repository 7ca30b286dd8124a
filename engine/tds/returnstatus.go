package tds

// AppendReturnStatus appends RETURNSTATUS ([MS-TDS] 2.2.7.18).
func AppendReturnStatus(dst []byte, n int32) []byte {
	return appendU32(append(dst, tokenReturnStatus), uint32(n))
}
