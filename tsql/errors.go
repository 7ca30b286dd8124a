package tsql

import (
	"errors"
	"fmt"
	"slices"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
)

// The range of numbers that the procedures throw.
const (
	FirstErrorNumber = 54000
	LastErrorNumber  = 54099
)

// Cause is one number that the procedures throw.
type Cause struct {
	// Number is from FirstErrorNumber to LastErrorNumber, or Microsoft's plus
	// InvokeOffset.
	Number int32
	// Err is the sentinel of package loopbroker that a Go caller branches on.
	Err error
	// What says in a few words what was wrong.
	What string
}

// causes has every number once, in order.
var causes = []Cause{
	{54001, loopbroker.ErrDoomedTransaction, "the caller's transaction is doomed"},
	{54002, loopbroker.ErrNoLoopback, "database-scoped impersonation cannot use the linked server"},
	{54003, loopbroker.ErrNoLoopback, "the impersonated login has no mapping"},
	{54004, loopbroker.ErrNoLoopback, "there is no linked server"},
	{54005, loopbroker.ErrSchema, "the setting or the secret is missing"},
	{54010, loopbroker.ErrInvalid, "@url is missing"},
	{54011, loopbroker.ErrInvalid, "the scheme of @url"},
	{54012, loopbroker.ErrInvalid, "@url is malformed"},
	{54013, loopbroker.ErrTooLarge, "@url is too long"},
	{54014, loopbroker.ErrInvalid, "user info in @url"},
	{54015, loopbroker.ErrInvalid, "@method"},
	{54020, loopbroker.ErrInvalid, "@headers is not a JSON object"},
	{54021, loopbroker.ErrInvalid, "@headers is not flat"},
	{54022, loopbroker.ErrInvalid, "a control character in @headers"},
	{54023, loopbroker.ErrInvalid, "a character outside ASCII in @headers"},
	{54024, loopbroker.ErrForbidden, "a secret in @headers"},
	{54025, loopbroker.ErrInvalid, "a bad or repeated name in @headers"},
	{54026, loopbroker.ErrTooLarge, "@headers is too long"},
	{54027, loopbroker.ErrInvalid, "a header that the worker sets"},
	{54030, loopbroker.ErrInvalid, "@wait is out of range"},
	{54031, loopbroker.ErrInvalid, "@timeout_ms is out of range"},
	{54032, loopbroker.ErrInvalid, "@max_attempts is out of range"},
	{54033, loopbroker.ErrInvalid, "@priority is unknown"},
	{54034, loopbroker.ErrInvalid, "@idempotency_key is malformed"},
	{54035, loopbroker.ErrIdempotencyConflict, "the key stands for another request"},
	{54036, loopbroker.ErrInvalid, "@expires_ms is out of range"},
	{54037, loopbroker.ErrInvalid, "@due_ms is out of range"},
	{54038, loopbroker.ErrInvalid, "@on_commit with @wait"},
	{54039, loopbroker.ErrInvalid, "two bodies"},
	{54040, loopbroker.ErrTooLarge, "the body is over the cap"},
	{54041, loopbroker.ErrInvalid, "@type is malformed"},
	{54042, loopbroker.ErrInvalid, "@json is malformed"},
	{54043, loopbroker.ErrInvalid, "@on_commit is missing"},
	{54044, loopbroker.ErrInvalid, "@id is missing"},
	{54045, loopbroker.ErrInvalid, "a parameter of a store of files"},
	{54050, loopbroker.ErrInvalid, "setup inside a transaction"},
	{54051, loopbroker.ErrInvalid, "an argument of the setup"},
	{54052, loopbroker.ErrInvalid, "the linked server leads elsewhere"},
	{54053, loopbroker.ErrNoLoopback, "the probe of the linked server failed"},
	{54060, loopbroker.ErrSchema, "the worker is of another version"},
	{54061, loopbroker.ErrInvalid, "a worker's argument is out of range"},
	{54062, loopbroker.ErrForbidden, "the loopback call has no valid tag"},
	{54063, loopbroker.ErrInvalid, "a worker's JSON is malformed"},
	{54064, loopbroker.ErrInvalid, "the state of a reply is unknown"},
	{54070, loopbroker.ErrForbidden, "no endpoint allows the URL"},
	{54071, loopbroker.ErrForbidden, "no permission for the endpoint"},
	{54072, loopbroker.ErrForbidden, "no permission for the job type"},
	{54073, loopbroker.ErrForbidden, "@credential is unknown or not permitted"},
	{54074, loopbroker.ErrForbidden, "@on_complete is not registered"},
	{54075, loopbroker.ErrForbidden, "the caller is no admin"},
	{54076, loopbroker.ErrInvalid, "an item of a batch"},
	{54077, loopbroker.ErrTooLarge, "a batch of too many or no requests"},
	{54078, loopbroker.ErrInvalid, "@mode is unknown"},
	{54079, loopbroker.ErrInvalid, "a filter of a redrive or purge"},
	{54080, loopbroker.ErrInvalid, "a purge inside a transaction"},
	{54081, loopbroker.ErrInvalid, "@endpoint is unknown"},
	{54082, loopbroker.ErrNotSent, "another redrive is under way"},
}

// Causes returns every number of our own that the procedures throw, in order.
func Causes() []Cause { return slices.Clone(causes) }

