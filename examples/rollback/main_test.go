package main

import (
	"strings"
	"testing"

	"loopbroker/enginetest/brokertest"
	"loopbroker/internal/operator"
	"loopbroker/tsql"
)

func TestRollback(t *testing.T) {
	t.Parallel()
	b := brokertest.Open(t)
	b.Start(t, nil)
	schema, err := tsql.NewSchema(tsql.DefaultSchema)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := operator.ParseEndpoint(b.Stub.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.New(b.DB, schema).AllowEndpoint(t.Context(), endpoint, operator.Everybody); err != nil {
		t.Fatal(err)
	}
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
