package loopbroker

// ErrorClass says why a request was not carried out. The set is closed and the
// strings are stored, so a class is never renamed.
type ErrorClass string

// The error classes. The zero value, ErrorClassNone, belongs to a completed
// request.
const (
	// ErrorClassNone means that nothing went wrong.
	ErrorClassNone ErrorClass = ""

	// ErrorClassDNS means that the host's name did not resolve to an address.
	ErrorClassDNS ErrorClass = "dns"

	// ErrorClassConnect means that no address of the host took the connection.
	ErrorClassConnect ErrorClass = "connect"

	// ErrorClassTLS means that the TLS handshake failed for another reason than
	// the certificate.
	ErrorClassTLS ErrorClass = "tls"

	// ErrorClassCertificate means that the host's certificate is not trusted, is
	// out of date or names another host. Trying again does not help.
	ErrorClassCertificate ErrorClass = "certificate"

	// ErrorClassConnectionLost means that the connection broke while the request
	// was being sent or answered.
	ErrorClassConnectionLost ErrorClass = "connection_lost"

	// ErrorClassTimeoutConnect means that the clock ended while the name was
	// looked up or the connection was being made.
	ErrorClassTimeoutConnect ErrorClass = "timeout_connect"

	// ErrorClassTimeoutTLS means that the clock ended in the TLS handshake.
	ErrorClassTimeoutTLS ErrorClass = "timeout_tls"

	// ErrorClassTimeoutHeader means that the request was sent and the clock ended
	// before the answer's headers were there.
	ErrorClassTimeoutHeader ErrorClass = "timeout_header"

	// ErrorClassTimeoutBody means that the answer's body stopped flowing.
	ErrorClassTimeoutBody ErrorClass = "timeout_body"

	// ErrorClassTimeoutAttempt means that the attempt's clock ended while data was
	// still flowing, in either direction.
	ErrorClassTimeoutAttempt ErrorClass = "timeout_attempt"

	// ErrorClassTimeoutTotal means that the clock over all attempts and the pauses
	// between them ended.
	ErrorClassTimeoutTotal ErrorClass = "timeout_total"

	// ErrorClassExpired means that the time to start the request had passed before
	// a worker could. It was not run.
	ErrorClassExpired ErrorClass = "expired"

	// ErrorClassCancelled means that the request was called off.
	ErrorClassCancelled ErrorClass = "cancelled"

	// ErrorClassTooLargeRequest means that the request's body or headers are over
	// the worker's cap. It was not sent.
	ErrorClassTooLargeRequest ErrorClass = "too_large_request"

	// ErrorClassTooLargeReply means that the answer, after decompression, or its
	// headers are over the worker's cap. The request was carried out.
	ErrorClassTooLargeReply ErrorClass = "too_large_reply"

	// ErrorClassAddressNotAllowed means that the host resolves to an address that
	// the worker must not call. No packet was sent to it.
	ErrorClassAddressNotAllowed ErrorClass = "address_not_allowed"

	// ErrorClassNotAllowed means that the allow-list, read again by the worker,
	// has no row for this request.
	ErrorClassNotAllowed ErrorClass = "not_allowed"

	// ErrorClassCredential means that the named credential cannot be used: no row
	// binds it to this endpoint, or the worker has no usable secret for it. The
	// request was not sent.
	ErrorClassCredential ErrorClass = "credential"

	// ErrorClassHostBusy marks a job that met its host's limit of concurrency or
	// rate. It was not sent and is given back; see Fault.Deferred.
	ErrorClassHostBusy ErrorClass = "host_busy"

	// ErrorClassHostOpen marks a job that met its host's open circuit breaker. It
	// was not sent and is given back; see Fault.Deferred.
	ErrorClassHostOpen ErrorClass = "host_open"

	// ErrorClassBadURL means that the URL is not one the worker can call.
	ErrorClassBadURL ErrorClass = "bad_url"

	// ErrorClassBadRequest means that the job's JSON is not what its handler
	// takes: wrong shape, method, header or range.
	ErrorClassBadRequest ErrorClass = "bad_request"

	// ErrorClassRedirect means that following redirects was asked for and that
	// there were too many, or one without a usable target.
	ErrorClassRedirect ErrorClass = "redirect"

	// ErrorClassProtocol means that what came back is not HTTP, or is not encoded
	// as it says.
	ErrorClassProtocol ErrorClass = "http_protocol"

	// ErrorClassStatus marks an answer whose status asks for another attempt, such
	// as 429 or 503. It is logged and counted, and never stored: if no attempt is
	// left, the last answer completes the request.
	ErrorClassStatus ErrorClass = "http_status"

	// ErrorClassHandlerUnknown means that no handler is registered for the job's
	// type in the worker that claimed it.
	ErrorClassHandlerUnknown ErrorClass = "handler_unknown"

	// ErrorClassHandlerPanic means that the handler panicked.
	ErrorClassHandlerPanic ErrorClass = "handler_panic"

	// ErrorClassHandlerFailed means that the handler returned an error that is not
	// a *Fault.
	ErrorClassHandlerFailed ErrorClass = "handler_failed"

	// ErrorClassAttemptsExhausted means that the request was claimed more often
	// than it may be and that no worker lived to report why.
	ErrorClassAttemptsExhausted ErrorClass = "attempts_exhausted"

	// ErrorClassPoison means that the queue's row does not name a request that can
	// be read.
	ErrorClassPoison ErrorClass = "poison"

	// ErrorClassInterrupted means that the worker stopped, or lost its lease, while
	// the request ran. It is run again unless that could do it twice.
	ErrorClassInterrupted ErrorClass = "interrupted"

	// ErrorClassLeaseLost marks a result that came too late to count. It is logged
	// and counted, and never stored.
	ErrorClassLeaseLost ErrorClass = "lease_lost"

	// ErrorClassInternal means a defect of the broker itself.
	ErrorClassInternal ErrorClass = "internal"
)

