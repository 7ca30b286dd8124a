package httpfetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"loopbroker"
)

// grant is a credential that is ready to be sent, to its endpoint and nowhere else.
type grant struct {
	endpoint    string
	header      http.Header
	query       []headerField // name and value
	certificate clientCertificate
	hidden      redactor
}

// clientCertificate is a certificate with its key, as it came from its source. The
// zero value is none.
type clientCertificate struct {
	name string
	pem  []byte
}

// credentialHeader reports whether a credential can be sent in the header.
func credentialHeader(name string) bool {
	return validHeaderName(name) && !slices.Contains(reserved, http.CanonicalHeaderKey(name))
}

// grantFor returns the credential of the name for a request that the row allows. The
// error is a *loopbroker.Fault; it does not tell a name that is bound elsewhere from
// one that is not there.
func (h *Handler) grantFor(ctx context.Context, r *allowList, one *row, name string) (*grant, error) {
	var c loopbroker.Credential
	if r != nil && one != nil {
		c = r.credentials[name]
	}
	if c.Name == "" || c.Endpoint != one.Name {
		return nil, loopbroker.NewFault(loopbroker.ErrorClassCredential, "there is no credential %q for this endpoint", name)
	}
	secret, err := h.opts.Secrets.Secret(ctx, c.Name)
	if err != nil {
		return nil, secretFault(name, err)
	}
	g := &grant{endpoint: c.Endpoint, header: http.Header{}}
	if reason := g.fill(c, secret); reason != "" {
		return nil, loopbroker.NewFault(loopbroker.ErrorClassCredential, "the credential %q cannot be used: %s", name, reason)
	}
	return g, nil
}

// fill puts the secret where the credential's kind says. It returns what is wrong
// with the secret, without any of it.
func (g *grant) fill(c loopbroker.Credential, secret []byte) string {
	if c.Kind == loopbroker.CredentialCertificate {
		g.certificate = clientCertificate{name: c.Name, pem: secret}
		return ""
	}
	text := strings.TrimRight(string(secret), "\r\n")
	if text == "" {
		return "its secret is empty"
	}
	switch c.Kind {
	case loopbroker.CredentialBearer:
		g.hidden.hide(text)
		g.header.Set("Authorization", "Bearer "+text)
	case loopbroker.CredentialBasic:
		_, password, ok := strings.Cut(text, ":")
		if !ok {
			return "its secret is not of the form user:password"
		}
		g.hidden.hide(text, password)
		g.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(text)))
	default:
		return g.fillFields(c, text)
	}
	if !validHeaderValue(text) {
		return "its secret holds a character that a header cannot"
	}
	return ""
}

// fillFields puts a secret into headers or query parameters: the one that the
// credential names, or those of a flat JSON object.
func (g *grant) fillFields(c loopbroker.Credential, text string) string {
	fields := headers{{name: c.Field, value: text}}
	if c.Field == "" {
		fields = nil
		if err := json.Unmarshal([]byte(text), &fields); err != nil || len(fields) == 0 {
			return "its row names no field, and its secret is not a flat JSON object"
		}
	}
	for _, f := range fields {
		g.hidden.hide(f.value)
		if c.Kind == loopbroker.CredentialQuery {
			g.query = append(g.query, f)
			continue
		}
		if !credentialHeader(f.name) || !validHeaderValue(f.value) {
			return "its secret names a header or a value that cannot be sent"
		}
		g.header.Set(f.name, f.value)
	}
	return ""
}

// apply adds the credential to a message. It refuses one in which the caller set
// what the credential sets: which of the two was meant cannot be told.
func (g *grant) apply(u *url.URL, header http.Header) error {
	for name, values := range g.header {
		if header[name] != nil {
			return badRequest(31616, "the header %s is set by the credential", name)
		}
		header[name] = values
	}
	given := u.Query()
	for _, p := range g.query {
		if given.Has(p.name) {
			return badRequest(0, "the query parameter %q is set by the credential", p.name)
		}
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += url.QueryEscape(p.name) + "=" + url.QueryEscape(p.value)
	}
	return nil
}

// minHidden is the fewest characters of a secret that is looked for in answers. What
// is shorter is no secret, and would take words out of texts.
const minHidden = 4

// redacted stands where a secret was.
const redacted = "[redacted]"

// redactor takes secrets out of what a target sent back: some echo what they were
// sent, and answers are stored. It knows the secrets as they are and in the forms in
// which they are most often quoted.
type redactor struct{ forms []string }

// hide adds secrets.
func (r *redactor) hide(secrets ...string) {
	for _, s := range secrets {
		if len(s) < minHidden {
			continue
		}
		quoted, _ := json.Marshal(s) // a string always can be
		var plain bytes.Buffer
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(s) // as above
		for _, form := range []string{
			s,
			strings.Trim(string(quoted), `"`),
			strings.Trim(strings.TrimSpace(plain.String()), `"`),
			strings.ReplaceAll(s, "/", `\/`),
			url.QueryEscape(s), url.PathEscape(s),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.RawStdEncoding.EncodeToString([]byte(s)),
			base64.URLEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)),
		} {
			if !slices.Contains(r.forms, form) {
				r.forms = append(r.forms, form)
			}
		}
	}
	slices.SortFunc(r.forms, func(a, b string) int { return len(b) - len(a) })
}

// bytes returns the data without the secrets.
func (r *redactor) bytes(data []byte) []byte {
	for _, form := range r.forms {
		if bytes.Contains(data, []byte(form)) {
			data = bytes.ReplaceAll(data, []byte(form), []byte(redacted))
		}
	}
	return data
}

// text returns the text without the secrets.
func (r *redactor) text(s string) string {
	for _, form := range r.forms {
		s = strings.ReplaceAll(s, form, redacted)
	}
	return s
}

// headers returns the header without the secrets, in names and in values.
func (r *redactor) headers(h http.Header) http.Header {
	if len(r.forms) == 0 {
		return h
	}
	out := make(http.Header, len(h))
	for name, values := range h {
		name = r.text(name)
		for _, v := range values {
			out[name] = append(out[name], r.text(v))
		}
	}
	return out
}
