package storagebench

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// bareChunk is how many zeros the bare log puts down ahead of its records.
const bareChunk = 4 << 20

// bareLog is what the disk gives: a log file with group commit and nothing else.
// Committers append to a buffer; one goroutine writes what there is into space
// made ready before, syncs it, and wakes all that are in it.
type bareLog struct {
	file *os.File

	mu    sync.Mutex // guards batch
	batch *bareBatch

	kick chan struct{}
	done chan struct{}

	// Of the writer alone:
	at, space int64
	spare     []byte
}

// bareBatch is what one write takes.
type bareBatch struct {
	buf  []byte
	done chan struct{} // closed when it is on disk
	err  error
}

func newBareBatch(buf []byte) *bareBatch {
	return &bareBatch{buf: buf[:0], done: make(chan struct{})}
}

func openBareLog(dir string) (*bareLog, error) {
	f, err := os.Create(filepath.Join(dir, "bare.log"))
	if err != nil {
		return nil, err
	}
	l := &bareLog{file: f, batch: newBareBatch(nil), kick: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l, nil
}

// commit returns when the record is on disk.
func (l *bareLog) commit(rec []byte) error {
	l.mu.Lock()
	b := l.batch
	b.buf = append(b.buf, rec...)
	l.mu.Unlock()
	select {
	case l.kick <- struct{}{}:
	default:
	}
	<-b.done
	return b.err
}

// close ends the log. Nobody may commit any more.
func (l *bareLog) close() error {
	close(l.kick)
	<-l.done
	return l.file.Close()
}

func (l *bareLog) run() {
	defer close(l.done)
	for range l.kick {
		l.mu.Lock()
		b := l.batch
		l.batch = newBareBatch(l.spare)
		l.mu.Unlock()
		if len(b.buf) > 0 {
			b.err = l.write(b.buf)
		}
		l.spare = b.buf
		close(b.done)
	}
}

// write puts a batch on disk.
func (l *bareLog) write(buf []byte) error {
	end := l.at + int64(len(buf))
	if end > l.space {
		zeros := make([]byte, end-l.space+bareChunk)
		if _, err := l.file.WriteAt(zeros, l.space); err != nil {
			return err
		}
		l.space += int64(len(zeros))
	}
	_, err := l.file.WriteAt(buf, l.at)
	l.at = end
	return errors.Join(err, syncFile(l.file))
}
