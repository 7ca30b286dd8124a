package httpfetch

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"loopbroker"
)

// maxURL is the most bytes of a URL. The procedures take 4,000 characters, which
// can be three times as many bytes when they are escaped.
const maxURL = 16 << 10

// target is where a request goes. What the allow-list compares is what is dialled
// and what is sent: there is one form, made here, and nothing parses again.
type target struct {
	// url is ready to be sent: scheme and host in lower case, no default port, no
	// user information, no fragment, no dot segments, ASCII only.
	url *url.URL

	// host is the name or the address, without brackets and without a dot at its
	// end; port is always there.
	host, port string
}

// origin names the scheme, host and port, such as "https://api.example:443".
func (t *target) origin() string { return origin(t.url.Scheme, t.host, t.port) }

// path returns the path as it is sent.
func (t *target) path() string { return t.url.EscapedPath() }

// origin joins its parts.
func origin(scheme, host, port string) string {
	return scheme + "://" + net.JoinHostPort(host, port)
}

// badURL returns the fault for a URL that cannot be called. The number is that of
// sp_invoke_external_rest_endpoint, or 0 for the class's own.
func badURL(msError int, format string, args ...any) *loopbroker.Fault {
	f := loopbroker.NewFault(loopbroker.ErrorClassBadURL, format, args...)
	f.MSError = msError
	return f
}

// parseTarget reads a URL. The error is a *loopbroker.Fault and quotes nothing of
// it: a URL can hold a secret.
func parseTarget(text string) (*target, error) {
	if err := checkURLText(text); err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, badURL(0, "the URL is malformed")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, badURL(0, "the URL's scheme is not http or https")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, badURL(0, "the URL names no host")
	case u.User != nil:
		return nil, badURL(0, "the URL holds user information")
	}
	host, err := canonicalHost(u.Hostname(), strings.HasPrefix(u.Host, "["))
	if err != nil {
		return nil, err
	}
	port, err := canonicalPort(u.Scheme, u.Port())
	if err != nil {
		return nil, err
	}
	t := &target{host: host, port: port, url: &url.URL{Scheme: u.Scheme, RawQuery: escapeQuery(u.RawQuery)}}
	t.url.Host = net.JoinHostPort(host, port)
	if port == defaultPort(u.Scheme) {
		t.url.Host = strings.TrimSuffix(t.url.Host, ":"+port)
	}
	escaped := removeDotSegments(u.EscapedPath())
	if t.url.Path, err = url.PathUnescape(escaped); err != nil {
		return nil, badURL(0, "the URL is malformed")
	}
	t.url.RawPath = escaped
	if t.url.EscapedPath() != escaped { // what Go would not send as it stands
		return nil, badURL(0, "the URL is malformed")
	}
	return t, nil
}

