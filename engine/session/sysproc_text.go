package session

import (
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

func init() {
	registerProcedures(&sysProc{
		name:   "sp_helptext",
		params: []sysParam{required("@objname", types.NVarChar(776)), optional("@columnname", sysname)},
		run:    helpText,
	})
}

// maxTextRow is the longest piece of a text in a row of sp_helptext.
const maxTextRow = 255

// helpText is sp_helptext, error 15009, 15197 and 15250.
func helpText(x *Session, c *sysCall) (int32, error) {
	text, err := x.definition(c)
	if err != nil {
		return 1, err
	}
	var rows []string
	for text != "" {
		line := text
		if at := strings.Index(text, "\r\n"); at >= 0 {
			line = text[:at+2]
		}
		text = text[len(line):]
		for types.UTF16Len(line) > maxTextRow {
			begin := types.UTF16Substring(line, 0, maxTextRow)
			rows = append(rows, begin)
			line = line[len(begin):]
		}
		rows = append(rows, line)
	}
	return 0, sendFields(x, []field[string]{word("Text", shortText, func(s *string) string { return *s })}, rows)
}

// definition is the text of a module, or of a computed column.
func (x *Session) definition(c *sysCall) (string, error) {
	written := c.text(0)
	n, ok := parseName(written)
	if !ok {
		return "", sqlerr.New(15009, written, x.db.Name)
	}
	if n.Database.Name != "" && catalog.Fold(n.Database.Name) != catalog.Fold(x.db.Name) {
		return "", sqlerr.New(15250)
	}
	o, db, err := x.lookup(n, "")
	if err != nil {
		return "", err
	}
	if o == nil || db != x.db || o.Kind() == catalog.KindSystemView || isSystemFunction(o) || !(viewer{x}).Visible(o) {
		return "", sqlerr.New(15009, written, x.db.Name)
	}
	if t, ok := o.(*catalog.Table); ok && !c.values[1].IsNull() {
		at := t.Column(c.text(1))
		switch {
		case at < 0:
			return "", sqlerr.New(15645, c.text(1))
		case !t.Columns[at].Computed:
			return "", sqlerr.New(15646, c.text(1))
		}
		return t.Columns[at].ComputedText, nil
	}
	if m, ok := o.(*catalog.Module); ok && c.values[1].IsNull() {
		return m.Text, nil
	}
	if !c.values[1].IsNull() {
		return "", sqlerr.New(15218, written)
	}
	return "", sqlerr.New(15197, written)
}
