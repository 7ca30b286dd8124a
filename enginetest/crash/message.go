package crash

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
)

// The kinds of messages, from the victim to the judge.
const (
	kindOpened = "opened" // the engine has recovered
	kindRow    = "row"    // a row that is there
	kindDumped = "dumped" // all rows have been named; the load begins
	kindBegin  = "begin"  // a commit is about to be asked for
	kindAck    = "ack"    // it has been acknowledged
	kindUndone = "undone" // a transaction was rolled back
	kindFault  = "fault"  // the victim itself has found something wrong
	kindFailed = "failed" // the victim cannot go on
)

// message is a line of the pipe.
type message struct {
	Kind    string  `json:"k"`
	Session int     `json:"s,omitempty"`
	Number  int64   `json:"n,omitempty"` // of the transaction within its session; 0 for a checkpoint
	Delayed bool    `json:"d,omitempty"` // with delayed durability
	Changes []entry `json:"c,omitempty"`
	// Given are the identity and sequence numbers that the transaction was given.
	Given []string `json:"g,omitempty"`
	Text  string   `json:"t,omitempty"`
	Bytes int64    `json:"b,omitempty"` // opened: log that was replayed
	Count int64    `json:"r,omitempty"` // opened: transactions in it
}

// entry is a row with its place, or what a transaction makes of it.
type entry struct {
	Table string `json:"t"`
	Key   string `json:"k"`
	Row   string `json:"r,omitempty"`
	Gone  bool   `json:"g,omitempty"`
}

// pipe writes messages, each with one write, so that a kill cuts at most the last
// one. It is safe for concurrent use.
type pipe struct {
	mu sync.Mutex
	w  io.Writer
}

func (p *pipe) send(m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.w.Write(append(b, '\n'))
	return err
}

// receive gives each message to take until the pipe ends. A last line that was
// cut is no message: what it would have told has not happened.
func receive(r io.Reader, take func(message) error) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if err := take(m); err != nil {
			return err
		}
	}
}
