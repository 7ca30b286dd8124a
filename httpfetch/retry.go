package httpfetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"loopbroker"
)

// idempotent reports whether the method's effect is the same however often it is
// sent (RFC 9110, section 9.2.2).
func idempotent(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return true
	default:
		return false
	}
}

// MayRetry decides whether a failed attempt may be made again: if its class allows
// it at all, and if either the request cannot have left, or doing it twice is the
// same as doing it once.
func MayRetry(class loopbroker.ErrorClass, left, repeatable bool) bool {
	switch class.Retry() {
	case loopbroker.RetrySafe:
		return true
	case loopbroker.RetryIdempotent:
		return !left || repeatable
	default:
		return false
	}
}

// retryStatus says what an answer's status asks for.
type retryStatus struct {
	// again reports whether another attempt makes sense.
	again bool
	// refused reports whether the target has said that it did not act.
	refused bool
}

// retryStatuses are the statuses that ask for another attempt. A 500 is not among
// them: it is most often the target's final word on that input.
var retryStatuses = map[int]retryStatus{
	http.StatusRequestTimeout:     {again: true},
	http.StatusTooEarly:           {again: true, refused: true},
	http.StatusTooManyRequests:    {again: true, refused: true},
	http.StatusBadGateway:         {again: true},
	http.StatusServiceUnavailable: {again: true},
	http.StatusGatewayTimeout:     {again: true},
}

// retryAfter reads a Retry-After header (RFC 9110, section 10.2.3): seconds or a
// date. It returns at most limit, and 0 for a header that is absent, malformed or
// in the past.
func retryAfter(value string, now time.Time, limit time.Duration) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(limit/time.Second) {
			return limit // more than can be counted is more than the limit
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), limit))
}
