package main

import (
	"strings"
	"testing"

	"loopbroker/enginetest/brokertest"
)

func TestRollback(t *testing.T) {
	t.Parallel()
	b := brokertest.Open(t)
	b.Start(t, nil)
	var out strings.Builder
	if err := run(t.Context(), b.DB, b.Stub.URL+"/hello", &out); err != nil {
		t.Fatal(err)
	}
	if want := "rolled back, and the request was completed with status 200\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if n := b.Stub.Hits("/hello"); n != 1 {
		t.Errorf("the service saw %d requests, want 1", n)
	}
}
