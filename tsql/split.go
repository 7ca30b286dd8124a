package tsql

import (
	"fmt"
	"strconv"
	"strings"

	"loopbroker"
)

// Batch is a piece of a script that goes to the server in one message.
type Batch struct {
	// Text is the batch as written, without the line GO.
	Text string
	// Line is the line of the script at which Text begins, from 1.
	Line int
	// Count is how often the batch is to be run: the number after GO, else 1.
	Count int
}

// maxRepeat bounds the number after GO; it is a typing error beyond that.
const maxRepeat = 1_000_000

// Split cuts a script into batches at its lines GO and GO n, in any case, with
// blanks around and a comment behind. A line inside a string, a quoted name or a
// comment is no separator; comments nest, as in T-SQL. Batches of nothing but
// blanks are dropped. A malformed GO is an error that wraps
// loopbroker.ErrInvalid.
func Split(script string) ([]Batch, error) {
	var (
		out   []Batch
		state scanState
		start int // where the batch begins
		first = 1 // its line
	)
	line := 1
	for at := 0; at < len(script); line++ {
		end := len(script)
		if i := strings.IndexByte(script[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		text := script[at:end]
		if state.plain() {
			count, ok, err := separator(text)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			if ok {
				out = appendBatch(out, script[start:at], first, count)
				start, first = end, line+1
				at = end
				continue
			}
		}
		state.scan(text)
		at = end
	}
	return appendBatch(out, script[start:], first, 1), nil
}

// appendBatch adds a batch unless it is blank.
func appendBatch(out []Batch, text string, line, count int) []Batch {
	if strings.TrimSpace(text) == "" {
		return out
	}
	return append(out, Batch{Text: text, Line: line, Count: count})
}

// separator reports whether the line is GO, and its count.
func separator(line string) (count int, ok bool, err error) {
	line = strings.Trim(line, " \t\r\n\f\v\ufeff")
	if len(line) < 2 || !strings.EqualFold(line[:2], "GO") {
		return 0, false, nil
	}
	rest := line[2:]
	if i := strings.Index(rest, "--"); i >= 0 {
		rest = rest[:i]
	}
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, false, nil
	}
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return 1, true, nil
	}
	if rest[0] == '=' || rest[0] == '.' || rest[0] == '(' || strings.HasPrefix(rest, "/*") {
		return 0, false, nil
	}
	n, convErr := strconv.Atoi(rest)
	if convErr != nil || n < 1 || n > maxRepeat {
		return 0, false, fmt.Errorf("%w: GO takes a count from 1 to %d, got %q", loopbroker.ErrInvalid, maxRepeat, rest)
	}
	return n, true, nil
}

// scanState is where the scanner stands between two characters.
type scanState struct {
	quote   byte // ', " or ], the end of the string or name we are in; 0 outside
	comment int  // depth of block comments
}

// plain reports whether the position is outside strings, names and comments.
func (s *scanState) plain() bool { return s.quote == 0 && s.comment == 0 }

// scan moves over one line. A doubled quote or bracket inside a string or name
// does not end it.
func (s *scanState) scan(line string) {
	for i := 0; i < len(line); i++ {
		c := line[i]
		var next byte
		if i+1 < len(line) {
			next = line[i+1]
		}
		switch {
		case s.comment > 0:
			if c == '*' && next == '/' {
				s.comment--
				i++
			} else if c == '/' && next == '*' {
				s.comment++
				i++
			}
		case s.quote != 0:
			if c == s.quote && next == s.quote {
				i++
			} else if c == s.quote {
				s.quote = 0
			}
		case c == '\'' || c == '"':
			s.quote = c
		case c == '[':
			s.quote = ']'
		case c == '-' && next == '-':
			return
		case c == '/' && next == '*':
			s.comment++
			i++
		}
	}
}
