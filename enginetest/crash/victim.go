package crash

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"

	"loopbroker/engine"
)

// CheckpointBytes is how little log the victim writes between two checkpoints.
const CheckpointBytes = 128 << 10

// Life is what a victim is told.
type Life struct {
	Dir  string
	Seed uint64 // of this life
}

// Victim opens the engine on a directory, tells all that is there, and then loads
// it until it is killed. What it writes is for Run.
func Victim(ctx context.Context, l Life, out io.Writer) error {
	p := &pipe{w: out}
	err := l.live(ctx, p)
	if err != nil && ctx.Err() == nil {
		return errors.Join(err, p.send(message{Kind: kindFailed, Text: err.Error()}))
	}
	return err
}

func (l Life) live(ctx context.Context, p *pipe) error {
	srv, err := engine.Open(ctx, engine.Options{Dir: filepath.Join(l.Dir, dataDir), CheckpointBytes: CheckpointBytes})
	if err != nil {
		return err
	}
	replayed := srv.Replayed()
	if err := p.send(message{Kind: kindOpened, Bytes: replayed.Bytes, Count: replayed.Records}); err != nil {
		return err
	}
	db := sql.OpenDB(srv.Connector())
	states, err := l.dump(ctx, db, p)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make([]error, sessions)
	for n := range sessions {
		all.Go(func() {
			s := &session{
				id: n, db: db, out: p, rnd: rand.New(rand.NewPCG(l.Seed, uint64(n))),
				state: states[n], nextID: int64(l.Seed&0xffffffff)<<20 | int64(n)<<16,
			}
			errs[n] = s.work(ctx)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// dump tells the judge all rows that are there, after the tables have been made
// if there are none.
func (l Life) dump(ctx context.Context, db *sql.DB, p *pipe) (map[int]state, error) {
	if _, err := db.ExecContext(ctx, "ALTER DATABASE CURRENT SET DELAYED_DURABILITY = ALLOWED"); err != nil {
		return nil, err
	}
	var there bool
	if err := db.QueryRowContext(ctx, "SELECT CONVERT(bit, COUNT(*)) FROM sys.tables WHERE name = N'progress'").Scan(&there); err != nil {
		return nil, err
	}
	if !there {
		if err := p.send(message{Kind: kindBegin, Text: setUp}); err != nil {
			return nil, err
		}
		if err := prepare(ctx, db); err != nil {
			return nil, fmt.Errorf("make the tables: %w", err)
		}
		if err := p.send(message{Kind: kindAck, Text: setUp}); err != nil {
			return nil, err
		}
	}
	states, err := read(ctx, db)
	if err != nil {
		return nil, err
	}
	for s, rows := range states {
		m := message{Kind: kindRow, Session: s}
		for at, row := range rows {
			m.Changes = append(m.Changes, entry{Table: at.table, Key: at.key, Row: row})
		}
		if err := p.send(m); err != nil {
			return nil, err
		}
	}
	faults, err := checkIndexes(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, f := range faults {
		if err := p.send(message{Kind: kindFault, Text: f}); err != nil {
			return nil, err
		}
	}
	return states, p.send(message{Kind: kindDumped})
}

// setUp is the text of the messages about making the tables.
const setUp = "set up"
