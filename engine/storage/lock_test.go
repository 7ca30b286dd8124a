package storage_test

import (
	"testing"

	"loopbroker/engine/storage"
)

func TestCompatible(t *testing.T) {
	t.Parallel()
	modes := []storage.LockMode{
		storage.SchS, storage.SchM, storage.IS, storage.S, storage.U, storage.IX, storage.SIX, storage.UIX, storage.X,
	}
	// Rows hold, columns ask; from "Lock compatibility" of the Transaction
	// locking and row versioning guide, Sch-S and Sch-M added.
	matrix := []string{
		//         SchS SchM IS S U IX SIX UIX X
		/* SchS */ "y n y y y y y y y",
		/* SchM */ "n n n n n n n n n",
		/* IS   */ "y n y y y y y y n",
		/* S    */ "y n y y y n n n n",
		/* U    */ "y n y y n n n n n",
		/* IX   */ "y n y n n y n n n",
		/* SIX  */ "y n y n n n n n n",
		/* UIX  */ "y n y n n n n n n",
		/* X    */ "y n n n n n n n n",
	}
	for i, held := range modes {
		for j, asked := range modes {
			if got, want := storage.Compatible(held, asked), matrix[i][2*j] == 'y'; got != want {
				t.Errorf("Compatible(%v, %v) = %v, want %v", held, asked, got, want)
			}
			if storage.Compatible(held, asked) != storage.Compatible(asked, held) {
				t.Errorf("%v and %v: not symmetric", held, asked)
			}
			c := storage.Combine(held, asked)
			if !c.Covers(held) || !c.Covers(asked) {
				t.Errorf("Combine(%v, %v) = %v covers not both", held, asked, c)
			}
			for _, other := range modes {
				if storage.Compatible(c, other) && (!storage.Compatible(held, other) || !storage.Compatible(asked, other)) {
					t.Errorf("Combine(%v, %v) = %v lets %v in", held, asked, c, other)
				}
			}
		}
	}
}

func TestCombine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want storage.LockMode }{
		{storage.IS, storage.IX, storage.IX},
		{storage.S, storage.IX, storage.SIX},
		{storage.U, storage.IX, storage.UIX},
		{storage.SIX, storage.U, storage.UIX},
		{storage.S, storage.U, storage.U},
		{storage.U, storage.X, storage.X},
		{storage.SchS, storage.IX, storage.IX},
		{storage.X, storage.SchM, storage.SchM},
		{storage.None, storage.S, storage.S},
	} {
		if got := storage.Combine(tt.a, tt.b); got != tt.want {
			t.Errorf("Combine(%v, %v) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestLocksMeet takes every pair of modes by two sessions: the second waits, is
// refused, or is granted as the matrix says.
func TestLocksMeet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts())
	modes := []storage.LockMode{
		storage.SchS, storage.SchM, storage.IS, storage.S, storage.U, storage.IX, storage.SIX, storage.UIX, storage.X,
	}
	res := storage.ApplicationResource(1, "pair")
	for _, held := range modes {
		for _, asked := range modes {
			a, b := f.session(1), f.session(2)
			f.wantNil(a.tx.Lock(t.Context(), res, held, 0))
			err := b.tx.Lock(t.Context(), res, asked, 0)
			if storage.Compatible(held, asked) {
				f.wantNil(err)
			} else {
				f.wantErr(err, storage.ErrLockTimeout)
			}
			a.tx.Rollback()
			b.tx.Rollback()
		}
	}
	f.wantNoLocks()
}

func TestLockCountsUses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts())
	a, b := f.session(1), f.session(2)
	res := storage.ApplicationResource(1, "counted")
	f.wantNil(a.tx.Lock(t.Context(), res, storage.S, 0))
	f.wantNil(a.tx.Lock(t.Context(), res, storage.X, 0))
	if !a.tx.Unlock(res) {
		t.Error("Unlock: not held")
	}
	f.wantErr(b.tx.Lock(t.Context(), res, storage.S, 0), storage.ErrLockTimeout)
	a.tx.Unlock(res)
	if a.tx.Unlock(res) {
		t.Error("a third Unlock found something")
	}
	f.wantNil(b.tx.Lock(t.Context(), res, storage.S, 0))
	if got := b.tx.Holds(res); got != storage.S {
		t.Errorf("Holds = %v, want S", got)
	}
}

func TestSessionLockOutlivesTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts())
	a, b := f.session(1), f.session(2)
	res := storage.ApplicationResource(1, "session")
	f.wantNil(a.o.Lock(t.Context(), res, storage.X, 0))
	f.wantNil(a.tx.Lock(t.Context(), res, storage.X, 0)) // the same session: no conflict
	a.rollback()
	f.wantErr(b.tx.Lock(t.Context(), res, storage.S, 0), storage.ErrLockTimeout)
	done := b.async(func() error { return b.tx.Lock(t.Context(), res, storage.S, storage.Forever) })
	if !a.o.Unlock(res) {
		t.Error("Unlock: not held")
	}
	f.wantNil(<-done)
}

// TestQueueIsFair: a new S does not overtake a waiting X, a conversion does.
func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts())
	a, b, c := f.session(1), f.session(2), f.session(3)
	res := storage.ApplicationResource(1, "queue")
	lock := func(se *session, m storage.LockMode) func() error {
		return func() error { return se.tx.Lock(t.Context(), res, m, storage.Forever) }
	}
	f.wantNil(lock(a, storage.S)())
	waitX := b.async(lock(b, storage.X))
	waitS := c.async(lock(c, storage.S))
	f.wantNil(a.tx.Lock(t.Context(), res, storage.X, 0)) // alone on it: converts at once
	a.rollback()
	f.wantNil(<-waitX)
	select {
	case err := <-waitS:
		t.Fatalf("S beside X: %v", err)
	default:
	}
	b.rollback()
	f.wantNil(<-waitS)
}

func TestConversionGoesFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t, accounts())
	a, b, c := f.session(1), f.session(2), f.session(3)
	res := storage.ApplicationResource(1, "conversion")
	lock := func(se *session, m storage.LockMode) func() error {
		return func() error { return se.tx.Lock(t.Context(), res, m, storage.Forever) }
	}
	f.wantNil(lock(a, storage.S)())
	f.wantNil(lock(b, storage.S)())
	newcomer := c.async(lock(c, storage.X))
	conversion := a.async(lock(a, storage.X))
	if in, _ := a.o.WaitsFor(); in.Status != "CONVERT" || len(in.BlockedBy) != 1 || in.BlockedBy[0] != 2 {
		t.Errorf("conversion shows as %+v", in)
	}
	b.rollback()
	f.wantNil(<-conversion)
	select {
	case err := <-newcomer:
		t.Fatalf("X beside X: %v", err)
	default:
	}
	a.rollback()
	f.wantNil(<-newcomer)
}
