package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// log is the redo log. Committers put their records into the queue; one writer
// goroutine takes all there are, writes and syncs them at once, makes them
// visible in their order and wakes their committers (group commit).
type log struct {
	store *Store
	fs    FS
	dir   string

	mu     sync.Mutex
	queue  []*logRequest
	closed bool
	failed error // a *logFailure once the log cannot be trusted

	kick  chan struct{}
	quit  chan struct{}
	done  chan struct{} // closed when the writer has ended
	bytes atomic.Int64  // written since the last checkpoint
	full  chan struct{} // asks for a checkpoint
	syncs atomic.Uint64

	// Of the writer goroutine alone:
	seg     *segment
	control *control
	next    uint64 // LSN of the next record
	durable uint64 // LSN up to which the log is synced
	buf     []byte
}

// logRequest is a record to commit or, without a writer, a segment to end or a
// log to sync.
type logRequest struct {
	w    *writer
	rec  []byte
	sync bool
	done chan error
}

func newLog(s *Store, seg *segment, ctl *control, next uint64) *log {
	return &log{
		store: s, fs: s.opts.FS, dir: s.opts.Dir, seg: seg, control: ctl, next: next, durable: next - 1,
		kick: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), full: make(chan struct{}, 1),
	}
}

// commit logs a record and returns when its transaction is visible, and durable
// if sync is set.
func (l *log) commit(w *writer, rec []byte, sync bool) error {
	if len(rec) > maxRecord {
		return fmt.Errorf("%w: a transaction of %d bytes", ErrLogFull, len(rec))
	}
	return l.submit(&logRequest{w: w, rec: rec, sync: sync, done: make(chan error, 1)})
}

// rotate begins a new segment. Records of older ones are visible when it
// returns.
func (l *log) rotate() error { return l.submit(&logRequest{done: make(chan error, 1)}) }

// flush syncs what has been committed.
func (l *log) flush() error { return l.submit(&logRequest{sync: true, done: make(chan error, 1)}) }

// refuse makes the log take nothing any more, for a reason that is not its own.
func (l *log) refuse(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = fmt.Errorf("%w: %w", ErrLogFailed, cause)
	return l.failed
}

func (l *log) submit(r *logRequest) error {
	l.mu.Lock()
	if l.closed || l.failed != nil {
		err := l.failed
		l.mu.Unlock()
		if err == nil {
			err = ErrClosed
		}
		return err
	}
	l.queue = append(l.queue, r)
	l.mu.Unlock()
	select {
	case l.kick <- struct{}{}:
	default:
	}
	return <-r.done
}

// grown reports whether there is anything that a checkpoint would save.
func (l *log) grown() bool { return l.bytes.Load() > 0 }

// close ends the writer after what is queued, and syncs.
func (l *log) close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	close(l.quit)
	<-l.done
	if l.failed != nil {
		_, _ = l.seg.file.Close(), l.control.close() // the failure has been reported
		return nil
	}
	l.syncLate()
	return errors.Join(l.seg.finish(), l.control.close())
}

// run is the writer goroutine.
func (l *log) run() {
	defer close(l.done)
	timer := time.NewTimer(l.store.opts.SyncInterval)
	defer timer.Stop()
	for open := true; open; {
		select {
		case <-l.kick:
		case <-l.quit:
			open = false
		case <-timer.C:
			l.syncLate()
			continue
		}
		l.mu.Lock()
		batch := l.queue
		l.queue = nil
		l.mu.Unlock()
		for len(batch) > 0 {
			batch = batch[l.serve(batch):]
		}
		if l.durable+1 < l.next {
			timer.Reset(l.store.opts.SyncInterval)
		}
	}
}

