package engine

import "loopbroker/engine/storage"

// OnFS returns options for an engine on another file system.
func OnFS(o Options, fs storage.FS) Options {
	o.fs = fs
	return o
}
