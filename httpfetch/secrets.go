package httpfetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"loopbroker"
)

// EnvPrefix begins the names of the environment variables that hold secrets.
const EnvPrefix = "LOOPBROKER_CREDENTIAL_"

// maxSecret is the most bytes of a secret: a certificate with its chain has a few
// thousand.
const maxSecret = 64 << 10

// ErrNoSecret means that a source holds no secret of that name.
var ErrNoSecret = errors.New("no such secret")

// Secrets finds the secret of a credential by its name. It is asked for every
// attempt, so that a secret which is replaced is used from the next attempt on.
// Implementations must be safe for concurrent use, and must not put a secret into
// an error.
type Secrets interface {
	// Secret returns the secret, or an error that wraps ErrNoSecret.
	Secret(ctx context.Context, name string) ([]byte, error)
}

// credentialName is what a credential can be called: what is safe as the name of a
// file and, in capitals, of an environment variable.
var credentialName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$`)

// EnvSecrets reads secrets from environment variables: for the credential
// "billing-api" from LOOPBROKER_CREDENTIAL_BILLING_API. Names that differ only in
// case, or in hyphens, dots and underscores, share a variable; SetPolicy refuses
// two such credentials.
type EnvSecrets struct {
	// LookupEnv finds a variable.
	//
	// Defaults to os.LookupEnv.
	LookupEnv func(key string) (string, bool)
}

// Secret implements Secrets.
func (s EnvSecrets) Secret(_ context.Context, name string) ([]byte, error) {
	lookup := s.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	value, ok := lookup(envName(name))
	if !ok || value == "" {
		return nil, fmt.Errorf("%w: environment variable %s", ErrNoSecret, envName(name))
	}
	if len(value) > maxSecret {
		return nil, fmt.Errorf("environment variable %s: %w", envName(name), errSecretSize)
	}
	return []byte(value), nil
}

// envName returns the variable that holds the secret of a credential.
func envName(name string) string {
	return EnvPrefix + strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToUpper(name))
}

// errSecretSize means that a secret is longer than any can be.
var errSecretSize = fmt.Errorf("the secret is over %d bytes", maxSecret)

// errSecretMode means that others could read or replace a secret.
var errSecretMode = errors.New("others may read or write it")

// DirSecrets reads secrets from the files of a directory: for the credential
// "billing-api" from the file of that name. A file that everybody can read, or that
// somebody besides its owner can write, is refused, and so is one that is in a
// directory where others can put files of theirs. A link may lead to another file
// below the directory, as in the mounted secrets of Kubernetes, and nowhere else.
type DirSecrets struct {
	// Dir is the directory.
	Dir string
}

// Secret implements Secrets.
func (s DirSecrets) Secret(_ context.Context, name string) ([]byte, error) {
	if !credentialName.MatchString(name) {
		return nil, fmt.Errorf("%w: a file cannot have this name", ErrNoSecret)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of secrets: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	dir, err := root.Stat(".")
	if err != nil {
		return nil, fmt.Errorf("look at the directory of secrets: %w", err)
	}
	if dir.Mode()&0o022 != 0 && dir.Mode()&fs.ModeSticky == 0 {
		return nil, fmt.Errorf("directory of secrets: %w", errSecretMode)
	}
	file, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: file %s", ErrNoSecret, name)
	}
	if err != nil {
		return nil, fmt.Errorf("open secret: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	return readSecret(file, name)
}

// readSecret reads an open file if nobody else can read or write it.
func readSecret(file *os.File, name string) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at secret: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a file", ErrNoSecret, name)
	}
	if info.Mode()&0o027 != 0 {
		return nil, fmt.Errorf("file %s: %w", name, errSecretMode)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read secret: %w", err)
	case len(data) > maxSecret:
		return nil, fmt.Errorf("file %s: %w", name, errSecretSize)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("%w: file %s is empty", ErrNoSecret, name)
	}
	return data, nil
}

// MapSecrets holds secrets in memory, for tests and for programs that have them
// from elsewhere. It must not be changed while it is in use.
type MapSecrets map[string]string

// Secret implements Secrets.
func (s MapSecrets) Secret(_ context.Context, name string) ([]byte, error) {
	value, ok := s[name]
	if !ok {
		return nil, ErrNoSecret
	}
	return []byte(value), nil
}

// String hides the secrets from those who print the map.
func (s MapSecrets) String() string { return fmt.Sprintf("%d secrets", len(s)) }

// GoString hides the secrets from those who print the map.
func (s MapSecrets) GoString() string { return s.String() }

// SecretChain asks one source after the other until one has the secret. A source
// that fails in another way than ErrNoSecret ends the search: a file that may not be
// used must not be replaced by an older value from elsewhere.
type SecretChain []Secrets

// Secret implements Secrets.
func (c SecretChain) Secret(ctx context.Context, name string) ([]byte, error) {
	for _, s := range c {
		secret, err := s.Secret(ctx, name)
		if !errors.Is(err, ErrNoSecret) {
			return secret, err
		}
	}
	return nil, ErrNoSecret
}

// secretFault returns the fault for a credential whose secret cannot be had. The
// reason is ours; it names no path, which is the operator's business.
func secretFault(name string, err error) *loopbroker.Fault {
	reason := "the worker cannot read its secret"
	switch {
	case errors.Is(err, ErrNoSecret):
		reason = "the worker has no secret for it"
	case errors.Is(err, errSecretMode):
		reason = "others may read or write the file of its secret"
	case errors.Is(err, errSecretSize):
		reason = "its secret is too long"
	}
	f := loopbroker.NewFault(loopbroker.ErrorClassCredential, "the credential %q cannot be used: %s", name, reason)
	f.Err = err
	return f
}
