package engine

import (
	"time"

	"loopbroker/engine/storage"
)

// OnFS returns options for an engine on another file system, that never syncs
// its log by the clock.
func OnFS(o Options, fs storage.FS) Options {
	o.tune = func(so *storage.Options) { so.FS, so.SyncInterval = fs, time.Hour }
	return o
}
