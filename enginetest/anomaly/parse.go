package anomaly

import (
	"regexp"
	"strings"
)

// Parse reads a script. file names it in errors, which are *Error.
func Parse(file, text string) (*Script, error) {
	p := &parser{s: &Script{File: file}}
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		indented := line[0] == ' ' || line[0] == '\t'
		if err := p.add(trimmed, indented); err != nil {
			return nil, err
		}
	}
	return p.s, p.check()
}

type parser struct {
	s     *Script
	line  int
	kase  *Case
	step  *Step
	setup bool
}

func (p *parser) fail(text string) error {
	e := &Error{File: p.s.File, Line: p.line, Text: text}
	if p.step != nil {
		e.Step = p.step.String()
	}
	return e
}

// add takes one line.
func (p *parser) add(line string, indented bool) error {
	if !indented {
		p.setup, p.step = false, nil
		return p.header(line)
	}
	switch {
	case p.setup:
		p.s.Setup = append(p.s.Setup, line)
	case p.kase == nil:
		return p.fail("an indented line before the first section")
	case strings.HasPrefix(line, "doc: "):
		p.kase.Docs = append(p.kase.Docs, line[len("doc: "):])
	case strings.HasPrefix(line, "session "):
		return p.addStep(line)
	case p.step == nil:
		return p.fail("not a step: " + line)
	case strings.HasPrefix(line, "->"):
		p.step.Want = append(p.step.Want, strings.TrimSpace(line[2:]))
	case p.step.Mark != Completes || len(p.step.Want) > 0:
		return p.fail("the batch has ended before " + line)
	default:
		p.step.SQL += "\n" + line
		return p.mark()
	}
	return nil
}

// caseLevels is "NAME at LEVEL, LEVEL": levels are in capitals.
var caseLevels = regexp.MustCompile(`^(.*) at ([A-Z]{2}[A-Z, ]*)$`)

func (p *parser) header(line string) error {
	head, rest, ok := strings.Cut(line, ":")
	rest = strings.TrimSpace(rest)
	if !ok {
		return p.fail("no ':' in " + line)
	}
	switch word, words, _ := strings.Cut(head, " "); {
	case head == "anomaly" || head == "scenario":
		p.s.Name = rest
	case head == "about":
		p.s.About = strings.TrimSpace(p.s.About + " " + rest)
	case head == "doc":
		p.s.Docs = append(p.s.Docs, rest)
	case head == "setup":
		p.setup = true
	case head == "happens if":
		c, err := parseCondition(rest)
		if err != nil {
			return p.fail(err.Error())
		}
		p.s.Condition = c
	case word == "level":
		v, err := parseVerdict(rest)
		if err != nil {
			return p.fail(err.Error())
		}
		return p.addCase(&Case{Want: v}, words)
	case word == "case":
		name, levels := words, ""
		if m := caseLevels.FindStringSubmatch(words); m != nil {
			name, levels = m[1], m[2]
		}
		return p.addCase(&Case{Name: name}, levels)
	default:
		return p.fail("unknown heading " + head)
	}
	return nil
}

func (p *parser) addCase(c *Case, levels string) error {
	c.Line = p.line
	for _, name := range strings.Split(levels, ",") {
		if name = strings.TrimSpace(name); name == "" && levels == "" {
			break
		}
		l, err := parseLevel(name)
		if err != nil {
			return p.fail(err.Error())
		}
		c.Levels = append(c.Levels, l)
	}
	p.kase = c
	p.s.Cases = append(p.s.Cases, c)
	return nil
}

// stepHead is "session A name: rest".
var stepHead = regexp.MustCompile(`^session ([A-Z])(?: ([a-z][a-z0-9_]*))?:\s*(.*)$`)

func (p *parser) addStep(line string) error {
	m := stepHead.FindStringSubmatch(line)
	if m == nil {
		p.step = nil
		return p.fail(`not of the form "session A: batch": ` + line)
	}
	p.step = &Step{Line: p.line, Session: m[1], Name: m[2], SQL: m[3]}
	p.kase.Steps = append(p.kase.Steps, p.step)
	if after, ok := strings.CutPrefix(m[3], "(resumes)"); ok {
		p.step.Mark, p.step.SQL = Resumes, ""
		if after = strings.TrimSpace(after); after != "" {
			p.step.Want = []string{after}
		}
		return nil
	}
	return p.mark()
}

// stepMark is the mark at the end of a batch.
var stepMark = regexp.MustCompile(`\s+\((blocks|blocks for [A-Z]|deadlocks|does not block)\)$`)

// mark takes the mark off the step's batch.
func (p *parser) mark() error {
	m := stepMark.FindStringSubmatch(p.step.SQL)
	if m == nil {
		if p.step.SQL == "" {
			return p.fail("a step without a batch")
		}
		return nil
	}
	p.step.SQL = strings.TrimSuffix(p.step.SQL, m[0])
	switch {
	case m[1] == "deadlocks":
		p.step.Mark = Deadlocks
	case strings.HasPrefix(m[1], "blocks"):
		p.step.Mark = Blocks
		p.step.Blocker = strings.TrimPrefix(strings.TrimPrefix(m[1], "blocks"), " for ")
	}
	return nil
}

// check finds what is missing in a script that was read to its end.
func (p *parser) check() error {
	p.step = nil
	anomaly := p.s.Condition != nil
	if p.s.Name == "" {
		p.line = 1
		return p.fail(`no line "anomaly: NAME" or "scenario: NAME"`)
	}
	seen := map[Level]bool{}
	for _, c := range p.s.Cases {
		p.line = c.Line
		switch {
		case anomaly != (c.Want != ""):
			return p.fail(`"happens if:" and the sections "level …: outcome" need each other`)
		case len(c.Steps) == 0:
			return p.fail("a section without steps")
		case anomaly && len(c.Docs)+len(p.s.Docs) == 0:
			return p.fail(`no line "doc: URL" for the expected outcome`)
		}
		for _, l := range c.Levels {
			if anomaly && seen[l] {
				return p.fail(string(l) + " has a section already")
			}
			seen[l] = true
		}
		if err := p.checkSteps(c); err != nil {
			return err
		}
	}
	if len(p.s.Cases) == 0 {
		return p.fail("no section")
	}
	return nil
}

func (p *parser) checkSteps(c *Case) error {
	blocked, names := map[string]bool{}, map[string]bool{}
	for _, s := range c.Steps {
		p.line, p.step = s.Line, s
		switch {
		case s.Mark == Resumes && !blocked[s.Session]:
			return p.fail("nothing of this session was blocked")
		case s.Mark != Resumes && blocked[s.Session]:
			return p.fail(`the session is blocked: "(resumes)" is missing`)
		case (s.Mark == Blocks || s.Mark == Deadlocks) && len(s.Want) > 0:
			return p.fail(`a blocked step has its results at "(resumes)"`)
		case s.Name != "" && names[s.Name]:
			return p.fail("a second step of this name")
		}
		blocked[s.Session] = s.Mark == Blocks || s.Mark == Deadlocks
		names[s.Name] = true
	}
	for name, is := range blocked {
		if is {
			return p.fail("session " + name + " is blocked at the end")
		}
	}
	p.step = nil
	if p.s.Condition == nil {
		return nil
	}
	p.line = c.Line
	for _, n := range p.s.Condition.steps() {
		if !names[n] {
			return p.fail(`no step is named ` + n + `, as in "happens if:"`)
		}
	}
	return nil
}
