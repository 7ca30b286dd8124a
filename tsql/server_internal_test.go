package tsql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"loopbroker"
	"loopbroker/engine"
)

// TestServerCheck refuses what the objects cannot run on.
func TestServerCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		srv  server
		want string // in the error, or empty
	}{
		{"2017", server{14, 3, 130}, ""},
		{"2016", server{13, 3, 130}, "need SQL Server 2017"},
		{"Azure SQL Database", server{12, 5, 150}, ""},
		{"Managed Instance", server{12, 8, 150}, ""},
		{"Fabric", server{12, 12, 160}, ""},
		{"an old level", server{16, 3, 120}, "ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 130"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.srv.check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, loopbroker.ErrSchema)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestInvokeIsLeftOut deploys as if the server had its own procedure: it is neither
// made nor granted in dbo, and nobody misses it. Elsewhere it is.
func TestInvokeIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schema string
		srv          server
		want         bool // that it is there
	}{
		{"2022", "dbo", server{16, 3, 130}, true},
		{"2025", "dbo", server{17, 3, 170}, false},
		{"2025 in another case", "DBO", server{17, 3, 170}, false},
		{"2025 in a schema of its own", "broker", server{17, 3, 170}, true},
		{"Azure SQL Database", "dbo", server{12, 5, 160}, false},
		{"Managed Instance", "dbo", server{12, 8, 160}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			eng, err := engine.Open(ctx, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(eng.Connector())
			t.Cleanup(func() {
				_ = db.Close()
				if err := eng.Close(context.WithoutCancel(ctx)); err != nil {
					t.Error(err)
				}
			})
			opts := Options{Schema: tt.schema, pretend: &tt.srv}
			for range 2 { // the second time there is nothing to do
				if err := Deploy(ctx, db, opts); err != nil {
					t.Fatalf("deploy: %v", err)
				}
			}
			var there bool
			if err := db.QueryRowContext(ctx, "SELECT CAST(CASE WHEN OBJECT_ID(@p1, N'P') IS NULL THEN 0 ELSE 1 END AS bit)",
				tt.schema+"."+ProcInvoke).Scan(&there); err != nil {
				t.Fatal(err)
			}
			if there != tt.want {
				t.Errorf("%s is there: %t, want %t", ProcInvoke, there, tt.want)
			}
			findings, err := Verify(ctx, db, opts)
			if err != nil || len(findings) > 0 {
				t.Errorf("verify: %v, %v", findings, err)
			}
			// A server that has none of its own misses it.
			opts.pretend = &server{16, 3, 130}
			findings, err = Verify(ctx, db, opts)
			if err != nil || (len(findings) == 0) != tt.want {
				t.Errorf("verify for 2022: %v, %v", findings, err)
			}
		})
	}
}
