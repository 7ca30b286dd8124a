package json_test

import (
	"errors"
	"strings"
	"testing"

	"loopbroker/engine/builtin/json"
	"loopbroker/engine/sqlerr"
)

// result is what a call gave: a value, NULL or an error.
func result(value string, ok bool, err error) string {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return message(e)
	case err != nil:
		return err.Error()
	case !ok:
		return "NULL"
	}
	return value
}

// message is an error as the tests write it: number, state and what varies.
func message(e *sqlerr.Error) string {
	text := e.Error()
	text, _, _ = strings.Cut(text[4:], ", Line")
	text = strings.Replace(text, ", Level 16, State ", "/", 1)
	if i := strings.Index(e.Message, "character '"); i >= 0 {
		rest := strings.TrimSuffix(e.Message[i+len("character '"):], ".")
		text += " " + strings.Replace(rest, "' is found at position ", " ", 1)
	}
	return text
}

func value(text, path string) string {
	p, err := json.ParsePath(path)
	if err != nil {
		return result("", false, err)
	}
	return result(json.Value(text, p, false))
}

func query(text, path string) string {
	p, err := json.ParsePath(path)
	if err != nil {
		return result("", false, err)
	}
	return result(json.Query(text, p))
}

// The document of "JSON_VALUE (Transact-SQL)", example 1.
const info = `{"info":{"type":1,"address":{"town":"Bristol","county":"Avon","country":"England"},"tags":["Sport", "Water polo"]},"type":"Basic"}`

