package httpfetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"loopbroker"
)

// rule is one row of the table from an error to its class.
type rule struct {
	class   loopbroker.ErrorClass
	message string
	match   func(error) bool
}

// rules is the table, in the order in which it is asked. A clock that ended, a
// context that was cancelled and a fault of our own are dealt with before; what no
// row matches goes by the phase.
var rules = []rule{
	{loopbroker.ErrorClassAddressNotAllowed, "the host has an address that may not be called", isA[*addressError]},
	{loopbroker.ErrorClassTooLargeReply, "the answer's body is over the cap", is(errReplyTooLarge)},
	{loopbroker.ErrorClassTooLargeReply, "the answer's headers are over the cap", isHeaderCap},
	{loopbroker.ErrorClassTimeoutConnect, "the host's name was not looked up in time", isLookupTimeout},
	{loopbroker.ErrorClassDNS, "the host's name does not resolve", isA[*net.DNSError]},
	{loopbroker.ErrorClassCertificate, "the host's certificate is not accepted", isCertificate},
	{loopbroker.ErrorClassTimeoutTLS, "the time for the TLS handshake ended", isHandshakeTimeout},
	{loopbroker.ErrorClassTLS, "the host did not complete the TLS handshake", isHandshake},
	{loopbroker.ErrorClassTimeoutConnect, "the time to connect ended", isDialTimeout},
	{loopbroker.ErrorClassConnect, "the host did not take the connection", isDial},
	{loopbroker.ErrorClassConnect, "the proxy did not open the connection", isA[*proxyError]},
	{loopbroker.ErrorClassProtocol, "the answer is not HTTP", is(errNotFinal)},
	{loopbroker.ErrorClassProtocol, "the answer's body is not encoded as it says", is(errEncoding)},
	{loopbroker.ErrorClassProtocol, "the answer is not HTTP/2", isStreamMisuse},
	{loopbroker.ErrorClassConnectionLost, "the host broke the answer off", isStreamLost},
	{loopbroker.ErrorClassConnectionLost, "the connection broke", isLost},
}

// phaseFaults are the classes of errors that no rule matches.
var phaseFaults = [...]rule{
	phaseConnect: {class: loopbroker.ErrorClassConnect, message: "the host did not take the connection"},
	phaseTLS:     {class: loopbroker.ErrorClassTLS, message: "the host did not complete the TLS handshake"},
	phaseSend:    {class: loopbroker.ErrorClassConnectionLost, message: "the connection broke"},
	phaseHeader:  {class: loopbroker.ErrorClassProtocol, message: "the answer is not HTTP"},
	phaseBody:    {class: loopbroker.ErrorClassProtocol, message: "the answer's body is not encoded as it says"},
}

// fault returns the fault for an attempt that ended with err. A fault that is known
// already is passed on with the attempt's timings.
func fault(ctx context.Context, a *attempt, f *fetch, err error) *loopbroker.Fault {
	timings, left := a.state()
	result := &loopbroker.Fault{Timings: timings, Err: err}

	var own *loopbroker.Fault
	var clock *clockError
	cause := context.Cause(ctx)
	switch {
	case errors.As(cause, &clock):
		result.Class = clock.class
		result.Message = fmt.Sprintf("%s ended after %s", clockNames[clock.class], clock.limit)
		result.Err = clock
	case errors.Is(cause, loopbroker.ErrCancelled):
		result.Class, result.Message = loopbroker.ErrorClassCancelled, "the request was called off"
	case errors.Is(cause, loopbroker.ErrLeaseLost):
		result.Class, result.Message = loopbroker.ErrorClassLeaseLost, "the lease was lost"
	case cause != nil:
		result.Class, result.Message = loopbroker.ErrorClassInterrupted, "the worker stopped"
	case errors.As(err, &own):
		own.Timings = timings
		return own
	default:
		result.Class, result.Message = classify(err, a.current())
	}
	result.Retryable = MayRetry(result.Class, left && !isRefusedStream(err), f.repeatable)
	return result
}

