package httpfetch_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/httpfetch"
)

// secret is what must not be found anywhere but at the target.
const secret = `s3cr3t/"tok+en`

// credential returns a policy with one endpoint, "stub", and one credential, "c".
func credential(t testing.TB, address string, kind loopbroker.CredentialKind, field string) loopbroker.Policy {
	t.Helper()
	return loopbroker.Policy{
		Endpoints:   []loopbroker.Endpoint{endpoint(t, "stub", address)},
		Credentials: []loopbroker.Credential{{Name: "c", Endpoint: "stub", Kind: kind, Field: field}},
	}
}

// with is the JSON of a GET with a credential.
func with(url, name string) string { return job(map[string]any{"url": url, "credential": name}) }

func TestCredential_Kinds(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, secret, field string
		kind                loopbroker.CredentialKind
		header              map[string]string
		query               string
	}{
		{name: "bearer", secret: "abcd\n", kind: loopbroker.CredentialBearer, header: map[string]string{"Authorization": "Bearer abcd"}},
		{name: "basic", secret: "user:pa:ss\r\n", kind: loopbroker.CredentialBasic, header: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("user:pa:ss"))}},
		{name: "header", secret: secret, kind: loopbroker.CredentialHeader, field: "x-api-key", header: map[string]string{"X-Api-Key": secret}},
		{name: "headers", secret: `{"X-A":"1111","x-b":"2222"}`, kind: loopbroker.CredentialHeader, header: map[string]string{"X-A": "1111", "X-B": "2222"}},
		{name: "query", secret: "a b&c", kind: loopbroker.CredentialQuery, field: "code", query: "q=1&code=a+b%26c"},
		{name: "queries", secret: `{"code":"1111","sig":"2222"}`, kind: loopbroker.CredentialQuery, query: "q=1&code=1111&sig=2222"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			stub := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r })
			h := withPolicy(t, httpfetch.Options{Secrets: httpfetch.MapSecrets{"c": tt.secret}}, credential(t, stub.URL, tt.kind, tt.field))
			if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: with(stub.URL+"/?q=1", "c")}); err != nil {
				t.Fatal(err)
			}
			for name, want := range tt.header {
				if v := got.Header.Get(name); v != want {
					t.Errorf("%s = %q, want %q", name, v, want)
				}
			}
			if tt.query != "" && got.URL.RawQuery != tt.query {
				t.Errorf("query = %q, want %q", got.URL.RawQuery, tt.query)
			}
			if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL + "/?q=1")}); err != nil {
				t.Fatal(err)
			}
			if got.URL.RawQuery != "q=1" || got.Header.Get("Authorization")+got.Header.Get("X-Api-Key")+got.Header.Get("X-A") != "" {
				t.Errorf("a job without a credential sent %q, %v", got.URL.RawQuery, got.Header)
			}
		})
	}
}

