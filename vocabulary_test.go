package loopbroker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"loopbroker"
)

// TestErrorClasses states every class's consequences. A class that is new, renamed
// or changed must be changed here too.
func TestErrorClasses(t *testing.T) {
	t.Parallel()

	want := `dns safe 31625 failed buried
connect safe 31608 failed buried
tls safe 31608 failed buried
certificate never 31608 failed
connection_lost idempotent 31608 failed buried
timeout_connect safe 31629 failed buried
timeout_tls safe 31629 failed buried
timeout_header idempotent 31629 failed buried
timeout_body idempotent 31629 failed buried
timeout_attempt idempotent 31629 failed buried
timeout_total never 31629 failed buried
expired never 31631 expired
cancelled never 31631 cancelled
too_large_request never 31601 failed
too_large_reply never 31633 failed
address_not_allowed never 31624 failed
not_allowed never 31612 failed
credential never 31630 failed buried
host_busy safe 10928 failed buried
host_open safe 31608 failed buried
bad_url never 31609 failed
bad_request never 31618 failed
redirect never 31608 failed
http_protocol idempotent 31608 failed buried
http_status idempotent 0 failed buried
handler_unknown never 0 failed buried
handler_panic never 0 failed buried
handler_failed idempotent 0 failed buried
attempts_exhausted never 0 failed buried
poison never 0 failed buried
interrupted idempotent 0 failed buried
lease_lost never 0 failed
internal idempotent 0 failed buried`
	var lines []string
	for _, c := range loopbroker.ErrorClasses() {
		line := fmt.Sprintf("%s %s %d %s", c, c.Retry(), c.MSError(), c.State())
		if c.Buried() {
			line += " buried"
		}
		lines = append(lines, line)
		if !c.Known() || len(c) > 64 {
			t.Errorf("class %q: known %v, %d characters", c, c.Known(), len(c))
		}
	}
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("classes:\n%s\nwant:\n%s", got, want)
	}
	if loopbroker.ErrorClass("other").Known() || !loopbroker.ErrorClassNone.Known() {
		t.Error("the set of classes is not closed")
	}
	if got := loopbroker.ErrorClassNone.State(); got != loopbroker.StateCompleted {
		t.Errorf("no class: state %s, want completed", got)
	}
}

func TestParseState(t *testing.T) {
	t.Parallel()

	for _, s := range loopbroker.States() {
		got, err := loopbroker.ParseState(s.String())
		if got != s || err != nil {
			t.Errorf("ParseState(%s) = %s, %v", s, got, err)
		}
		wantFinal := s != loopbroker.StateQueued && s != loopbroker.StateRunning
		if s.Final() != wantFinal {
			t.Errorf("%s: Final() = %v, want %v", s, s.Final(), wantFinal)
		}
	}
	for _, text := range []string{"", "Queued", "pending", "completed "} {
		if _, err := loopbroker.ParseState(text); !errors.Is(err, loopbroker.ErrInvalid) {
			t.Errorf("ParseState(%q) = %v, want ErrInvalid", text, err)
		}
	}
}

func TestUUID(t *testing.T) {
	t.Parallel()

	const text = "01020304-0506-0708-090a-0b0c0d0e0f10"
	u, err := loopbroker.ParseUUID(strings.ToUpper(text))
	if err != nil || u.String() != text || u[0] != 1 || u[15] != 16 || u.IsZero() {
		t.Errorf("ParseUUID = %s, %v", u, err)
	}
	for _, bad := range []string{"", text[1:], text + "0", strings.ReplaceAll(text, "-", "+"), "x" + text[1:]} {
		if _, err := loopbroker.ParseUUID(bad); !errors.Is(err, loopbroker.ErrInvalid) {
			t.Errorf("ParseUUID(%q) = %v, want ErrInvalid", bad, err)
		}
	}
}

func TestLane_Validate(t *testing.T) {
	t.Parallel()

	for _, l := range loopbroker.Lanes() {
		if err := l.Validate(); err != nil {
			t.Errorf("%s: %v", l, err)
		}
	}
	for _, bad := range []loopbroker.Lane{"", " a", "a ", loopbroker.Lane(strings.Repeat("a", 201))} {
		if err := bad.Validate(); !errors.Is(err, loopbroker.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", bad, err)
		}
	}
}

