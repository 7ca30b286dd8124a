package storage

import "testing"

// TestAfterPrefix plants bytes that are no UTF-8: keys are bytes, not text.
func TestAfterPrefix(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prefix, want string
		none               bool
	}{
		{name: "text", prefix: "ab", want: "ac"},
		{name: "high byte", prefix: "\x81\x82", want: "\x81\x83"},
		{name: "carries", prefix: "\x81\xff", want: "\x82"},
		{name: "only the highest", prefix: "\xff\xff", none: true},
		{name: "empty", prefix: "", none: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := afterPrefix(tt.prefix)
			if ok == tt.none || got != tt.want {
				t.Errorf("afterPrefix(%q) = %q, %v, want %q, %v", tt.prefix, got, ok, tt.want, !tt.none)
			}
		})
	}
}
