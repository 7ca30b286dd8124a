package loopbroker

import "time"

// Timings is where the time of a request went. Zero means that the phase did not
// happen, such as TLS on plain HTTP or a dial when a kept connection was used.
type Timings struct {
	// Queue is how long the request waited before its last attempt began, by the
	// database's clock.
	Queue time.Duration

	// DNS is how long the last attempt's name lookup took.
	DNS time.Duration

	// Connect is how long the last attempt's TCP connection took.
	Connect time.Duration

	// TLS is how long the last attempt's handshake took.
	TLS time.Duration

	// FirstByte is the time from the start of the last attempt to the first byte
	// of its answer.
	FirstByte time.Duration

	// Total is the time from the start of the last attempt to its last byte, or to
	// its failure.
	Total time.Duration
}

// Reply is the outcome of a request, as it is stored: exactly one for each
// request, inserted once.
type Reply struct {
	// State is one of the final states.
	State State

	// HTTPStatus is the status of the answer, or 0 if there was none.
	HTTPStatus int

	// ErrorClass is ErrorClassNone exactly if State is StateCompleted.
	ErrorClass ErrorClass

	// ErrorMessage is for the caller; empty if State is StateCompleted.
	ErrorMessage string

	// MSError is the number of the same cause in sp_invoke_external_rest_endpoint,
	// or 0.
	MSError int

	// JSON is the handler's output, such as the status and the headers of an HTTP
	// answer and its body if that is text.
	JSON string

	// Body is the answer's body as bytes, or nil.
	Body []byte

	// ContentType is the media type of the body as the target named it.
	ContentType string

	// Attempts is how often the request was started.
	Attempts int

	// Worker names the process that wrote the reply.
	Worker string

	// Timings says where the time went.
	Timings Timings
}

// CompletedReply returns r as the reply of a request that was carried out.
func CompletedReply(r Reply) Reply {
	r.State, r.ErrorClass, r.ErrorMessage, r.MSError = StateCompleted, ErrorClassNone, "", 0
	return r
}

// FailedReply returns the reply that stands if the fault is the end of its
// request: the answer that the fault holds, or else the failure itself.
func FailedReply(f *Fault) Reply {
	if f.Reply != nil {
		return CompletedReply(*f.Reply)
	}
	return Reply{
		State:        f.Class.State(),
		ErrorClass:   f.Class,
		ErrorMessage: f.Message,
		MSError:      f.MSNumber(),
		Timings:      f.Timings,
	}
}
