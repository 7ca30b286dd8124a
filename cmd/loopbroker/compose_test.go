package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// node is a mapping, a list or a scalar of the compose file.
type node struct {
	keys   []string // of a mapping, in order
	fields map[string]*node
	items  []string // of a list
	scalar string
}

// at returns what a path of keys leads to.
func (n *node) at(t *testing.T, keys ...string) *node {
	t.Helper()
	for i, k := range keys {
		next := n.fields[k]
		if next == nil {
			t.Fatalf("the compose file has no %s", strings.Join(keys[:i+1], "."))
		}
		n = next
	}
	return n
}

// words returns a list, written in either way.
func (n *node) words(t *testing.T) []string {
	t.Helper()
	if n.scalar == "" {
		return n.items
	}
	var out []string
	if err := json.Unmarshal([]byte(n.scalar), &out); err != nil {
		t.Fatalf("%s: %v", n.scalar, err)
	}
	return out
}

// parseBlock reads the part of YAML that the compose file is written in: block
// mappings, lists of scalars, and flow lists that are JSON. All else is an error.
func parseBlock(lines []string, indent int) (*node, []string, error) {
	n := &node{fields: map[string]*node{}}
	for len(lines) > 0 {
		line := lines[0]
		have := len(line) - len(strings.TrimLeft(line, " "))
		if have < indent {
			break
		}
		if have > indent {
			return nil, nil, fmt.Errorf("%q is indented too far", line)
		}
		text := line[have:]
		if item, ok := strings.CutPrefix(text, "- "); ok {
			n.items = append(n.items, strings.Trim(item, `"`))
			lines = lines[1:]
			continue
		}
		key, value, ok := strings.Cut(text, ":")
		if !ok || !regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(key) || (value != "" && value[0] != ' ') {
			return nil, nil, fmt.Errorf("%q is not understood", line)
		}
		if n.fields[key] != nil {
			return nil, nil, fmt.Errorf("%q comes twice", key)
		}
		child := &node{scalar: strings.TrimSpace(value)}
		lines = lines[1:]
		if child.scalar == "" && len(lines) > 0 && len(lines[0])-len(strings.TrimLeft(lines[0], " ")) > indent {
			var err error
			if child, lines, err = parseBlock(lines, len(lines[0])-len(strings.TrimLeft(lines[0], " "))); err != nil {
				return nil, nil, err
			}
		}
		if strings.HasPrefix(child.scalar, `"`) {
			child.scalar = strings.Trim(child.scalar, `"`)
		}
		n.keys, n.fields[key] = append(n.keys, key), child
	}
	return n, lines, nil
}

// composeFile reads docker-compose.yml.
func composeFile(t *testing.T) *node {
	t.Helper()
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "\t") || strings.HasSuffix(line, " ") {
			t.Errorf("%q: a tab, or a blank at the end", line)
		}
		if trimmed := strings.TrimSpace(line); trimmed != "" && trimmed[0] != '#' {
			lines = append(lines, line)
		}
	}
	root, rest, err := parseBlock(lines, 0)
	if err != nil || len(rest) > 0 {
		t.Fatalf("docker-compose.yml: %v; left: %q", err, rest)
	}
	return root
}

// TestCompose holds the compose file against what the command takes.
func TestCompose(t *testing.T) {
	t.Parallel()
	root := composeFile(t)
	services := root.at(t, "services")
	if want := []string{"sqlserver", "setup", "worker", "target"}; !slices.Equal(services.keys, want) {
		t.Errorf("services: got %v, want %v", services.keys, want)
	}
	if got := services.at(t, "worker", "deploy", "replicas").scalar; got != "2" {
		t.Errorf("workers: got %s, want 2", got)
	}
	if got := strings.Join(services.at(t, "sqlserver", "healthcheck", "test").words(t), " "); !strings.Contains(got, "SELECT 1") {
		t.Errorf("health check: got %s", got)
	}
	for name, after := range map[string][2]string{
		"setup": {"sqlserver", "service_healthy"}, "worker": {"setup", "service_completed_successfully"}, "target": {"setup", "service_completed_successfully"},
	} {
		if got := services.at(t, name, "depends_on", after[0], "condition").scalar; got != after[1] {
			t.Errorf("%s waits for %s to be %q, want %q", name, after[0], got, after[1])
		}
	}
	subnet := strings.TrimPrefix(root.at(t, "networks", "broker", "ipam", "config").items[0], "subnet: ")
	if words := services.at(t, "worker", "command").words(t); !slices.Contains(words, subnet) {
		t.Errorf("the workers may not call the network %s: %v", subnet, words)
	}
	for _, name := range []string{"setup", "worker", "target"} {
		args := services.at(t, name, "command").words(t)
		if env := services.at(t, name).fields["environment"]; env != nil {
			args = append(args, "--dsn", env.at(t, "LOOPBROKER_DSN").scalar)
		}
		var commands cli
		parser, err := kong.New(&commands)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(args); err != nil {
			t.Errorf("%s: %v: %v", name, args, err)
		}
	}
}

// TestComposeHoldsNoPassword looks at every variable: each secret comes from the
// environment, is required, and is in the example.
func TestComposeHoldsNoPassword(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../.env.example")
	if err != nil {
		t.Fatal(err)
	}
	secret := regexp.MustCompile(`^\$\{(\w+):\?[^}]+\}$`)
	used := map[string]bool{}
	services := composeFile(t).at(t, "services")
	for _, name := range services.keys {
		env := services.fields[name].fields["environment"]
		if env == nil {
			continue
		}
		for _, key := range env.keys {
			value := env.fields[key].scalar
			if !strings.Contains(key, "PASSWORD") {
				if strings.Contains(value, "PASSWORD") || regexp.MustCompile(`://[^@/]*:[^@/]*@`).MatchString(value) {
					t.Errorf("%s.%s holds a password: %s", name, key, value)
				}
				continue
			}
			m := secret.FindStringSubmatch(value)
			if m == nil {
				t.Errorf("%s.%s is not taken from the environment: %s", name, key, value)
				continue
			}
			used[m[1]] = true
			if !bytes.Contains(example, []byte("\n"+m[1]+"=\n")) {
				t.Errorf(".env.example has no empty %s", m[1])
			}
		}
	}
	if len(used) != 4 {
		t.Errorf("got the secrets %v, want 4", used)
	}
	ignored, err := os.ReadFile("../../.gitignore")
	if err != nil || !bytes.Contains(ignored, []byte("\n.env\n")) {
		t.Errorf(".gitignore does not name .env: %v", err)
	}
}