// Retry says whether a failure of some class may be tried again.
type Retry uint8

const (
	// RetryNever means that another attempt would end the same way, or must not be
	// made.
	RetryNever Retry = iota

	// RetrySafe means that the request cannot have reached its target, so another
	// attempt cannot do it twice.
	RetrySafe

	// RetryIdempotent means that the target may have acted: try again only what is
	// idempotent by its method or by a key.
	RetryIdempotent
)

// String returns "never", "safe" or "idempotent".
func (r Retry) String() string {
	switch r {
	case RetrySafe:
		return "safe"
	case RetryIdempotent:
		return "idempotent"
	default:
		return "never"
	}
}

// classFacts is what is fixed about a class.
type classFacts struct {
	class   ErrorClass
	retry   Retry
	msError int
}

// classTable is the one place that says what follows from a class. The last
// column is the number that sp_invoke_external_rest_endpoint has for the same
// cause (Microsoft's list of events and errors, 31601 to 31636, and 10928 for too many
// calls), or 0.
var classTable = []classFacts{
	{ErrorClassNone, RetryNever, 0},
	{ErrorClassDNS, RetrySafe, 31625},
	{ErrorClassConnect, RetrySafe, 31608},
	{ErrorClassTLS, RetrySafe, 31608},
	{ErrorClassCertificate, RetryNever, 31608},
	{ErrorClassConnectionLost, RetryIdempotent, 31608},
	{ErrorClassTimeoutConnect, RetrySafe, 31629},
	{ErrorClassTimeoutTLS, RetrySafe, 31629},
	{ErrorClassTimeoutHeader, RetryIdempotent, 31629},
	{ErrorClassTimeoutBody, RetryIdempotent, 31629},
	{ErrorClassTimeoutAttempt, RetryIdempotent, 31629},
	{ErrorClassTimeoutTotal, RetryNever, 31629},
	{ErrorClassExpired, RetryNever, 31631},
	{ErrorClassCancelled, RetryNever, 31631},
	{ErrorClassTooLargeRequest, RetryNever, 31601},
	{ErrorClassTooLargeReply, RetryNever, 31633},
	{ErrorClassAddressNotAllowed, RetryNever, 31624},
	{ErrorClassNotAllowed, RetryNever, 31612},
	{ErrorClassCredential, RetryNever, 31630},
	{ErrorClassHostBusy, RetrySafe, 10928},
	{ErrorClassHostOpen, RetrySafe, 31608},
	{ErrorClassBadURL, RetryNever, 31609},
	{ErrorClassBadRequest, RetryNever, 31618},
	{ErrorClassRedirect, RetryNever, 31608},
	{ErrorClassProtocol, RetryIdempotent, 31608},
	{ErrorClassStatus, RetryIdempotent, 0},
	{ErrorClassHandlerUnknown, RetryNever, 0},
	{ErrorClassHandlerPanic, RetryNever, 0},
	{ErrorClassHandlerFailed, RetryIdempotent, 0},
	{ErrorClassAttemptsExhausted, RetryNever, 0},
	{ErrorClassPoison, RetryNever, 0},
	{ErrorClassInterrupted, RetryIdempotent, 0},
	{ErrorClassLeaseLost, RetryNever, 0},
	{ErrorClassInternal, RetryIdempotent, 0},
}

// ErrorClasses lists every class except ErrorClassNone.
func ErrorClasses() []ErrorClass {
	classes := make([]ErrorClass, 0, len(classTable)-1)
	for _, f := range classTable[1:] {
		classes = append(classes, f.class)
	}
	return classes
}

// facts returns the row of the table for c, or that of ErrorClassInternal for a
// class that is not in the set.
func (c ErrorClass) facts() classFacts {
	for _, f := range classTable {
		if f.class == c {
			return f
		}
	}
	return classTable[len(classTable)-1]
}

// Known reports whether c belongs to the closed set.
func (c ErrorClass) Known() bool {
	for _, f := range classTable {
		if f.class == c {
			return true
		}
	}
	return false
}

// Retry returns whether failures of this class may be tried again at all. What
// is known about one failure, such as that not a byte had left, can widen it; see
// [Fault].
func (c ErrorClass) Retry() Retry { return c.facts().retry }

// MSError returns the number that sp_invoke_external_rest_endpoint has for this
// cause, so that scripts can be carried over, or 0 if it has none.
func (c ErrorClass) MSError() int { return c.facts().msError }

// Buried reports whether a request that ends with this class is kept as a dead
// letter: it might have succeeded at another time or on another worker, so an
// operator should see it. What the caller alone can put right is not kept.
func (c ErrorClass) Buried() bool {
	switch c {
	case ErrorClassHandlerUnknown, ErrorClassHandlerPanic, ErrorClassAttemptsExhausted, ErrorClassPoison,
		ErrorClassTimeoutTotal, ErrorClassCredential:
		return true
	default:
		return c.Retry() != RetryNever
	}
}

// State returns the final state of a request that ended with this class.
func (c ErrorClass) State() State {
	switch c {
	case ErrorClassNone:
		return StateCompleted
	case ErrorClassExpired:
		return StateExpired
	case ErrorClassCancelled:
		return StateCancelled
	default:
		return StateFailed
	}
}

// String returns the class as it is stored.
func (c ErrorClass) String() string { return string(c) }
