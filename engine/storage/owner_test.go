package storage_test

import (
	"errors"
	"testing"

	"loopbroker/engine/storage"
)

// TestOwner_ReleaseAll gives the session's locks back and keeps those of its
// transaction, which still do not block the session itself.
func TestOwner_ReleaseAll(t *testing.T) {
	t.Parallel()
	s, err := storage.Open(t.Context(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	mine, other := s.NewOwner(1), s.NewOwner(2)
	defer mine.Close()
	defer other.Close()
	tx := s.Begin(mine)
	defer tx.Rollback()
	session, object := storage.ApplicationResource(1, "a"), storage.ObjectResource(1, 7)
	if err := errors.Join(mine.Lock(t.Context(), session, storage.X, 0), tx.Lock(t.Context(), object, storage.SchM, 0)); err != nil {
		t.Fatal(err)
	}
	mine.ReleaseAll()
	if err := other.Lock(t.Context(), session, storage.X, 0); err != nil {
		t.Errorf("the session's lock is still held: %v", err)
	}
	if err := other.Lock(t.Context(), object, storage.SchS, 0); !errors.Is(err, storage.ErrLockTimeout) {
		t.Errorf("the transaction's lock: got %v, want ErrLockTimeout", err)
	}
	if err := mine.Lock(t.Context(), object, storage.SchS, 0); err != nil {
		t.Errorf("the session is blocked by its own transaction: %v", err)
	}
}
