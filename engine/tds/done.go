package tds

// DoneKind selects one of the three DONE tokens.
type DoneKind byte

// The DONE tokens ([MS-TDS] 2.2.7.6 to 2.2.7.8).
const (
	DoneBatch  DoneKind = tokenDone       // the end of a statement of a batch
	DoneProc   DoneKind = tokenDoneProc   // the end of a procedure
	DoneInProc DoneKind = tokenDoneInProc // the end of a statement in a procedure
)

// DoneStatus holds the status bits of a DONE token.
type DoneStatus uint16

// The status bits.
const (
	DoneMore     DoneStatus = 0x0001
	DoneError    DoneStatus = 0x0002
	DoneInXact   DoneStatus = 0x0004
	DoneCount    DoneStatus = 0x0010
	DoneAttn     DoneStatus = 0x0020
	DoneSrvError DoneStatus = 0x0100
)

// The kinds of statement that clients know (CurCmd). [MS-TDS] leaves the
// numbers out; these are what SQL Server sends.
const (
	CommandSelect      uint16 = 0xC1
	CommandInsert      uint16 = 0xC3
	CommandDelete      uint16 = 0xC4
	CommandUpdate      uint16 = 0xC5
	CommandMerge       uint16 = 0x117
	CommandExecute     uint16 = 0xE0
	CommandBulkInsert  uint16 = 0xF0
	CommandBeginTran   uint16 = 0xD4
	CommandCommitTran  uint16 = 0xD5
	CommandSet         uint16 = 0xF9
	CommandUse         uint16 = 0xE2
	CommandPrint       uint16 = 0xF7
	CommandOpenCursor  uint16 = 0x20
	CommandFetchCursor uint16 = 0x21
)

// AppendDone appends a DONE token. Rows counts only with DoneCount.
func AppendDone(dst []byte, kind DoneKind, status DoneStatus, command uint16, rows int64) []byte {
	dst = append(dst, byte(kind))
	dst = appendU16(dst, uint16(status))
	dst = appendU16(dst, command)
	return appendU64(dst, uint64(rows))
}
