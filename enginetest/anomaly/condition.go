package anomaly

import (
	"fmt"
	"regexp"
	"strings"
)

// Condition decides whether an anomaly happened: comparisons of steps' results
// with each other or with a value, all of which must hold.
type Condition struct {
	terms []term
	text  string
}

// term is "step = value" or "step <> step".
type term struct {
	left, right string
	equal       bool
	isStep      bool // right names a step
}

var termForm = regexp.MustCompile(`^([a-z][a-z0-9_]*) (=|<>) (.+)$`)
var stepName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func parseCondition(s string) (*Condition, error) {
	c := &Condition{text: s}
	for _, part := range strings.Split(s, " and ") {
		m := termForm.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, fmt.Errorf(`not of the form "step = value": %s`, part)
		}
		c.terms = append(c.terms, term{left: m[1], right: m[3], equal: m[2] == "=", isStep: stepName.MatchString(m[3])})
	}
	return c, nil
}

// String returns the condition as the script has it.
func (c *Condition) String() string { return c.text }

func (c *Condition) steps() []string {
	var names []string
	for _, t := range c.terms {
		names = append(names, t.left)
		if t.isStep {
			names = append(names, t.right)
		}
	}
	return names
}

// holds evaluates the condition. A step that failed or did not run has no
// result, and makes it false.
func (c *Condition) holds(results map[string]string) bool {
	for _, t := range c.terms {
		left, ok := results[t.left]
		if !ok {
			return false
		}
		right := t.right
		if t.isStep {
			if right, ok = results[t.right]; !ok {
				return false
			}
		}
		if (left == right) != t.equal {
			return false
		}
	}
	return true
}
