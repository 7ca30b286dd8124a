package tsql

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed tables/*.sql sequences/*.sql views/*.sql procedures/*.sql statements/*.sql upgrades/*.sql
var files embed.FS

// Kind says what an object is, as sys.objects does.
type Kind string

// The kinds of this package's objects.
const (
	KindTable     Kind = "U"
	KindSequence  Kind = "SO"
	KindView      Kind = "V"
	KindProcedure Kind = "P"
)

// String returns the kind in words.
func (k Kind) String() string {
	switch k {
	case KindTable:
		return "table"
	case KindSequence:
		return "sequence"
	case KindView:
		return "view"
	case KindProcedure:
		return "procedure"
	default:
		return "object of type " + string(k)
	}
}

// Module reports whether objects of this kind have a definition that is created or
// altered as a whole.
func (k Kind) Module() bool { return k == KindView || k == KindProcedure }

// Object is one object of the database and the file that makes it.
type Object struct {
	// Name is the object's name without its schema.
	Name string
	// Kind says what it is.
	Kind Kind
	// File is the path of its file in this package.
	File string
	// Text is the file, written for [dbo].
	Text string
}

// folders are the folders of objects, in the order in which they are deployed.
var folders = []struct {
	name string
	kind Kind
}{
	{"tables", KindTable},
	{"sequences", KindSequence},
	{"views", KindView},
	{"procedures", KindProcedure},
}

// Objects returns every object in the order of deployment. Procedures that others
// call come first within their folder, because a call of a procedure that is not
// there yet is reported by the server.
func Objects() []Object {
	var out []Object
	for _, folder := range folders {
		entries, err := fs.ReadDir(files, folder.name)
		if err != nil {
			panic(err) // the folder is embedded
		}
		for _, entry := range entries {
			file := path.Join(folder.name, entry.Name())
			out = append(out, Object{
				Name: strings.TrimSuffix(entry.Name(), ".sql"),
				Kind: folder.kind,
				File: file,
				Text: mustRead(file),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b Object) int { return rank(a) - rank(b) })
	return out
}

// rank orders objects: by folder, and called procedures before their callers.
func rank(o Object) int {
	for i, folder := range folders {
		if folder.kind != o.Kind {
			continue
		}
		r := 10 * i
		switch o.Name {
		case ProcIdentity, ProcWait, ProcAnswer, ProcCheckHTTP, ProcCancelStored:
		case ProcEnqueue, ProcAuthorize:
			r++
		case ProcEnqueueBatch:
			r += 2
		case ProcLinkedServer:
			r += 3
		case ProcSend:
			r += 4
		case ProcRequest:
			r += 5
		default:
			r += 6
		}
		return r
	}
	panic(fmt.Sprintf("no folder for %s", o.File))
}

// mustRead returns an embedded file. Line ends are the files' own, always \n.
func mustRead(file string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(err) // the name is a constant of this package
	}
	return string(text)
}

// upgrade is a script that brings the tables of an older version to this one.
type upgrade struct{ file, text string }

// upgrades returns the scripts that run before the tables are made, oldest first.
// Each does nothing where it has nothing to do.
func upgrades() []upgrade {
	names, err := fs.Glob(files, "upgrades/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	out := make([]upgrade, len(names))
	for i, name := range names {
		out[i] = upgrade{name, mustRead(name)}
	}
	return out
}
