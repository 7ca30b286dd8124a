package storage

// plantedFault is a way in which the locks and views go wrong on request, so
// that the checkers of histories can be seen to notice. See planted.
type plantedFault string

const (
	plantSkipRowS           plantedFault = "skip-row-s"            // S locks on rows are not taken
	plantSkipRowU           plantedFault = "skip-u"                // U locks on rows are not taken
	plantSkipRowX           plantedFault = "skip-row-x"            // X locks on rows are not taken
	plantSkipGap            plantedFault = "skip-gap"              // ranges are not locked
	plantSkipInsertIntent   plantedFault = "skip-insert-intention" // an insertion does not look for locked ranges
	plantEarlyRelease       plantedFault = "early-release"         // a reader does not keep its row locks
	plantStaleView          plantedFault = "stale-view"            // a view misses the newest commit
	plantSkipFirstCommitter plantedFault = "skip-first-committer"  // a SNAPSHOT transaction changes rows that others changed
)

// plantedRow returns the mode in which a row is really locked.
func plantedRow(mode LockMode) LockMode {
	if mode == S && planted(plantSkipRowS) || mode == U && planted(plantSkipRowU) || mode == X && planted(plantSkipRowX) {
		return None
	}
	return mode
}
