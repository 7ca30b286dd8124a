package httpfetch

import (
	"net/http"

	"loopbroker"
)

// maxRedirects is the most that can be asked for.
const maxRedirects = 20

// hop is one request of an exchange.
type hop struct {
	target *target
	method string
	header http.Header
	body   []byte
}

// contentHeaders describe a body, and go with it.
var contentHeaders = []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Location"}

// redirects reports whether the status names another place to ask.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

// next returns the request that a redirect asks for (RFC 9110, section 15.4; Fetch,
// section 4.4). A POST becomes a GET by 301 and 302, every method but HEAD by 303;
// 307 and 308 change nothing. To another scheme, host or port go none of the
// caller's headers, but those that describe the body that goes along.
func (h hop) next(status int, location string) (hop, error) {
	target, err := redirectTarget(h.target, location)
	if err != nil {
		return hop{}, err
	}
	out := hop{target: target, method: h.method, header: h.header.Clone(), body: h.body}
	post := h.method == http.MethodPost && (status == http.StatusMovedPermanently || status == http.StatusFound)
	if post || (status == http.StatusSeeOther && h.method != http.MethodHead && h.method != http.MethodGet) {
		out.method, out.body = http.MethodGet, nil
		for _, name := range contentHeaders {
			out.header.Del(name)
		}
	}
	if target.origin() != h.target.origin() {
		kept := http.Header{"User-Agent": out.header["User-Agent"]}
		for _, name := range contentHeaders {
			if v := out.header[name]; v != nil {
				kept[name] = v
			}
		}
		out.header = kept
	}
	return out, nil
}

// redirectTarget returns where a redirect leads. It never leads from https to http.
func redirectTarget(from *target, location string) (*target, error) {
	unusable := loopbroker.NewFault(loopbroker.ErrorClassRedirect, "a redirect leads to a URL that cannot be called")
	if checkURLText(location) != nil {
		return nil, unusable
	}
	u, err := from.url.Parse(location)
	if err != nil {
		return nil, unusable
	}
	next, err := parseTarget(u.String())
	if err != nil {
		// An address that may not be called stays that, whoever named it.
		if f := loopbroker.AsFault(err); f.Class == loopbroker.ErrorClassAddressNotAllowed {
			return nil, f
		}
		return nil, unusable
	}
	if from.url.Scheme == "https" && next.url.Scheme != "https" {
		return nil, loopbroker.NewFault(loopbroker.ErrorClassRedirect, "a redirect leads from https to http")
	}
	return next, nil
}
