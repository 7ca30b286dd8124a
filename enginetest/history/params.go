package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Level is how a transaction reads.
type Level string

// The levels, as SET TRANSACTION ISOLATION LEVEL names them.
const (
	ReadUncommitted Level = "READ UNCOMMITTED"
	ReadCommitted   Level = "READ COMMITTED"
	RepeatableRead  Level = "REPEATABLE READ"
	Serializable    Level = "SERIALIZABLE"
	Snapshot        Level = "SNAPSHOT"
)

var allLevels = []Level{ReadUncommitted, ReadCommitted, RepeatableRead, Serializable, Snapshot}

// Params are what a history is made from. ParamsOf makes them from a seed.
type Params struct {
	Seed         uint64
	Parallel     bool // sessions run freely
	Sessions     int
	Transactions int     // of each session
	Levels       []Level // one is drawn for each transaction
	RCSI         bool    // READ_COMMITTED_SNAPSHOT
	Heap         bool    // the items have no clustered index
	Items        int     // keys of items
	Accounts     int
	Jobs         int  // at the beginning
	Hints        bool // statements have hints
}

// ParamsOf returns the parameters that a seed stands for.
func ParamsOf(seed uint64) Params {
	r := rand.New(rand.NewPCG(seed, 0x9a7a))
	p := Params{
		Seed: seed, Parallel: r.IntN(4) == 0, Sessions: 8, Transactions: 6 + r.IntN(8),
		RCSI: r.IntN(2) == 0, Heap: r.IntN(4) == 0,
		Items: 6 + r.IntN(14), Accounts: 3 + r.IntN(5), Jobs: 4 + r.IntN(12),
		Hints: r.IntN(4) > 0,
	}
	switch r.IntN(8) {
	case 0, 1:
		p.Levels, p.Hints = []Level{Serializable}, false
	case 2:
		p.Levels = []Level{Snapshot}
	case 3:
		p.Levels = []Level{ReadCommitted}
	case 4:
		p.Levels = []Level{RepeatableRead}
	default:
		p.Levels = allLevels
	}
	return p
}

// String describes the history in a line.
func (p Params) String() string {
	levels := make([]string, len(p.Levels))
	for i, l := range p.Levels {
		levels[i] = string(l)
	}
	how := "stepped"
	if p.Parallel {
		how = "parallel"
	}
	return fmt.Sprintf("%s, %d sessions, %d transactions each, READ_COMMITTED_SNAPSHOT %s, hints %s, heap %s, %d items, %d accounts, levels %s",
		how, p.Sessions, p.Transactions, onOff(p.RCSI), onOff(p.Hints), onOff(p.Heap), p.Items, p.Accounts, strings.Join(levels, ", "))
}

func onOff(b bool) string {
	if b {
		return "ON"
	}
	return "OFF"
}
