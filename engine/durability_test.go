package engine_test

import (
	"fmt"
	"sync"
	"testing"

	"loopbroker/engine"
)

// gate stops the syncs of the log while it is closed.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil: open
	came   chan struct{} // receives when a sync waits
}

func (g *gate) sync(name string) {
	if !isSegment(name) {
		return
	}
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed == nil {
		return
	}
	select {
	case g.came <- struct{}{}:
	default:
	}
	<-closed
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.came = make(chan struct{}), make(chan struct{}, 1)
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.closed)
	g.closed = nil
}

// TestDelayedDurability: which commits return before the log is synced. While
// the gate is shut no sync ends.
func TestDelayedDurability(t *testing.T) {
	t.Parallel()
	g := &gate{}
	fs := newFaultFS()
	fs.set(nil, g.sync)
	in := open(t, engine.OnFS(engine.Options{Dir: t.TempDir(), Password: "p"}, fs))
	in.run("CREATE TABLE dbo.t (id int IDENTITY NOT NULL PRIMARY KEY, v int); CREATE DATABASE other; CREATE TABLE other.dbo.t (v int)",
		"INSERT INTO dbo.t (v) VALUES (0)") // the numbers of the identity are reserved
	const (
		one   = "UPDATE dbo.t SET v += 1"
		cross = "UPDATE dbo.t SET v += 1; INSERT INTO other.dbo.t VALUES (1)"
	)
	tests := []struct {
		mode, work, commit string
		delayed            bool
	}{
		{"DISABLED", one, "COMMIT", false},
		{"DISABLED", one, "COMMIT WITH (DELAYED_DURABILITY = OFF)", false},
		{"DISABLED", one, "COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)", false},
		{"ALLOWED", one, "COMMIT", false},
		{"ALLOWED", one, "COMMIT WITH (DELAYED_DURABILITY = OFF)", false},
		{"ALLOWED", one, "COMMIT WITH (DELAYED_DURABILITY = ON)", true},
		{"ALLOWED", cross, "COMMIT WITH (DELAYED_DURABILITY = ON)", false},
		{"FORCED", one, "COMMIT", true},
		{"FORCED", one, "COMMIT WITH (DELAYED_DURABILITY = OFF)", true},
		{"FORCED", one, "COMMIT WITH (DELAYED_DURABILITY = ON)", true},
		{"FORCED", cross, "COMMIT", false},
	}
	for _, tt := range tests {
		in.run("ALTER DATABASE loopbroker SET DELAYED_DURABILITY = " + tt.mode)
		in.want("SELECT delayed_durability_desc FROM sys.databases WHERE name = N'loopbroker'", tt.mode)
		in.run("BEGIN TRANSACTION; "+tt.work, "EXEC sys.sp_flush_log")
		g.shut()
		if got := commitReturns(in, g, tt.commit); got != tt.delayed {
			t.Errorf("%s, %s, %s: returned before the sync %t, want %t", tt.mode, tt.work, tt.commit, got, tt.delayed)
		}
	}
	in.run("ALTER DATABASE loopbroker SET DELAYED_DURABILITY = FORCED", "EXEC sp_flush_log")
	g.shut()
	if !commitReturns(in, g, "INSERT INTO dbo.t (v) VALUES (1)") {
		t.Error("FORCED: a statement of its own waited for the sync")
	}
	in.run("INSERT INTO dbo.t (v) VALUES (1)") // not hard yet
	g.shut()
	if commitReturns(in, g, "EXEC sp_flush_log") {
		t.Error("sp_flush_log returned before the sync")
	}
	in.run("INSERT INTO dbo.t (v) VALUES (1)")
	g.shut()
	if commitReturns(in, g, "ALTER DATABASE loopbroker SET DELAYED_DURABILITY = DISABLED") {
		t.Error("ALTER DATABASE returned before the sync")
	}
	for text, want := range map[string]string{
		"ALTER DATABASE loopbroker SET DELAYED_DURABILITY = SOMETIMES": "[102]",
	} {
		_, err := in.conn.ExecContext(t.Context(), text)
		if got := fmt.Sprint(numbers(err)); got != want {
			t.Errorf("%s: got %s (%v), want %s", text, got, err, want)
		}
	}
}

// commitReturns runs a batch while the gate is shut and reports whether it
// returned. If a sync comes first, the gate is opened for it.
func commitReturns(in *instance, g *gate, text string) (early bool) {
	in.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := in.conn.ExecContext(in.Context(), text)
		done <- err
	}()
	var err error
	select {
	case err = <-done:
		early = true
		g.open()
	case <-g.came:
		g.open()
		err = <-done
	}
	if err != nil {
		in.Errorf("%s: %v", text, err)
	}
	return early
}
