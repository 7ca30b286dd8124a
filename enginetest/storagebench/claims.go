package storagebench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// flatness is the factor by which claims may differ between situations of the
// queue.
const flatness = 1.3

// situation is a state of the queue in which rows are claimed. In each of them
// every session does the same over and over, each step in a transaction of its
// own: one row arrives, one row is claimed, the claimed row is removed. So the
// queue stays as long as it is.
type situation struct {
	name    string
	backlog int
	// leased rows have been claimed with a lease: their available_at has moved.
	leased int
	// locked rows at the head are claimed by transactions that stay open.
	locked int
}

// situations begin with the one that the others are compared with.
func (b *bench) situations() []situation {
	all := []situation{{name: "rows arrive as they are claimed"}}
	for _, n := range b.backlog {
		all = append(all, situation{name: fmt.Sprintf("backlog of %d", n), backlog: n})
	}
	return append(all,
		situation{name: fmt.Sprintf("%d leased, available_at moved", b.leased), leased: b.leased},
		situation{name: fmt.Sprintf("%d leased by open transactions", b.leased), locked: b.leased},
	)
}

// claimQueue is one queue table in one situation.
type claimQueue interface {
	// claimer returns what claims rows until a deadline, with so many sessions,
	// and what gives the sessions back.
	claimer(ctx context.Context, sessions int) (do func(ctx context.Context, worker int, deadline time.Time) (int, error), done func() error, err error)
}

// claimLevel is a way to claim: through the store, or in T-SQL.
type claimLevel interface {
	// queue makes a queue table in a situation.
	queue(ctx context.Context, number int, s situation) (claimQueue, error)
	close(ctx context.Context) error
}

// claims measures how fast rows are claimed, whatever the length of the queue.
// Nothing is written to disk: that would hide what is compared.
func (b *bench) claims(ctx context.Context) error {
	for _, level := range []struct {
		name string
		open func(context.Context) (claimLevel, error)
	}{
		{"store", openStoreClaims},
		{"T-SQL", openSQLClaims},
	} {
		if err := b.claimsAt(ctx, level.name, level.open); err != nil {
			return fmt.Errorf("%s: %w", level.name, err)
		}
	}
	return nil
}

func (b *bench) claimsAt(ctx context.Context, name string, open func(context.Context) (claimLevel, error)) (err error) {
	l, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	all := b.situations()
	queues := make([]claimQueue, len(all))
	for i, s := range all {
		if queues[i], err = l.queue(ctx, i, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, sessions := range []int{1, 4, 16} {
		if err := b.claimsWith(ctx, name, all, queues, sessions); err != nil {
			return err
		}
	}
	return nil
}

// claimsWith measures all situations with so many sessions.
func (b *bench) claimsWith(ctx context.Context, level string, all []situation, queues []claimQueue, sessions int) (err error) {
	contenders := make([]*contender, len(all))
	for i, q := range queues {
		do, done, cerr := q.claimer(ctx, sessions)
		if cerr != nil {
			return cerr
		}
		defer func() { err = errors.Join(err, done()) }()
		contenders[i] = &contender{name: all[i].name, sessions: sessions, do: do}
	}
	if err := b.inTurns(ctx, contenders); err != nil {
		return err
	}
	for i, c := range contenders {
		f := Figure{Name: fmt.Sprintf("%s, %d sessions: %s", level, sessions, c.name), Value: median(c.rounds), Unit: "claims/s"}
		if i > 0 {
			f.Ratio, f.Beside = median(ratios(c.rounds, contenders[0].rounds)), "rows arrive"
			f.Target, f.Reached = fmt.Sprintf("ratio at least 1/%.1f", flatness), f.Ratio >= 1/flatness
		}
		if err := b.figure(f); err != nil {
			return err
		}
	}
	return nil
}
