package claims_test

import (
	"testing"

	"loopbroker/engine"
	"loopbroker/enginetest"
	"loopbroker/enginetest/claims"
)

// TestRun is the short version of the proof: every form alone, and all of them
// on one table.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, name := range claims.Forms() {
		for setting, rcsi := range map[string]bool{"locking": false, "versions": true} {
			t.Run(name+"/"+setting, func(t *testing.T) {
				t.Parallel()
				form, err := claims.ParseForm(name)
				if err != nil {
					t.Fatal(err)
				}
				got, err := claims.Run(t.Context(), enginetest.Server(t, engine.Options{}), claims.Options{
					Rows: 1500, Sessions: 16, Seed: 1, RCSI: rcsi, Form: form,
				})
				if err != nil {
					t.Fatal(err)
				}
				if want := "rows 1500, claimed twice 0, lost 0, waited 0"; got.String() != want || !got.OK() {
					t.Errorf("got %s, %d unborn; want %s", got, got.Unborn, want)
				}
				if got.Commits == 0 || got.Undone == 0 || got.Given == 0 {
					t.Errorf("nothing was tried: %+v", got)
				}
			})
		}
	}
}

// TestRunNotices plants what the counts are for.
func TestRunNotices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault string
		form  claims.Form
		count func(claims.Result) int
	}{
		{"no READPAST", claims.Mixed, func(r claims.Result) int { return r.Waited }},
		{"no UPDLOCK", claims.Select, func(r claims.Result) int { return r.Twice }},
		{"thief", claims.Mixed, func(r claims.Result) int { return r.Lost }},
		{"early arrival", claims.Mixed, func(r claims.Result) int { return r.Unborn }},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			got, err := claims.Run(t.Context(), enginetest.Server(t, engine.Options{}), claims.Options{
				Rows: 400, Sessions: 8, Seed: 1, Form: tt.form,
			}.WithFault(tt.fault))
			if err != nil {
				t.Fatal(err)
			}
			if tt.count(got) == 0 || got.OK() {
				t.Errorf("nothing was noticed: %+v", got)
			}
		})
	}
}
