package storage

import (
	"reflect"
	"sync/atomic"
	"time"

	"loopbroker/engine/types"
)

// OldView is a view that is kept open while old versions pile up, as told to
// Options.OldView.
type OldView struct {
	ViewInfo
	Age      time.Duration
	Versions int64 // kept for this view and those after it
	Bytes    int64 // what they take, about
}

// keptVersions counts the superseded versions that views need.
type keptVersions struct {
	versions atomic.Int64
	bytes    atomic.Int64
}

func (k *keptVersions) add(v *version) {
	if v.kept.CompareAndSwap(false, true) {
		k.versions.Add(1)
		k.bytes.Add(v.size())
	}
}

func (k *keptVersions) remove(v *version) {
	if v.kept.CompareAndSwap(true, false) {
		k.versions.Add(-1)
		k.bytes.Add(-v.size())
	}
}

var (
	versionBytes = int64(reflect.TypeFor[version]().Size())
	valueBytes   = int64(reflect.TypeFor[types.Value]().Size())
)

// size is what v takes in memory, about: it may share text with its neighbours.
func (v *version) size() int64 {
	n := versionBytes + valueBytes*int64(len(v.row))
	for i := range v.row {
		n += int64(len(v.row[i].Raw()))
	}
	return n
}

// viewWatch looks at the oldest view from time to time.
type viewWatch struct{ next time.Time }

// look tells Options.OldView if there is something to tell.
func (w *viewWatch) look(s *Store, now time.Time) {
	o := &s.opts
	n := s.kept.versions.Load()
	if o.OldView == nil || n <= o.OldViewVersions || now.Before(w.next) {
		return
	}
	all := s.Views()
	if len(all) == 0 || now.Sub(all[0].Begun) < o.OldViewAge {
		return
	}
	w.next = now.Add(o.OldViewPeriod)
	o.OldView(OldView{ViewInfo: all[0], Age: now.Sub(all[0].Begun), Versions: n, Bytes: s.kept.bytes.Load()})
}
