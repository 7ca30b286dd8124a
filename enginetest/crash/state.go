package crash

import (
	"fmt"
	"hash/crc32"
	"maps"
	"strings"
)

// state is the rows of a session: by table and key, as text.
type state map[place]string

// place is where a row is.
type place struct{ table, key string }

func (s state) apply(changes []entry) {
	for _, c := range changes {
		if c.Gone {
			delete(s, place{c.Table, c.Key})
		} else {
			s[place{c.Table, c.Key}] = c.Row
		}
	}
}

func (s state) clone() state { return maps.Clone(s) }

// difference compares what is there with what must be: rows that are missing or
// older than they must be, and rows that must not be there.
func (s state) difference(want state) (missing, extra []string) {
	for p, row := range want {
		if got, ok := s[p]; !ok {
			missing = append(missing, fmt.Sprintf("%s %s is not there, it was %s", p.table, p.key, row))
		} else if got != row {
			missing = append(missing, fmt.Sprintf("%s %s is %s, it was %s", p.table, p.key, got, row))
		}
	}
	for p, row := range s {
		if _, ok := want[p]; !ok {
			extra = append(extra, fmt.Sprintf("%s %s must not be there: %s", p.table, p.key, row))
		}
	}
	return missing, extra
}

// text renders the values of a row; long ones by length and checksum.
func text(values ...any) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte('|')
		}
		switch v := v.(type) {
		case nil:
			b.WriteString("NULL")
		case []byte:
			b.WriteString(short(string(v)))
		case string:
			b.WriteString(short(v))
		default:
			fmt.Fprint(&b, v)
		}
	}
	return b.String()
}

func short(s string) string {
	if len(s) <= 24 {
		return s
	}
	return fmt.Sprintf("%d:%08x", len(s), crc32.ChecksumIEEE([]byte(s)))
}