func TestRequest_Validate(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		request loopbroker.Request
		want    string // in the error; empty means none
	}{
		{"good", loopbroker.Request{Type: "http", JSON: "{}", Expires: time.Millisecond, Lane: loopbroker.LaneLow}, ""},
		{"empty", loopbroker.Request{}, "need a Type of 1 to 50 characters, got \"\"\nneed JSON"},
		{"attempts", loopbroker.Request{Type: "a", JSON: "{}", MaxAttempts: -1}, "need MaxAttempts >= 0, got -1"},
		{"too short a time", loopbroker.Request{Type: "a", JSON: "{}", Expires: 1}, "need Expires of 0 or at least 1ms, got 1ns"},
		{"negative time", loopbroker.Request{Type: "a", JSON: "{}", Due: -1}, "need Due of 0 or at least 1ms, got -1ns"},
		{"lane", loopbroker.Request{Type: "a", JSON: "{}", Lane: " x"}, `lane " x"`},
	}
	for _, tt := range tests {
		err := tt.request.Validate()
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if !errors.Is(err, loopbroker.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want ErrInvalid with %q", tt.name, err, tt.want)
		}
	}
}

func TestFault(t *testing.T) {
	t.Parallel()

	cause := errors.New("secret cause")
	f := loopbroker.NewFault(loopbroker.ErrorClassDNS, "host %q", "h")
	f.Err = cause
	if f.Error() != `dns: host "h"` || !f.Retryable || f.MSNumber() != 31625 || !errors.Is(f, cause) {
		t.Errorf("fault = %v, retryable %v, number %d", f, f.Retryable, f.MSNumber())
	}
	f.MSError = 1
	if f.MSNumber() != 1 {
		t.Errorf("MSNumber() = %d, want 1", f.MSNumber())
	}
	if loopbroker.NewFault(loopbroker.ErrorClassTimeoutHeader, "m").Retryable {
		t.Error("a class that is safe only for idempotent methods is retryable by itself")
	}

	if loopbroker.AsFault(nil) != nil {
		t.Error("AsFault(nil) is not nil")
	}
	if got := loopbroker.AsFault(fmt.Errorf("wrapped: %w", f)); got != f {
		t.Errorf("AsFault of a wrapped fault = %v", got)
	}
	plain := loopbroker.AsFault(cause)
	if plain.Class != loopbroker.ErrorClassHandlerFailed || !plain.Retryable || strings.Contains(plain.Error(), "secret") {
		t.Errorf("AsFault of another error = %v", plain)
	}
}

func TestFailedReply(t *testing.T) {
	t.Parallel()

	f := loopbroker.NewFault(loopbroker.ErrorClassExpired, "late")
	f.Timings.Total = time.Second
	got := loopbroker.FailedReply(f)
	if got.State != loopbroker.StateExpired || got.ErrorClass != f.Class || got.ErrorMessage != "late" || got.MSError != 31631 || got.Timings.Total != time.Second {
		t.Errorf("reply = %+v", got)
	}
	f.Reply = &loopbroker.Reply{HTTPStatus: 503, ErrorMessage: "x"}
	got = loopbroker.FailedReply(f)
	if got.State != loopbroker.StateCompleted || got.HTTPStatus != 503 || got.ErrorClass != "" || got.ErrorMessage != "" {
		t.Errorf("reply = %+v, want the answer, completed", got)
	}
}

func TestOpError(t *testing.T) {
	t.Parallel()

	err := error(&loopbroker.OpError{Op: "load job", RequestID: 7, Err: loopbroker.ErrLeaseLost})
	if err.Error() != "load job: request 7: lease lost" || !errors.Is(err, loopbroker.ErrLeaseLost) {
		t.Errorf("error = %v", err)
	}
	err = &loopbroker.OpError{Op: "claim jobs", Err: loopbroker.ErrInvalid}
	if err.Error() != "claim jobs: invalid input" {
		t.Errorf("error = %v", err)
	}
}
