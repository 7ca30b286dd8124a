package json_test

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"loopbroker/engine/builtin/json"
)

// FuzzIsJSON compares with the standard library, whose grammar is the same but
// for texts that are neither an object nor an array.
func FuzzIsJSON(f *testing.F) {
	for _, s := range []string{info, `[1,-0.5e+3,"\u12aB\"",{"a":null}]`, `{"a":1,}`, `[01]`, "[\"\x01\"]", `[true,nul]`, ` [] x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trimmed := strings.TrimLeft(text, " \t\r\n")
		container := strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")
		got, err := json.IsJSON(text)
		if err != nil {
			t.Skip()
		}
		if want := container && stdjson.Valid([]byte(text)); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	})
}

// FuzzModify checks that a change of valid text leaves valid text that has the
// new value, and that no path makes the functions panic.
func FuzzModify(f *testing.F) {
	f.Add(info, `$.info.tags[1]`)
	f.Add(`{"a" : 1 , "b":[ ]}`, `append $.b`)
	f.Add(`[[],{}]`, `$[1].x`)
	f.Fuzz(func(t *testing.T, text, path string) {
		p, err := json.ParseModifyPath(path)
		if err != nil || !utf8.ValidString(text+path) {
			t.Skip()
		}
		valid, err := json.IsJSON(text)
		if err != nil {
			t.Skip()
		}
		for _, value := range []string{`"new"`, ``} {
			got, err := json.Modify(text, p, value, value == "")
			if err != nil || !valid {
				continue
			}
			if ok, err := json.IsJSON(got); !ok || err != nil {
				t.Errorf("%q %q: got %q", text, path, got)
			}
			if value == "" || p.Append || got == text {
				continue
			}
			read, err := json.ParsePath(path)
			if err != nil {
				continue
			}
			if found, ok, err := json.Value(got, read, false); !ok || found != "new" || err != nil {
				t.Errorf("%q %q: got %q, then %q, %v", text, path, got, found, err)
			}
		}
	})
}