func TestValue(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, path, want string }{
		// The table of results in "JSON_VALUE (Transact-SQL)".
		{info, `$`, "NULL"},
		{info, `strict $`, "13623/2"},
		{info, `$.info.type`, "1"},
		{info, `$.info.address.town`, "Bristol"},
		{info, `$.info."address"`, "NULL"},
		{info, `$.info.tags`, "NULL"},
		{info, `strict $.info.tags`, "13623/2"},
		{info, `$.info.type[0]`, "NULL"},
		{info, `strict $.info.type[0]`, "13608/1"},
		{info, `$.info.tags[1]`, "Water polo"},
		{info, `$.info.none`, "NULL"},
		{info, `strict $.info.none`, "13608/1"},
		// Kinds of scalars, escapes.
		{`{"a":true}`, `$.a`, "true"},
		{`{"a":null}`, `strict $.a`, "NULL"},
		{`{"a":-1.50e3}`, `$.a`, "-1.50e3"},
		{`{"a":"\u0041\n\"\/\\\ud83d\ude00"}`, `$.a`, "A\n\"/\\😀"},
		{`{"":"x"}`, `$.""`, "x"},
		{`{"A":1}`, `$.a`, "NULL"},
		{`{"a":1,"a":2}`, `$.a`, "1"},
		{`[1,2]`, `$[4294967295]`, "NULL"},
		{`{"a/b":3}`, `$."a\/b"`, "NULL"},
		{`{"a\/b":3}`, `$."a\/b"`, "3"},
		{`{"a\u0041":3}`, `$."aA"`, "3"},
		// The reader stops where the path is satisfied.
		{`{"a":1}extra`, `$.a`, "1"},
		{`{"a":1,"b":}`, `$.a`, "1"},
		{`{"a":1,"b":}`, `$.a.x`, "NULL"},
		{`{"a":[1],"b":}`, `$.a[5]`, "NULL"},
		{`[1,2`, `$.a`, "NULL"},
		{`{"a":1`, `$[0]`, "NULL"},
		{`[1,2`, `$[0]`, "1"},
		// Text that is not JSON.
		{``, `$.b`, "13609/1 . 0"},
		{`   `, `$.b`, "13609/1 . 3"},
		{`1`, `$.a`, "13609/1 1 0"},
		{`{x}`, `$.a`, "13609/1 x 1"},
		{`{x}`, `$[0]`, "13609/1 x 1"},
		{`{"é":x}`, `$.a`, "13609/1 x 5"},
		{`{"a":1`, `$.b`, "13609/1 . 6"},
		{`{"a":1,"b":}`, `$.z`, "13609/1 } 11"},
		{`{"a":1 "b":2}`, `$.z`, `13609/1 " 7`},
		{`[1,2,]`, `$[9]`, "13609/1 ] 5"},
		{`{"a":01}`, `$.z`, "13609/1 0 5"},
		{`{"a":1x}`, `$.z`, "13609/1 1 5"},
		{`{"a":+1}`, `$.z`, "13609/1 + 5"},
		{`{"a":tru`, `$.z`, "13609/1 t 5"},
		{`{"a":"s`, `$.z`, `13609/1 " 5`},
		{"{\"a\":\"\t\"}", `$.z`, `13609/1 " 5`},
		{`{"a`, `$.a`, `13609/1 " 1`},
		{`{} x`, `$.z`, "13609/1 x 3"},
		{`{} x`, `$[0]`, "13609/1 x 3"},
		{`[,1]`, `$.a`, "13609/1 , 1"},
		{`{"a":1`, `$.a.x`, "13609/1 . 6"},
		{`{"a":1,`, `$.a.x`, "13609/1 . 7"},
		{`{"a":1,}`, `$.a.x`, "13609/1 } 7"},
		{`{"a":1}extra`, `$.a.x`, "13609/1 e 7"},
		{`{x}`, `strict $.a`, "13609/1 x 1"},
		{`{"a":1}extra`, `strict $[0]`, "13608/1"},
	}
	for _, tt := range tests {
		t.Run(tt.text+" "+tt.path, func(t *testing.T) {
			t.Parallel()
			if got := value(tt.text, tt.path); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPathErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ path, want string }{
		{`xyz`, "13607/22 x 0"}, {`$x`, "13607/22 x 1"}, {`$ x`, "13607/22 x 2"}, {`$.a b`, "13607/22 b 4"},
		{`$.a-b`, "13607/22 - 3"}, {`$$`, "13607/14 $ 1"}, {`$..a`, "13607/14 . 2"}, {`$.9`, "13607/14 9 2"},
		{`$.a$b`, "13607/14 $ 3"}, {`$[0]1`, "13607/14 1 4"}, {`$.a[]`, "13607/14 ] 4"}, {`$["a"]`, `13607/14 " 2`},
		{`$."a"x`, "13607/14 x 5"}, {`$."a" x`, "13607/14 x 6"}, {`$[a]`, "13607/21 a 2"}, {`$.a[-1]`, "13607/21 - 4"},
		{`$[1x]`, "13607/15 x 3"}, {`$[1$]`, "13607/14 $ 3"}, {`$."a`, "13607/20 . 4"}, {``, "13607/14 . 0"},
		{`$.`, "13607/14 . 2"}, {`$[`, "13607/14 . 2"}, {`$[0`, "13607/14 . 3"}, {`$."a".`, "13607/14 . 6"},
		{`lax `, "13607/14 . 4"}, {`laxx$.a`, "13607/22 l 0"}, {`LAX $.a`, "13607/22 L 0"}, {`$.é`, "13607/22 é 2"},
		{`$[4294967296]`, "13607/16 6 11"}, {`$[99999999999]`, "13607/16 9 12"},
		{`$."a\q"`, "13607/17 q 5"}, {`$."a\u00zz"`, "13607/17 z 9"}, {`$."a\u00"`, "13607/17 . 9"},
		{"$" + strings.Repeat(".a", 129), "13606/4"},
		{"$" + strings.Repeat(".a", 128), "NULL"},
		{" lax $.a ", "1"}, {"strict$ . a", "1"}, {"\f$.a\t", "1"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			if got := value(`{"a":1}`, tt.path); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := value(`{"a":{"b":7,"c":[9]}}`, `$.a . c[ 0 ]`); got != "9" {
		t.Errorf("white space inside a path: got %s", got)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, path, want string }{
		// The table of results in "JSON_QUERY (Transact-SQL)".
		{info, `$.info.type`, "NULL"},
		{info, `strict $.info.type`, "13624/2"},
		{info, `$.info.tags`, `["Sport", "Water polo"]`},
		{info, `$.info.tags[0]`, "NULL"},
		{info, `$.info.none`, "NULL"},
		{info, `strict $.info.none`, "13608/1"},
		{`  {"a" : 1 , "b":[1, 2]}  `, `$`, `{"a" : 1 , "b":[1, 2]}`},
		{`{"a":{"x":1} bad`, `$.a`, `{"x":1}`},
		{`{"a":{"x":1`, `$.a`, "13609/1 . 11"},
		{`"abc"`, `$`, `13609/1 " 0`},
		{`{"a":null}`, `strict $.a`, "NULL"},
	}
	for _, tt := range tests {
		t.Run(tt.text+" "+tt.path, func(t *testing.T) {
			t.Parallel()
			if got := query(tt.text, tt.path); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestValueLength(t *testing.T) {
	t.Parallel()
	long := `{"a":"` + strings.Repeat("x", 4001) + `"}`
	if got := value(long, "$.a"); got != "NULL" {
		t.Errorf("lax: got %d characters", len(got))
	}
	if got := value(long, "strict $.a"); got != "13625/1" {
		t.Errorf("strict: got %.20s", got)
	}
	got, ok, err := json.Value(long, json.KeyPath("a"), true)
	if err != nil || !ok || len(got) != 4000 {
		t.Errorf("cut: got %d characters, %v, %v", len(got), ok, err)
	}
	if got := value(`{"a":"`+strings.Repeat("é", 4000)+`"}`, "$.a"); len(got) != 8000 {
		t.Errorf("4000 characters of two bytes: got %d bytes", len(got))
	}
}

func TestIsJSON(t *testing.T) {
	t.Parallel()
	nested := func(n int, inner string) string {
		return strings.Repeat("[", n) + inner + strings.Repeat("]", n)
	}
	tests := []struct {
		name, text string
		want, deep bool
	}{
		{name: "object", text: `{"a":1,"b":[{}, [], "x", -0.5E-7, null]}`, want: true},
		{name: "array with blanks", text: ` [1,2] `, want: true},
		{name: "scalar", text: `true`},
		{name: "string", text: `"abc"`},
		{name: "trailing text", text: `{"a":1}extra`},
		{name: "unclosed", text: `{"a":1`},
		{name: "wrong bracket", text: `{"a":1]`},
		{name: "name without quotes", text: `{a:1}`},
		{name: "single quotes", text: `{'a':1}`},
		{name: "bad escape", text: `["\x"]`},
		{name: "short escape", text: `["\u12"]`},
		{name: "number", text: `[1.]`},
		{name: "empty", text: ``},
		{name: "129 arrays", text: nested(129, ""), want: true},
		{name: "130 arrays", text: nested(130, ""), deep: true},
		{name: "value in 129 arrays", text: nested(129, "1"), deep: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.IsJSON(tt.text)
			if got != tt.want || (err != nil) != tt.deep {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestModify(t *testing.T) {
	t.Parallel()
	const doc = `{"name":"John","skills":["C#","SQL"]}`
	tests := []struct{ text, path, value, want string }{
		// "JSON_MODIFY (Transact-SQL)", basic operations.
		{doc, `$.name`, `"Mike"`, `{"name":"Mike","skills":["C#","SQL"]}`},
		{doc, `$.surname`, `"Smith"`, `{"name":"John","skills":["C#","SQL"],"surname":"Smith"}`},
		{doc, `strict $.name`, ``, `{"name":null,"skills":["C#","SQL"]}`},
		{doc, `$.name`, ``, `{"skills":["C#","SQL"]}`},
		{doc, `append $.skills`, `"Azure"`, `{"name":"John","skills":["C#","SQL","Azure"]}`},
		{doc, `$.skills`, ``, `{"name":"John"}`},
		{doc, `$.skills[0]`, ``, `{"name":"John","skills":[null,"SQL"]}`},
		{doc, `$.skills[1]`, `{"a":1}`, `{"name":"John","skills":["C#",{"a":1}]}`},
		{doc, `$.skills[2]`, `1`, doc},
		{doc, `$.none`, ``, doc},
		{doc, `$.none.deep`, `1`, doc},
		{doc, `append $.name`, `1`, doc},
		{doc, `append strict $.name`, `1`, "13621/1"},
		{doc, `append $.list`, `1`, `{"name":"John","skills":["C#","SQL"],"list":[1]}`},
		{doc, `strict $.none`, `1`, "13608/2"},
		{doc, `strict $.skills[2]`, `1`, "13608/2"},
		{doc, `$`, `1`, "13619/1"},
		{doc, `strict append $.a`, `1`, "13607/14 a 7"},
		{`[1,2,3]`, `append $`, `4`, `[1,2,3,4]`},
		{`[]`, `append $`, `4`, `[4]`},
		{`[ ]`, `append $`, ``, `[ null]`},
		{`{}`, `$.a`, `1`, `{"a":1}`},
		{`{ "a" : 1 }`, ` $.a `, `2`, `{ "a" : 2 }`},
		{`{ "a" : 1 , "b" : 2 , "c" : 3 }`, `$.b`, ``, `{ "a" : 1  , "c" : 3 }`},
		{`{"a":{"b":1},"a":{"b":2}}`, `$.a.b`, `9`, `{"a":{"b":9},"a":{"b":2}}`},
		{`{"a":1,"a":2}`, `$.a`, ``, `{"a":2}`},
		{` {"a":1} `, `$.a`, `2`, ` {"a":2} `},
		{`{ "a" : 1 , "b" : 2 }`, `$.a`, ``, `{  "b" : 2 }`},
		{`{ "a" : 1 }`, `$.b`, `2`, `{ "a" : 1 ,"b":2}`},
		{`{}`, `$."a\/b"`, `2`, `{"a\/b":2}`},
		{`1`, `$.a`, `2`, "13609/7 1 0"},
		{`{} x`, `$.a`, `2`, "13609/7 x 3"},
		{`{"a":1`, `$.a`, `2`, "13609/7 . 6"},
		{`[1,2]extra`, `$.a`, `2`, `[1,2]extra`},
	}
	for _, tt := range tests {
		t.Run(tt.text+" "+tt.path, func(t *testing.T) {
			t.Parallel()
			p, err := json.ParseModifyPath(tt.path)
			var got string
			if err == nil {
				got, err = json.Modify(tt.text, p, tt.value, tt.value == "")
			}
			if got := result(got, true, err); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestExists(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{"a":1} `: true, `{"a":null}`: true, `{"a":1}x`: false, `1`: false, `{"b":1}`: false} {
		got, err := json.Exists(text, json.KeyPath("a"))
		if got != want || err != nil {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	// "STRING_ESCAPE (Transact-SQL)", example A, and its table of escapes.
	got := json.Escape("\\\t/\n\\\\\t\"\t\x00\x1f\b\f\ré")
	want := `\\\t\/\n\\\\\t\"\t\u0000\u001f\b\f\ré`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
