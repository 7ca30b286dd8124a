package httpfetch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"testing"

	"loopbroker"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()

	tests := []struct {
		text, url, origin string
	}{
		{"http://example.com", "http://example.com/", "http://example.com:80"},
		{"HTTPS://Example.COM:443/A?b=C#d", "https://example.com/A?b=C", "https://example.com:443"},
		{"http://example.com:443/", "http://example.com:443/", "http://example.com:443"},
		{"https://example.com:00443/", "https://example.com/", "https://example.com:443"},
		{"http://example.com:/", "http://example.com/", "http://example.com:80"},
		{"http://example.com./", "http://example.com/", "http://example.com:80"},
		{"http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/", "http://xn--bcher-kva.example:80"},
		{"http://a_b.example/", "http://a_b.example/", "http://a_b.example:80"},
		{"http://0x7f.1:8080/", "http://127.0.0.1:8080/", "http://127.0.0.1:8080"},
		{"http://2130706433/", "http://127.0.0.1/", "http://127.0.0.1:80"},
		{"http://0177.0.0.01/", "http://127.0.0.1/", "http://127.0.0.1:80"},
		{"http://[::FFFF:10.0.0.1]/", "http://10.0.0.1/", "http://10.0.0.1:80"},
		{"https://[2001:DB8:0::1]:8443/", "https://[2001:db8::1]:8443/", "https://[2001:db8::1]:8443"},
		{"http://h/a/../b/./c/..", "http://h/b/", "http://h:80"},
		{"http://h/a/%2e%2E/b/.%2e/%2e/c", "http://h/c", "http://h:80"},
		{"http://h/../../..", "http://h/", "http://h:80"},
		{"http://h/a%2fb/%7e/~", "http://h/a%2fb/%7e/~", "http://h:80"},
		{"http://h/a//b", "http://h/a//b", "http://h:80"},
		{"http://h//evil.example/", "http://h//evil.example/", "http://h:80"},
		{"http://h/ü?q=ü", "http://h/%C3%BC?q=%C3%BC", "http://h:80"},
		{"http://h?@evil.example", "http://h/?@evil.example", "http://h:80"},
		{"http://h#@evil.example", "http://h/", "http://h:80"},
		{"http://h/%252e%252e/x", "http://h/%252e%252e/x", "http://h:80"},
		{`http://h/?a=\`, `http://h/?a=\`, "http://h:80"},
	}
	for _, tt := range tests {
		got, err := parseTarget(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got.url.String() != tt.url || got.origin() != tt.origin {
			t.Errorf("%s: got %s and %s, want %s and %s", tt.text, got.url, got.origin(), tt.url, tt.origin)
		}
	}
}

func TestParseTarget_Refuses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		text  string
		class loopbroker.ErrorClass
		ms    int
	}{
		{"", loopbroker.ErrorClassBadURL, 31609},
		{"http://" + strings.Repeat("a", maxURL), loopbroker.ErrorClassBadURL, 31613},
		{"http://user@h/", loopbroker.ErrorClassBadURL, 31609},
		{"http://@h/", loopbroker.ErrorClassBadURL, 31609},
		{"http://good.example@evil.example/", loopbroker.ErrorClassBadURL, 31609},
		{`http://good.example\@evil.example/`, loopbroker.ErrorClassBadURL, 31609},
		{`http://good.example\.evil.example/`, loopbroker.ErrorClassBadURL, 31609},
		{`http:\\h\`, loopbroker.ErrorClassBadURL, 31609},
		{`http://h/a\..\b`, loopbroker.ErrorClassBadURL, 31609},
		{"http://h\t/", loopbroker.ErrorClassBadURL, 31609},
		{"http://h/\x00", loopbroker.ErrorClassBadURL, 31609},
		{"http://h/\xff", loopbroker.ErrorClassBadURL, 31609},
		{"http://h:0/", loopbroker.ErrorClassBadURL, 31609},
		{"http://h:65536/", loopbroker.ErrorClassBadURL, 31609},
		{"http://h:80:80/", loopbroker.ErrorClassBadURL, 31609},
		{"http://::1/", loopbroker.ErrorClassBadURL, 31609},
		{"http://./", loopbroker.ErrorClassBadURL, 31614},
		{"http://a..b/", loopbroker.ErrorClassBadURL, 31614},
		{"http://h../", loopbroker.ErrorClassBadURL, 31614},
		{"http://1.2.3.4.5/", loopbroker.ErrorClassBadURL, 31614},
		{"http://256.1/", loopbroker.ErrorClassBadURL, 31614},
		{"http://a.0x/", loopbroker.ErrorClassBadURL, 31614},
		{"http://08.8.8.8/", loopbroker.ErrorClassBadURL, 31614},
		{"http://bücher.example/", loopbroker.ErrorClassBadURL, 31614},
		{"http://127。0。0。1/", loopbroker.ErrorClassBadURL, 31614},
		{"http://①②⑦.⓪.⓪.①/", loopbroker.ErrorClassBadURL, 31614},
		{"http://%C3%BC.example/", loopbroker.ErrorClassBadURL, 31614},
		{"http://a%2eb/", loopbroker.ErrorClassBadURL, 31609},
		{"http://[1.2.3.4]/", loopbroker.ErrorClassBadURL, 31614},
		{"http://[fe80::1%25lo]/", loopbroker.ErrorClassAddressNotAllowed, 31624},
		{"http://[2606:4700::1%25eth0]/", loopbroker.ErrorClassAddressNotAllowed, 31624},
		{"http://" + strings.Repeat("a", 64) + "/", loopbroker.ErrorClassBadURL, 31614},
		{"http://" + strings.Repeat("a.", 128) + "/", loopbroker.ErrorClassBadURL, 31614},
	}
	for _, tt := range tests {
		got, err := parseTarget(tt.text)
		var f *loopbroker.Fault
		if !errors.As(err, &f) {
			t.Errorf("%.40q: got %v, %v, want a fault", tt.text, got, err)
			continue
		}
		if tt.ms == 31614 && f.MSNumber() == 31609 {
			tt.ms = 31609 // refused by the library already, which differs by version
		}
		if f.Class != tt.class || f.MSNumber() != tt.ms {
			t.Errorf("%.40q: got %v (%d), want %s (%d)", tt.text, f, f.MSNumber(), tt.class, tt.ms)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()

	tests := []struct {
		path, prefix string
		want         bool
	}{
		{"/anything/%2e%2e%2f", "/", true},
		{"/v1", "/v1", true},
		{"/v1/", "/v1", true},
		{"/v1/a/b", "/v1", true},
		{"/v10", "/v1", false},
		{"/v", "/v1", false},
		{"/V1/a", "/v1", false},
		{"/v1;x/a", "/v1", false}, // "/v1" to some, another name to others
		{"/v1/a;x", "/v1", true},
		{"/my%20files/a", "/my files", true},
		{"/%76%31/a", "/v1", true},
		{"/v1/group%2Fproject", "/v1", true},
		{"/v1%2Fgroup", "/v1", false}, // one segment to some
		{"/v1/..%2fadmin", "/v1", false},
		{"/v1/%2e%2e%2fadmin", "/v1", false},
		{"/v1/%252e%252e/admin", "/v1", false},
		{"/v1/%25252e%25252e%25252fadmin", "/v1", false},
		{"/v1/..%5cadmin", "/v1", false},
		{"/v1/..;/admin", "/v1", false},
		{"/v1/..;a=b/admin", "/v1", false},
		{"/v1/%2e%2e;/admin", "/v1", false},
		{"/v1/x//..%2f..%2fadmin", "/v1", false},
		{"/v1//x", "/v1", true},
		{"//v1/x", "/v1", false},
		{"/v1/100%25", "/v1", true},
		{"/v1/" + strings.Repeat("%25", 9) + "41", "/v1", true}, // nothing is hidden in it
		{"/v1/%2525252525252541", "/v1", false},                 // too deep to tell
		{"/ü/%C3%BC", "/ü", true},
		{"/v1/%c3%bc", "/v1", true},
		{"/v1/%c0%ae%c0%ae/admin", "/v1", false}, // a dot in two bytes, to some
		{"/v1/..%09/admin", "/v1", false},        // nothing, to some
		{"/v1/%09../admin", "/v1", false},
		{"/v1/%2509../admin", "/v1", false},
		{"/v1/%7f", "/v1", false},
		{"/v1/%ff", "/v1", false},
	}
	for _, tt := range tests {
		if got := within(tt.path, tt.prefix); got != tt.want {
			t.Errorf("within(%s, %s) = %v, want %v", tt.path, tt.prefix, got, tt.want)
		}
	}
}

func TestValidPrefix(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]bool{
		"/": true, "/v1": true, "/v1/ü b": true,
		"": false, "v1": false, "/v1/": false, "//": false, "/v1//a": false, "/./a": false, "/a/..": false,
		"/a%20b": false, "/a?b": false, "/a#b": false, `/a\b`: false, "/a;b": false, "/a\n": false, "/\xff": false,
	} {
		if got := validPrefix(text); got != want {
			t.Errorf("validPrefix(%q) = %v, want %v", text, got, want)
		}
	}
}

// errNoDial ends a dial of the fuzz test, which only wants to know where it went.
var errNoDial = errors.New("no dial")

// FuzzTarget holds the form that the allow-list compares against what the library
// would dial and against other readings of the same text.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"http://example.com/a/../b?c#d", "https://[::ffff:127.0.0.1]:8443/v1/%2e%2e/x", "http://0x7f.1/", "http://h:080//x",
		"http://a%2eb/", `http://a\@b/`, "http://u@h/", "http://xn--p1ai./", "http://1.2.3/%252e", "http://[fe80::1%25lo]/",
		"http://h/v1/..;/x", "HTTP://H:/", "http://h?x@y", "http://127。0。0。1/",
	} {
		f.Add(s)
	}
	g := newGuard(nil, nil)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTarget(text)
		if err != nil {
			return
		}
		written := got.url.String()
		again, err := parseTarget(written)
		if err != nil || again.url.String() != written || again.origin() != got.origin() {
			t.Fatalf("%q is %q, and that again %v, %v", text, written, again, err)
		}
		plain, err := url.Parse(written)
		if err != nil || plain.Hostname() != got.host || plain.User != nil || strings.ToLower(got.host) != got.host {
			t.Fatalf("%q: the library reads the host %q, want %q (%v)", written, plain.Hostname(), got.host, err)
		}
		if dialled := dialAddress(t, got); dialled != net.JoinHostPort(got.host, got.port) {
			t.Fatalf("%q: dials %q, want %s:%s", text, dialled, got.host, got.port)
		}
		if _, isAddress := parseHostAddr(got.host); isAddress {
			addr, err := netip.ParseAddr(got.host)
			if err != nil || addr.String() != got.host {
				t.Fatalf("%q: the host %q is an address in another form", text, got.host)
			}
			if ip := net.ParseIP(got.host); (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()) && g.check(addr) == nil {
				t.Fatalf("%q: the guard lets %s pass", text, addr)
			}
		}
		if within(got.path(), "/v1") {
			for p := got.path(); ; {
				if clean := path.Clean(strings.ReplaceAll(p, `\`, "/")); clean != "/v1" && !strings.HasPrefix(clean, "/v1/") && !strings.Contains(p, "%") {
					t.Fatalf("%q: passes for /v1 and is read as %q", text, clean)
				}
				next, err := url.PathUnescape(p)
				if err != nil || next == p {
					break
				}
				p = next
			}
		}
	})
}

// dialAddress returns where the library's transport would connect to for the target.
func dialAddress(t *testing.T, target *target) string {
	t.Helper()
	dialled := ""
	tr := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = address
		return nil, errNoDial
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target.url.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.URL = target.url
	if response, err := tr.RoundTrip(req); !errors.Is(err, errNoDial) {
		if err == nil {
			_ = response.Body.Close()
		}
		t.Fatalf("%s: %v, want no dial", target.url, err)
	}
	return dialled
}