func TestCredential_Refused(t *testing.T) {
	t.Parallel()

	stub := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the stub was asked for %s", r.URL) })
	other := endpoint(t, "other", stub.URL, func(e *loopbroker.Endpoint) { e.PathPrefix = "/other" })
	tests := []struct {
		name, secret string
		kind         loopbroker.CredentialKind
		field        string
		job          map[string]any
		want         string
		class        loopbroker.ErrorClass
	}{
		{name: "unknown", secret: secret, kind: "bearer", job: map[string]any{"credential": "x"}, want: `there is no credential "x" for this endpoint`},
		{name: "bound elsewhere", secret: secret, kind: "bearer", job: map[string]any{"credential": "c", "url": stub.URL + "/other/a"}, want: `there is no credential "c" for this endpoint`},
		{name: "not even by the way there", secret: secret, kind: "bearer", job: map[string]any{"credential": "c", "url": stub.URL + "/x/../other"}, want: `there is no credential "c" for this endpoint`},
		{name: "no secret", kind: "bearer", job: map[string]any{"credential": "c"}, want: "the worker has no secret for it"},
		{name: "empty secret", secret: "\n", kind: "bearer", job: map[string]any{"credential": "c"}, want: "its secret is empty"},
		{name: "line break", secret: "a\r\nX: y", kind: "bearer", job: map[string]any{"credential": "c"}, want: "a character that a header cannot"},
		{name: "line break in a header", secret: "a\nb", kind: "header", field: "X-Key", job: map[string]any{"credential": "c"}, want: "a header or a value that cannot be sent"},
		{name: "basic without colon", secret: "hunter2", kind: "basic", job: map[string]any{"credential": "c"}, want: "not of the form user:password"},
		{name: "no object", secret: "abcd", kind: "header", job: map[string]any{"credential": "c"}, want: "not a flat JSON object"},
		{name: "nested object", secret: `{"a":{"b":"c"}}`, kind: "query", job: map[string]any{"credential": "c"}, want: "not a flat JSON object"},
		{name: "host in an object", secret: `{"Host":"evil"}`, kind: "header", job: map[string]any{"credential": "c"}, want: "a header or a value that cannot be sent"},
		{name: "no certificate", secret: secret, kind: "certificate", job: map[string]any{"credential": "c"}, want: "not a certificate with its private key"},
		{name: "caller's header", secret: secret, kind: "bearer", job: map[string]any{"credential": "c", "headers": map[string]string{"authorization": "mine"}}, want: "the header Authorization is set by the credential", class: loopbroker.ErrorClassBadRequest},
		{name: "caller's parameter", secret: secret, kind: "query", field: "code", job: map[string]any{"credential": "c", "url": stub.URL + "/?code=mine"}, want: `the query parameter "code" is set by the credential`, class: loopbroker.ErrorClassBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			secrets := httpfetch.MapSecrets{}
			if tt.secret != "" {
				secrets["c"] = tt.secret
			}
			p := credential(t, stub.URL, tt.kind, tt.field)
			p.Endpoints = append(p.Endpoints, other)
			h := withPolicy(t, httpfetch.Options{Secrets: secrets}, p)
			if tt.job["url"] == nil {
				tt.job["url"] = stub.URL
			}
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: job(tt.job)})
			f := faultOf(t, err)
			if tt.class == "" {
				tt.class = loopbroker.ErrorClassCredential
			}
			if f.Class != tt.class || f.Retryable || !strings.Contains(f.Message, tt.want) {
				t.Errorf("got %v, want class %s with %q", f, tt.class, tt.want)
			}
			if text := strings.TrimSpace(tt.secret); len(text) > 4 && strings.Contains(f.Error()+fmt.Sprint(f.Err), text) {
				t.Errorf("the fault tells the secret: %v (%v)", f, f.Err)
			}
		})
	}
	h := newHandler(t, httpfetch.Options{AllowNetworks: loopback, Secrets: httpfetch.MapSecrets{"c": secret}})
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: with(stub.URL, "c")})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassCredential {
		t.Errorf("without a policy: %v, want class credential", f)
	}
}

// TestCredential_NotInReplies: a target that echoes what it was sent must not bring
// the secret into a reply, which is stored.
func TestCredential_NotInReplies(t *testing.T) {
	t.Parallel()

	basic := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
	tests := []struct {
		name   string
		kind   loopbroker.CredentialKind
		secret string
		hidden []string
		reply  func(w http.ResponseWriter, r *http.Request)
	}{
		{"text", "bearer", secret, []string{secret}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization"))
		}},
		{"JSON", "bearer", secret, []string{`s3cr3t`}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"headers": r.Header})
		}},
		{"header", "bearer", secret, []string{`s3cr3t`}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		}},
		{"location", "query", secret, []string{`s3cr3t`}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/login?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		}},
		{"bytes", "bearer", secret, []string{`s3cr3t`}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, "\x00"+r.Header.Get("Authorization"))
		}},
		{"UTF-16", "bearer", secret, []string{`s3cr3t`}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-16le")
			for _, c := range []byte(r.Header.Get("Authorization")) {
				_, _ = w.Write([]byte{c, 0})
			}
		}},
		{"base64", "basic", "user:" + secret, []string{basic, secret}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, password, _ := r.BasicAuth()
			_, _ = io.WriteString(w, r.Header.Get("Authorization")+" "+password)
		}},
		{"status that asks for another attempt", "bearer", secret, []string{`s3cr3t`}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stub := serve(t, tt.reply)
			field := ""
			if tt.kind == "query" {
				field = "sig"
			}
			h := withPolicy(t, httpfetch.Options{Secrets: httpfetch.MapSecrets{"c": tt.secret}}, credential(t, stub.URL, tt.kind, field))
			r, err := h.Handle(t.Context(), loopbroker.Job{JSON: with(stub.URL, "c")})
			if err != nil {
				r = *faultOf(t, err).Reply
			}
			all := r.JSON + string(r.Body)
			for _, hidden := range tt.hidden {
				if strings.Contains(all, hidden) || strings.Contains(all, url.QueryEscape(hidden)) {
					t.Errorf("the reply tells the secret: %s", all)
				}
			}
			if !strings.Contains(all, "[redacted]") {
				t.Errorf("reply = %s, want the place marked", all)
			}
		})
	}
}