// serve answers the requests at the beginning of batch, and returns how many.
func (l *log) serve(batch []*logRequest) int {
	if batch[0].w == nil && batch[0].sync {
		l.syncLate()
		batch[0].done <- l.failed
		return 1
	}
	if batch[0].w == nil {
		batch[0].done <- l.newSegment()
		return 1
	}
	n := 1
	for n < len(batch) && batch[n].w != nil {
		n++
	}
	batch = batch[:n]
	err := l.failed
	if err == nil {
		err = l.write(batch)
	}
	if err != nil {
		for _, r := range batch {
			r.done <- err
		}
		return n
	}
	for i, r := range batch {
		l.store.publish(r.w, l.next+uint64(i))
		r.done <- nil
	}
	l.next += uint64(n)
	if l.seg.end >= l.store.opts.SegmentBytes {
		_ = l.newSegment() // without a new one the old one grows on; the next batch tries again
	}
	if l.bytes.Load() >= l.store.opts.CheckpointBytes {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
	return n
}

// write puts the records of a batch into frames and syncs if one of them needs
// it. After an error nothing of the batch is in the log.
func (l *log) write(batch []*logRequest) error {
	l.buf = l.buf[:0]
	sync := false
	lsn := l.next
	for i := 0; i < len(batch); {
		at := len(l.buf)
		l.buf = appendFrameHeader(l.buf)
		count := uint32(0)
		for i < len(batch) && (count == 0 || len(l.buf)-at+len(batch[i].rec) < maxFrame) {
			l.buf = binary.LittleEndian.AppendUint32(l.buf, uint32(len(batch[i].rec)))
			l.buf = append(l.buf, batch[i].rec...)
			sync = sync || batch[i].sync
			count++
			i++
		}
		sealFrame(l.buf[at:], count, lsn, l.durable)
		lsn += uint64(count)
	}
	if err := l.seg.write(l.buf); err != nil {
		return l.abandon(err, isFull(err))
	}
	if sync {
		l.syncs.Add(1)
		if err := l.seg.file.Sync(); err != nil {
			return l.abandon(err, false)
		}
		l.durable = lsn - 1
		l.control.claim(l.durable)
	}
	l.seg.advance(len(l.buf))
	l.bytes.Add(int64(len(l.buf)))
	if cap(l.buf) > 4*maxFrame {
		l.buf = nil
	}
	return nil
}

// abandon takes a batch back that could not be written. Only a full disk is
// survived: after a failed sync nobody knows what is on the disk.
func (l *log) abandon(cause error, survivable bool) error {
	if err := l.seg.erase(); err == nil && survivable {
		return fmt.Errorf("%w: %w", ErrLogFull, cause)
	}
	return l.fail(cause)
}

// fail marks the log as not to be trusted.
func (l *log) fail(cause error) error {
	err := fmt.Errorf("%w: %s: %w", ErrLogFailed, l.seg.name, cause)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	return err
}

// syncLate syncs what was committed without waiting for the disk.
func (l *log) syncLate() {
	if l.failed != nil || l.durable+1 >= l.next {
		return
	}
	l.syncs.Add(1)
	if err := l.seg.file.Sync(); err != nil {
		_ = l.fail(err) // later commits report it
		return
	}
	l.durable = l.next - 1
	l.control.claim(l.durable)
}

// newSegment ends the segment, if it has records, and begins the next.
func (l *log) newSegment() error {
	if l.failed != nil {
		return l.failed
	}
	if l.seg.end == segmentHeader {
		return nil
	}
	l.syncLate()
	if l.failed != nil {
		return l.failed
	}
	seg, ctl, err := nextSegment(l.fs, l.dir, l.next, l.control)
	if errors.Is(err, errHalfMade) {
		return l.fail(err)
	}
	if err != nil {
		return fmt.Errorf("storage: new log segment: %w", err)
	}
	old := l.seg
	l.seg, l.control = seg, ctl
	if err := old.finish(); err != nil {
		return fmt.Errorf("storage: end of log segment %s: %w", filepath.Join(l.dir, old.name), err)
	}
	return nil
}
