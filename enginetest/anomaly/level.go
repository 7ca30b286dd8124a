package anomaly

import "fmt"

// Level is an isolation level as the columns of the matrix name it. READ
// COMMITTED stands twice: by locks and by row versions.
type Level string

// The levels, from the weakest on.
const (
	ReadUncommitted       Level = "READ UNCOMMITTED"
	ReadCommitted         Level = "READ COMMITTED"
	ReadCommittedSnapshot Level = "READ COMMITTED SNAPSHOT"
	RepeatableRead        Level = "REPEATABLE READ"
	Snapshot              Level = "SNAPSHOT"
	Serializable          Level = "SERIALIZABLE"
)

// Levels returns all levels in the order of the matrix's columns.
func Levels() []Level {
	return []Level{ReadUncommitted, ReadCommitted, ReadCommittedSnapshot, RepeatableRead, Snapshot, Serializable}
}

// database is what a database is told before the script's setup.
func (l Level) database() []string {
	switch l {
	case ReadCommittedSnapshot:
		return []string{"ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON"}
	case Snapshot:
		return []string{"ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON"}
	}
	return nil
}

// session is what each session is told when it begins.
func (l Level) session() string {
	name := l
	if l == ReadCommittedSnapshot {
		name = ReadCommitted
	}
	return "SET TRANSACTION ISOLATION LEVEL " + string(name)
}

func parseLevel(s string) (Level, error) {
	for _, l := range Levels() {
		if string(l) == s {
			return l, nil
		}
	}
	return "", fmt.Errorf("unknown isolation level %q", s)
}

// Verdict is whether an anomaly happens at a level and, if not, what prevents it.
type Verdict string

// The verdicts.
const (
	Happens    Verdict = "happens"
	ByBlocking Verdict = "prevented (blocks)"
	ByVersions Verdict = "prevented (versions)" // both sessions go on, with a version of the row
	ByConflict Verdict = "prevented (error 3960)"
	ByDeadlock Verdict = "prevented (deadlock 1205)"
	// Undecided is the verdict on a run that could not be brought to its end.
	Undecided Verdict = "undecided"
)

func parseVerdict(s string) (Verdict, error) {
	for _, v := range []Verdict{Happens, ByBlocking, ByVersions, ByConflict, ByDeadlock} {
		if string(v) == s {
			return v, nil
		}
	}
	return "", fmt.Errorf("unknown outcome %q", s)
}