// TestDirSecrets_Rotated: a secret that is replaced is used from the next attempt on.
func TestDirSecrets_Rotated(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		next := filepath.Join(dir, ".next")
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, "c")); err != nil {
			t.Fatal(err)
		}
	}
	got := ""
	stub := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })
	h := withPolicy(t, httpfetch.Options{Secrets: httpfetch.DirSecrets{Dir: dir}}, credential(t, stub.URL, "bearer", ""))
	for _, text := range []string{"first", "second"} {
		write(text + "\n")
		if _, err := h.Handle(t.Context(), loopbroker.Job{JSON: with(stub.URL, "c")}); err != nil {
			t.Fatal(err)
		}
		if got != "Bearer "+text {
			t.Errorf("sent %q, want the secret %q", got, text)
		}
	}
}

// newCertificate returns a self-signed client certificate with its key in PEM.
func newCertificate(t testing.TB, name string) (string, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return string(append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...)), cert
}

// TestClientCertificate: the certificate is the row's or the job's, is used for TLS,
// is not shared with requests that have none, and is replaced with its file.
func TestClientCertificate(t *testing.T) {
	t.Parallel()

	first, firstCert := newCertificate(t, "first")
	second, secondCert := newCertificate(t, "second")
	pool := x509.NewCertPool()
	pool.AddCert(firstCert)
	pool.AddCert(secondCert)
	stub := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		_, _ = io.WriteString(w, name)
	}))
	stub.EnableHTTP2 = true
	stub.Config.ErrorLog = quiet
	stub.TLS = &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool}
	stub.StartTLS()
	t.Cleanup(stub.Close)
	roots := x509.NewCertPool()
	roots.AddCert(stub.Certificate())

	secrets := httpfetch.MapSecrets{"c": first, "row": second}
	p := credential(t, stub.URL, loopbroker.CredentialCertificate, "")
	h := withPolicy(t, httpfetch.Options{Secrets: secrets, RootCAs: roots}, p)
	ask := func(step, text, want string) {
		t.Helper()
		r, err := h.Handle(t.Context(), loopbroker.Job{JSON: text})
		if err != nil {
			t.Errorf("%s: %v", step, err)
			return
		}
		if got := *outputOf(t, r).Body; got != want {
			t.Errorf("%s: the stub saw %s, want %s", step, got, want)
		}
	}
	ask("the job's", with(stub.URL, "c"), "first")
	ask("none", get(stub.URL), "nobody")
	ask("the job's again", with(stub.URL, "c"), "first")
	secrets["c"] = second
	ask("replaced", with(stub.URL, "c"), "second")

	p.Endpoints[0].ClientCertificate = "row"
	p.Credentials = append(p.Credentials, loopbroker.Credential{Name: "row", Endpoint: "stub", Kind: loopbroker.CredentialCertificate})
	secrets["c"] = first
	if err := h.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	ask("the row's", get(stub.URL), "second")
	ask("the job's before the row's", with(stub.URL, "c"), "first")

	p.Credentials[1].Kind = loopbroker.CredentialBearer
	if err := h.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	_, err := h.Handle(t.Context(), loopbroker.Job{JSON: get(stub.URL)})
	if f := faultOf(t, err); f.Class != loopbroker.ErrorClassCredential || strings.Contains(f.Message, "PRIVATE") {
		t.Errorf("a row's certificate that is none: %v", f)
	}
}