// InvokeOffset is what sp_invoke_external_rest_endpoint adds to Microsoft's numbers,
// because THROW takes none below 50000.
const InvokeOffset = 50000

// invokeCauses has every number that only sp_invoke_external_rest_endpoint throws
// once, in order.
var invokeCauses = []Cause{
	{60928, loopbroker.ErrTooManyWaiters, "too many calls"},
	{81601, loopbroker.ErrTooLarge, "@payload is too large"},
	{81604, loopbroker.ErrInvalid, "@timeout or @retry_count is out of range"},
	{81605, loopbroker.ErrInvalid, "@method is not supported"},
	{81607, loopbroker.ErrForbidden, "the caller may not use the endpoint"},
	{81608, loopbroker.ErrOutcomeUnknown, "the endpoint cannot be reached"},
	{81609, loopbroker.ErrInvalid, "@url is not a URL"},
	{81610, loopbroker.ErrInvalid, "@url is not https"},
	{81612, loopbroker.ErrForbidden, "the allow-list has no such endpoint"},
	{81613, loopbroker.ErrTooLarge, "@url is over the limit"},
	{81615, loopbroker.ErrInvalid, "@headers is nested"},
	{81617, loopbroker.ErrInvalid, "@headers holds a character outside ASCII"},
	{81618, loopbroker.ErrInvalid, "@headers or the request is malformed"},
	{81619, loopbroker.ErrInvalid, "@headers holds a control character"},
	{81620, loopbroker.ErrInvalid, "@headers holds a bad name"},
	{81624, loopbroker.ErrForbidden, "the host has an address that is not allowed"},
	{81625, loopbroker.ErrNotSent, "the host does not resolve"},
	{81629, loopbroker.ErrOutcomeUnknown, "no answer in time"},
	{81630, loopbroker.ErrForbidden, "the credential cannot be used"},
	{81631, loopbroker.ErrOutcomeUnknown, "the wait failed"},
	{81632, loopbroker.ErrTooLarge, "@headers is over the limit"},
	{81633, loopbroker.ErrTooLarge, "the answer is over the limit"},
}

// InvokeCauses returns every number that only sp_invoke_external_rest_endpoint
// throws, in order: Microsoft's for the same cause plus InvokeOffset.
func InvokeCauses() []Cause { return slices.Clone(invokeCauses) }

// CauseOf returns the cause of a number.
func CauseOf(number int32) (Cause, bool) {
	table := causes
	if number > LastErrorNumber {
		table = invokeCauses
	}
	i, ok := slices.BinarySearchFunc(table, number, func(c Cause, n int32) int { return int(c.Number) - int(n) })
	if !ok {
		return Cause{}, false
	}
	return table[i], true
}

// WrapError adds the sentinel of package loopbroker to an error of the driver
// that holds one of our numbers, and returns any other error as it is. The number
// need not be the last one: where the error doomed the caller's transaction, 3998
// comes after it.
func WrapError(err error) error {
	var server mssql.Error
	if !errors.As(err, &server) {
		return err
	}
	for _, one := range append([]mssql.Error{server}, server.All...) {
		if cause, ok := CauseOf(one.Number); ok {
			return fmt.Errorf("%w: %w", cause.Err, err)
		}
	}
	return err
}

// ReturnCode is what the callers' procedures return.
type ReturnCode int

// The return codes. Two different things never share one.
const (
	CodeCompleted      ReturnCode = 0 // completed, whatever the HTTP status
	CodePending        ReturnCode = 1 // pending, collect by id
	CodeFailed         ReturnCode = 2 // failed, expired or cancelled
	CodeNoWorker       ReturnCode = 3 // pending, and no live worker serves the type
	CodeTooManyWaiters ReturnCode = 4 // pending, and too many callers wait
	CodeNotSent        ReturnCode = 5 // nothing was stored
	CodeUnknown        ReturnCode = 6 // the link broke after it may have been stored
	CodeNoSuchRequest  ReturnCode = 7 // only when collecting: no such request
)

// Err returns the sentinel of a code, and nil for CodeCompleted and CodeFailed,
// after which there is a reply to read.
func (c ReturnCode) Err() error {
	switch c {
	case CodeCompleted, CodeFailed:
		return nil
	case CodePending:
		return loopbroker.ErrPending
	case CodeNoWorker:
		return loopbroker.ErrNoWorker
	case CodeTooManyWaiters:
		return loopbroker.ErrTooManyWaiters
	case CodeNotSent:
		return loopbroker.ErrNotSent
	case CodeUnknown:
		return loopbroker.ErrOutcomeUnknown
	case CodeNoSuchRequest:
		return loopbroker.ErrUnknownRequest
	default:
		return fmt.Errorf("%w: return code %d", loopbroker.ErrSchema, int(c))
	}
}

// Stored reports whether a request with this code is in the database for certain.
func (c ReturnCode) Stored() bool { return c >= CodeCompleted && c <= CodeTooManyWaiters }

// Outcome is what a worker's settling procedures return.
type Outcome int

// The outcomes of complete, release and dead_letter.
const (
	OutcomeDone      Outcome = 0 // stored, released or buried
	OutcomeLeaseLost Outcome = 1 // somebody else holds the row, nothing was changed
	OutcomeAnswered  Outcome = 2 // there was a reply before, this one was dropped
)