// clockNames say which clock a class is about.
var clockNames = map[loopbroker.ErrorClass]string{
	loopbroker.ErrorClassTimeoutConnect: "the time to connect",
	loopbroker.ErrorClassTimeoutTLS:     "the time for the TLS handshake",
	loopbroker.ErrorClassTimeoutHeader:  "the time for the answer's headers",
	loopbroker.ErrorClassTimeoutBody:    "the time for the answer's body to go on",
	loopbroker.ErrorClassTimeoutAttempt: "the time for the attempt",
	loopbroker.ErrorClassTimeoutTotal:   "the time for all attempts",
}

// classify asks the table.
func classify(err error, p phase) (loopbroker.ErrorClass, string) {
	var refused *addressError
	for _, r := range rules {
		if !r.match(err) {
			continue
		}
		if errors.As(err, &refused) {
			// The address itself is not told: it would map the inside for outsiders.
			return r.class, r.message + " (" + refused.reason + ")"
		}
		return r.class, r.message
	}
	r := phaseFaults[p]
	return r.class, r.message
}

// isA reports whether err's chain holds a T.
func isA[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// is returns a matcher for one error.
func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// isHeaderCap matches the errors of HTTP/1 and HTTP/2 for headers over
// Transport.MaxResponseHeaderBytes. The library has no value for them.
func isHeaderCap(err error) bool {
	text := err.Error()
	return strings.Contains(text, "server response headers exceeded") ||
		strings.Contains(text, "response header list larger than advertised limit")
}

// isLookupTimeout matches a lookup that no server answered in time.
func isLookupTimeout(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsTimeout && !dns.IsNotFound
}

// isCertificate matches everything that makes a certificate unacceptable.
func isCertificate(err error) bool {
	return isA[*tls.CertificateVerificationError](err) || isA[x509.UnknownAuthorityError](err) ||
		isA[x509.HostnameError](err) || isA[x509.CertificateInvalidError](err)
}

// isHandshake matches the other failures of TLS, among them a server that answers
// with plain HTTP and one that refuses with an alert, which may come only after the
// handshake (RFC 8446, section 4.4.2.4).
func isHandshake(err error) bool {
	return isA[tls.RecordHeaderError](err) || isA[tls.AlertError](err) || isAlert(err) || errors.Is(err, http.ErrSchemeMismatch)
}

// isAlert matches an alert of either side. Over TCP it has a type that the library
// does not export, in an error with one of these operations.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// isHandshakeTimeout matches the transport's own clock, which is the second line
// behind the attempt's and which it has no value for.
func isHandshakeTimeout(err error) bool {
	return strings.Contains(err.Error(), "TLS handshake timeout")
}

// isDialTimeout matches a socket that was not connected in time.
func isDialTimeout(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && op.Timeout()
}

// isDial matches a socket that could not be connected.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// streamError receives the library's own type for a stream of HTTP/2 that was reset,
// which it does not export but copies into one with these fields.
type streamError struct {
	StreamID uint32
	Code     uint32 // RFC 9113, section 7
	Cause    error
}

// Error implements error.
func (e streamError) Error() string { return fmt.Sprintf("stream reset with code %d", e.Code) }

// The codes of a stream that matter here.
const (
	streamProtocolError = 1
	streamRefused       = 7
)

// isStreamMisuse matches a stream on which something else than HTTP/2 was sent.
func isStreamMisuse(err error) bool {
	var s streamError
	return errors.As(err, &s) && s.Code == streamProtocolError
}

// isStreamLost matches a stream, or a whole connection of HTTP/2, that the other
// side gave up. The library has no values for the latter.
func isStreamLost(err error) bool {
	text := err.Error()
	return isA[streamError](err) || strings.Contains(text, "http2: server sent GOAWAY") ||
		strings.Contains(text, "http2: client connection")
}

// isRefusedStream matches a stream that the other side says it did not act on.
func isRefusedStream(err error) bool {
	var s streamError
	return errors.As(err, &s) && s.Code == streamRefused
}

// isLost matches a connection that ended too early. The last text is the one error
// of a kept connection that the library neither exports nor retries for us.
func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, os.ErrDeadlineExceeded) || isA[*net.OpError](err) ||
		strings.Contains(err.Error(), "server closed idle connection")
}
