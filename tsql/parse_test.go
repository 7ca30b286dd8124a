package tsql_test

import (
	"testing"

	"loopbroker/engine/syntax"
	"loopbroker/tsql"
)

// TestEngineParsesEveryScript gives every batch to the embedded engine's parser.
func TestEngineParsesEveryScript(t *testing.T) {
	t.Parallel()
	schema, err := tsql.NewSchema("Broker_1")
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range scripts(t) {
		batches, err := tsql.Split(schema.Render(text))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, b := range batches {
			if _, err := syntax.Parse(b.Text, syntax.Options{QuotedIdentifier: true}); err != nil {
				t.Errorf("%s: batch at line %d: %v", path, b.Line, err)
			}
		}
	}
}