// checkURLText refuses what parsers disagree about.
func checkURLText(text string) error {
	if text == "" {
		return badURL(0, "the URL is missing")
	}
	if len(text) > maxURL {
		return badURL(31613, "the URL has %d bytes and may have %d", len(text), maxURL)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }); i >= 0 {
		return badURL(0, "the URL holds a blank or a control character at position %d", i+1)
	}
	before, _, _ := strings.Cut(text, "#")
	before, _, _ = strings.Cut(before, "?")
	if strings.Contains(before, `\`) {
		return badURL(0, "the URL holds a backslash, which some take for a slash")
	}
	return nil
}

// defaultPort returns the port that a URL of the scheme need not name.
func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// canonicalPort returns the port in decimal.
func canonicalPort(scheme, port string) (string, error) {
	if port == "" {
		return defaultPort(scheme), nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", badURL(0, "the URL's port is not one of 1 to 65535")
	}
	return strconv.FormatUint(n, 10), nil
}

// canonicalHost returns the one form of a host: an address as netip writes it, with
// an IPv4 address out of any of its spellings, or a name in lower case without a
// dot at its end. A name that is not ASCII is refused: which ASCII name it stands
// for depends on the version of a table that the allow-list's reader may not have.
func canonicalHost(host string, bracketed bool) (string, error) {
	if bracketed {
		addr, err := netip.ParseAddr(host)
		switch {
		case err != nil || !addr.Is6():
			return "", badURL(31614, "the URL's host is not an IPv6 address")
		case addr.Zone() != "":
			return "", loopbroker.NewFault(loopbroker.ErrorClassAddressNotAllowed, "the host has an address with a zone, which may not be called")
		}
		return addr.Unmap().String(), nil
	}
	if strings.IndexFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		return "", badURL(31614, "the URL's host is not ASCII; write it in its xn-- form")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !validHostName(host) {
		return "", badURL(31614, "the URL's host is not a name or an address")
	}
	if addr, ok := parseHostAddr(host); ok {
		return addr.String(), nil
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; numericLabel(last) {
		return "", badURL(31614, "the URL's host looks like an address and is none")
	}
	return host, nil
}

// validHostName reports whether host consists of labels of letters, digits, hyphens
// and underscores (RFC 1123, section 2.1, and the underscores of practice).
func validHostName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return false
			}
		}
	}
	return true
}

// numericLabel reports whether a last label makes its host an address for whoever
// reads it as browsers do (WHATWG URL, section 3.5).
func numericLabel(label string) bool {
	if digits, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// escapeQuery escapes what is not ASCII, which is not ours to send raw.
func escapeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteString(strings.ToUpper(strconv.FormatUint(uint64(c), 16)))
		}
	}
	return b.String()
}

// removeDotSegments resolves "." and ".." in an escaped path, also where the dots
// are escaped, as browsers do (RFC 3986, section 5.2.4; WHATWG URL, section 4.4).
func removeDotSegments(escaped string) string {
	segments := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	out := make([]string, 0, len(segments))
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, segment)
		}
	}
	return "/" + strings.Join(out, "/")
}

// maxDecodings is how often an escaped path is read again. One that still holds
// escapes after that is taken to lead anywhere.
const maxDecodings = 5

// within reports whether the escaped path lies under the prefix however a server
// reads it: with its escapes decoded once or several times, with a backslash for a
// slash, without what follows a semicolon in a segment, with empty segments merged.
func within(escaped, prefix string) bool {
	if prefix == "/" {
		return true
	}
	if !readsUnder(decode(escaped, `/\`), prefix) {
		return false
	}
	text := escaped
	for range maxDecodings {
		next := decode(text, "")
		if next == text {
			return true
		}
		text = next
		if !readsUnder(text, prefix) {
			return false
		}
	}
	return false
}

// readsUnder reports whether every reading of a decoded path is under the prefix. A
// text that is not UTF-8, or holds a control character, may be read as anything:
// some servers drop such bytes, or take two of them for one of ASCII.
func readsUnder(text, prefix string) bool {
	if !readable(text) {
		return false
	}
	slashed := strings.ReplaceAll(text, `\`, "/")
	for _, reading := range []string{text, slashed, dropParameters(text), dropParameters(slashed)} {
		if !under(removeDotSegments(reading), prefix) || !under(path.Clean(reading), prefix) {
			return false
		}
	}
	return true
}

// under reports whether the path is the prefix or goes on after it with a slash.
func under(text, prefix string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// dropParameters cuts each segment at its first semicolon.
func dropParameters(text string) string {
	segments := strings.Split(text, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return strings.Join(segments, "/")
}

// decode replaces each valid escape by its byte, but for the bytes to keep.
func decode(text, keep string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil && !strings.ContainsRune(keep, rune(n)) {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// readable reports whether text is UTF-8 without control characters.
func readable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// validPrefix reports whether text can be a path prefix of the allow-list.
func validPrefix(text string) bool {
	if text == "/" {
		return true
	}
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, `%?#\;`) || !readable(text) {
		return false
	}
	for segment := range strings.SplitSeq(text[1:], "/") {
		if slices.Contains([]string{"", ".", ".."}, segment) {
			return false
		}
	}
	return true
}
