package httpfetch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopbroker"
	"loopbroker/httpfetch"
)

func TestEnvSecrets(t *testing.T) {
	t.Parallel()

	env := map[string]string{"LOOPBROKER_CREDENTIAL_BILLING_API_V2": "abc", "LOOPBROKER_CREDENTIAL_EMPTY": "", "PATH": "x"}
	s := httpfetch.EnvSecrets{LookupEnv: func(key string) (string, bool) { v, ok := env[key]; return v, ok }}
	for name, want := range map[string]string{"billing-api.v2": "abc", "BILLING_API_V2": "abc", "empty": "", "other": "", "PATH": ""} {
		got, err := s.Secret(t.Context(), name)
		if string(got) != want || (want == "") != errors.Is(err, httpfetch.ErrNoSecret) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if got := fmt.Sprintf("%v %+v %#v %s", httpfetch.MapSecrets{"a": "hunter2"}, httpfetch.MapSecrets{"a": "hunter2"}, httpfetch.MapSecrets{"a": "hunter2"}, httpfetch.MapSecrets{"a": "hunter2"}); strings.Contains(got, "hunter2") {
		t.Errorf("printed as %s", got)
	}
}

// TestEnvSecrets_Shared: two names for one variable would let an endpoint have the
// other's secret.
func TestEnvSecrets_Shared(t *testing.T) {
	t.Parallel()

	stub := serve(t, nil)
	p := credential(t, stub.URL, "bearer", "")
	p.Credentials = []loopbroker.Credential{
		{Name: "a-b", Endpoint: "stub", Kind: "bearer"}, {Name: "A_B", Endpoint: "stub", Kind: "bearer"}, {Name: "c", Endpoint: "stub", Kind: "bearer"},
	}
	h := newHandler(t, httpfetch.Options{Secrets: httpfetch.MapSecrets{"a-b": "1111", "A_B": "2222"}})
	if err := h.SetPolicy(p); err == nil || !strings.Contains(err.Error(), `credential "A_B": its secret would be in the same variable as that of "a-b"`) {
		t.Errorf("SetPolicy = %v", err)
	}
	for _, name := range []string{"a-b", "A_B"} {
		_, err := h.Handle(t.Context(), loopbroker.Job{JSON: with(stub.URL, name)})
		if f := faultOf(t, err); f.Class != loopbroker.ErrorClassCredential || !strings.Contains(f.Message, "there is no credential") {
			t.Errorf("%s: %v, want it left out", name, f)
		}
	}
}

func TestDirSecrets(t *testing.T) {
	t.Parallel()

	dir, outside := t.TempDir(), t.TempDir()
	put := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask says
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(dir, "own"), "abc\n", 0o600)
	put(filepath.Join(dir, "read-only"), "abc", 0o400)
	put(filepath.Join(dir, "group"), "abc", 0o640)
	put(filepath.Join(dir, "everybody"), "abc", 0o604)
	put(filepath.Join(dir, "group-writes"), "abc", 0o660)
	put(filepath.Join(dir, "empty"), " \n", 0o600)
	put(filepath.Join(dir, "long"), strings.Repeat("x", 65<<10), 0o600)
	put(filepath.Join(outside, "key"), "outside", 0o600)
	if err := os.Mkdir(filepath.Join(dir, "..data"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(dir, "..data", "mounted"), "abc", 0o440)
	link(filepath.Join("..data", "mounted"), "mounted")
	link(filepath.Join(outside, "key"), "escape")
	link("../../etc/passwd", "relative")
	link("..data", "folder")

	tests := []struct {
		name string
		want string // the secret, or what the error says
		ok   bool
	}{
		{"own", "abc\n", true},
		{"read-only", "abc", true},
		{"group", "abc", true},
		{"mounted", "abc", true},
		{"everybody", "others may read or write it", false},
		{"group-writes", "others may read or write it", false},
		{"empty", "no such secret", false},
		{"long", "over 65536 bytes", false},
		{"absent", "no such secret", false},
		{"folder", "no such secret", false},
		{"escape", "open secret", false},
		{"relative", "open secret", false},
		{"../" + filepath.Base(outside) + "/key", "no such secret", false},
		{"..data/mounted", "no such secret", false},
		{".hidden", "no such secret", false},
		{"", "no such secret", false},
	}
	s := httpfetch.DirSecrets{Dir: dir}
	for _, tt := range tests {
		got, err := s.Secret(t.Context(), tt.name)
		switch {
		case tt.ok && (err != nil || string(got) != tt.want):
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		case !tt.ok && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %q, %v, want an error with %q", tt.name, got, err, tt.want)
		}
	}

	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Secret(t.Context(), "own"); err == nil || !strings.Contains(err.Error(), "others may read or write") {
		t.Errorf("in a directory that everybody can write: %v", err)
	}
	if _, err := (httpfetch.DirSecrets{Dir: filepath.Join(dir, "nowhere")}).Secret(t.Context(), "own"); err == nil || errors.Is(err, httpfetch.ErrNoSecret) {
		t.Errorf("without a directory: %v", err)
	}
}

// TestSecretChain: the first source that has it wins, and one that fails is not
// passed over.
func TestSecretChain(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "open"), []byte("file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := httpfetch.SecretChain{httpfetch.MapSecrets{"a": "first"}, httpfetch.DirSecrets{Dir: dir}, httpfetch.MapSecrets{"a": "second", "b": "second", "open": "old"}}
	for name, want := range map[string]string{"a": "first", "b": "second"} {
		if got, err := c.Secret(t.Context(), name); string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if got, err := c.Secret(t.Context(), "open"); err == nil || errors.Is(err, httpfetch.ErrNoSecret) {
		t.Errorf("a file that everybody reads: %q, %v, want its error", got, err)
	}
	if _, err := c.Secret(t.Context(), "none"); !errors.Is(err, httpfetch.ErrNoSecret) {
		t.Errorf("nowhere: %v, want ErrNoSecret", err)
	}
}
