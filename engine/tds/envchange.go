package tds

import (
	"strconv"

	"loopbroker/engine/types"
)

// The types of ENVCHANGE ([MS-TDS] 2.2.7.9).
const (
	envDatabase   = 1
	envLanguage   = 2
	envPacketSize = 4
	envCollation  = 7
	envBeginTran  = 8
	envCommitTran = 9
	envRollback   = 10
	envResetAck   = 18
)

// AppendEnvDatabase tells the client that the current database has changed.
func AppendEnvDatabase(dst []byte, now, before string) []byte {
	return appendEnvText(dst, envDatabase, now, before)
}

// AppendEnvLanguage tells the client that the language has changed.
func AppendEnvLanguage(dst []byte, now, before string) []byte {
	return appendEnvText(dst, envLanguage, now, before)
}

// AppendEnvPacketSize tells the client the packet size from the next message on.
func AppendEnvPacketSize(dst []byte, now, before int) []byte {
	return appendEnvText(dst, envPacketSize, strconv.Itoa(now), strconv.Itoa(before))
}

func appendEnvText(dst []byte, typ byte, now, before string) []byte {
	dst, at := beginLength(append(dst, tokenEnvChange))
	dst = appendBVarChar(append(dst, typ), now)
	dst = appendBVarChar(dst, before)
	return endLength(dst, at)
}

// AppendEnvCollation tells the client the collation of the database.
func AppendEnvCollation(dst []byte, now *types.Collation) []byte {
	dst, at := beginLength(append(dst, tokenEnvChange))
	dst = append(dst, envCollation, collationSize)
	dst = appendCollation(dst, now)
	return endLength(append(dst, 0), at)
}

// AppendEnvBegin tells the client the descriptor of the transaction that has begun.
func AppendEnvBegin(dst []byte, transaction uint64) []byte {
	dst, at := beginLength(append(dst, tokenEnvChange))
	dst = appendU64(append(dst, envBeginTran, 8), transaction)
	return endLength(append(dst, 0), at)
}

// AppendEnvCommit tells the client that the transaction is committed.
func AppendEnvCommit(dst []byte, transaction uint64) []byte {
	return appendEnvEnd(dst, envCommitTran, transaction)
}

// AppendEnvRollback tells the client that the transaction is rolled back.
func AppendEnvRollback(dst []byte, transaction uint64) []byte {
	return appendEnvEnd(dst, envRollback, transaction)
}

// appendEnvEnd has no new value; the old one is the descriptor.
func appendEnvEnd(dst []byte, typ byte, transaction uint64) []byte {
	dst, at := beginLength(append(dst, tokenEnvChange))
	dst = appendU64(append(dst, typ, 0, 8), transaction)
	return endLength(dst, at)
}

// AppendEnvReset acknowledges the reset of the connection.
func AppendEnvReset(dst []byte) []byte {
	dst, at := beginLength(append(dst, tokenEnvChange))
	return endLength(append(dst, envResetAck, 0, 0), at)
}
