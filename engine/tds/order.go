package tds

// AppendOrder appends ORDER, the ordinals (from 1) of the columns that the
// result is sorted by ([MS-TDS] 2.2.7.17).
func AppendOrder(dst []byte, columns []uint16) []byte {
	dst, at := beginLength(append(dst, tokenOrder))
	for _, c := range columns {
		dst = appendU16(dst, c)
	}
	return endLength(dst, at)
}
