package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"strings"
	"text/template/parse"

	"loopbroker"
)

// tick is a function that every loop and every template calls, so that one that does
// not end is stopped with its job.
const tick = "loopbroker_tick"

// fill returns the template with its data, or a fault.
func (h *Handler) fill(ctx context.Context, in input) ([]byte, error) {
	text, err := h.text(in.Template)
	if err != nil {
		return nil, err
	}
	bad := func(err error) error {
		// The text of such an error names lines and fields of the caller's own template.
		return &loopbroker.Fault{Class: loopbroker.ErrorClassBadRequest, Message: "the template cannot be filled: " + err.Error(), Err: err}
	}
	t, err := template.New("template").Funcs(template.FuncMap{
		tick: func() (bool, error) { return false, ctx.Err() },
	}).Parse(text)
	if err != nil {
		return nil, bad(err)
	}
	if err := bound(t); err != nil {
		return nil, &loopbroker.Fault{Class: loopbroker.ErrorClassInternal, Message: "the template cannot be bounded", Err: err}
	}
	w := &capped{left: h.opts.MaxBytes}
	err = t.Execute(w, in.Data)
	switch {
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case errors.Is(err, errTooLarge):
		return nil, loopbroker.NewFault(loopbroker.ErrorClassTooLargeReply, "the template writes more than the cap of %d bytes", h.opts.MaxBytes)
	case err != nil:
		return nil, bad(err)
	}
	return w.buf.Bytes(), nil
}

// text returns the text of a template that is given as one or by name.
func (h *Handler) text(given string) (string, error) {
	if strings.ContainsAny(given, "<{\n") {
		return given, nil
	}
	if h.templates == nil {
		return "", loopbroker.NewFault(loopbroker.ErrorClassBadRequest, "the worker has no folder of templates: give the template as text")
	}
	if !fs.ValidPath(given) || strings.Contains(given, `\`) {
		return "", loopbroker.NewFault(loopbroker.ErrorClassNotAllowed, "%q is not a name below the folder of templates", given)
	}
	info, err := h.templates.Stat(given)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", loopbroker.NewFault(loopbroker.ErrorClassBadRequest, "there is no template %q", given)
	case err != nil || !info.Mode().IsRegular():
		return "", &loopbroker.Fault{Class: loopbroker.ErrorClassNotAllowed, Message: fmt.Sprintf("the template %q cannot be opened", given), Err: err}
	}
	f, err := h.templates.Open(given)
	if err != nil {
		return "", &loopbroker.Fault{Class: loopbroker.ErrorClassNotAllowed, Message: fmt.Sprintf("the template %q cannot be opened", given), Err: err}
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, h.opts.MaxBytes+1))
	if err != nil || int64(len(text)) > h.opts.MaxBytes {
		return "", &loopbroker.Fault{Class: loopbroker.ErrorClassBadRequest, Message: fmt.Sprintf("the template %q cannot be read, or is over the cap", given), Err: err}
	}
	return string(text), nil
}

// bound puts a call of tick at the beginning of every template and every loop. As a
// condition it writes nothing, in whatever context it stands.
func bound(t *template.Template) error {
	trees, err := parse.Parse("tick", "{{if "+tick+"}}{{end}}", "", "", map[string]any{tick: bound})
	if err != nil {
		return err
	}
	check := trees["tick"].Root.Nodes[0]
	for _, one := range t.Templates() {
		if one.Tree != nil {
			tickIn(one.Tree.Root, check)
			one.Tree.Root.Nodes = append([]parse.Node{check.Copy()}, one.Tree.Root.Nodes...)
		}
	}
	return nil
}

// tickIn looks for loops in a list.
func tickIn(list *parse.ListNode, check parse.Node) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.RangeNode:
			tickIn(n.List, check)
			tickIn(n.ElseList, check)
			n.List.Nodes = append([]parse.Node{check.Copy()}, n.List.Nodes...)
		case *parse.IfNode:
			tickIn(n.List, check)
			tickIn(n.ElseList, check)
		case *parse.WithNode:
			tickIn(n.List, check)
			tickIn(n.ElseList, check)
		}
	}
}

// capped is a buffer that takes so much and no more.
type capped struct {
	buf  bytes.Buffer
	left int64
}

// Write implements io.Writer.
func (w *capped) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, errTooLarge
	}
	return w.buf.Write(p)
}
