package engine

import (
	"github.com/rs/zerolog"

	"loopbroker/engine/storage"
)

// oldViewWarning returns what logs that an old snapshot makes memory grow.
func oldViewWarning(l zerolog.Logger) func(storage.OldView) {
	return func(v storage.OldView) {
		what, help := "a statement", "cancel the statement or end the session"
		switch {
		case v.Snapshot:
			what, help = "a SNAPSHOT transaction", "commit it, roll it back or end the session"
		case v.Session == 0:
			what, help = "a checkpoint or a backup", "wait until it is done"
		}
		l.Warn().Int32("session", v.Session).Uint64("transaction", v.Tx).Dur("age_ms", v.Age).
			Int64("versions", v.Versions).Int64("bytes", v.Bytes).
			Msgf("old row versions are kept for %s; memory grows until it ends: %s", what, help)
	}
}
