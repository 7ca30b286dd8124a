package syntax

import "loopbroker/engine/sqlerr"

// hintClass is what a table hint is about. Of the isolation levels, the
// granularities and the two lock modes a list may have one each; NOLOCK is a
// level that goes with neither of the others.
type hintClass uint8

const (
	hintOther hintClass = iota
	hintLevel
	hintGranularity
	hintMode
)

var hintClasses = map[string]hintClass{
	"NOLOCK": hintLevel, "READUNCOMMITTED": hintLevel, "READCOMMITTED": hintLevel, "READCOMMITTEDLOCK": hintLevel,
	"REPEATABLEREAD": hintLevel, "SERIALIZABLE": hintLevel, "HOLDLOCK": hintLevel, "SNAPSHOT": hintLevel,
	"ROWLOCK": hintGranularity, "PAGLOCK": hintGranularity, "TABLOCK": hintGranularity, "TABLOCKX": hintGranularity,
	"UPDLOCK": hintMode, "XLOCK": hintMode,
}

// sameHint names hints that mean the same.
var sameHint = map[string]string{"READUNCOMMITTED": "NOLOCK", "HOLDLOCK": "SERIALIZABLE", "TABLOCKX": "TABLOCK"}

// checkHints refuses hints that exclude each other, error 1047. READPAST beside
// a level that it does not go with is found when the table is read.
func (p *parser) checkHints(list []Hint) {
	if len(list) < 2 {
		return
	}
	seen := map[hintClass]string{}
	for _, h := range list {
		class, name := hintClasses[h.Name], h.Name
		if same, ok := sameHint[name]; ok {
			name = same
		}
		if class == hintOther {
			continue
		}
		if before, ok := seen[class]; ok && before != name {
			p.bail(sqlerr.New(1047).At(h.Line))
		}
		seen[class] = name
	}
	if seen[hintLevel] == "NOLOCK" && (seen[hintGranularity] != "" || seen[hintMode] != "") {
		p.bail(sqlerr.New(1047).At(list[0].Line))
	}
}

// checkTarget refuses the hints that the target of a modification cannot have:
// errors 1065 and 1069, and for INSERT 4102 and 4140.
func (p *parser) checkTarget(list []Hint, insert bool) {
	for _, h := range list {
		number := int32(0)
		switch h.Name {
		case "NOLOCK", "READUNCOMMITTED":
			number = 1065
		case "INDEX", "FORCESEEK", "FORCESCAN":
			number = 1069
		case "READPAST":
			number = 4102
		case "READCOMMITTEDLOCK":
			number = 4140
		}
		if number == 1065 || number == 1069 || (number != 0 && insert) {
			p.bail(sqlerr.New(number).At(h.Line))
		}
	}
}
