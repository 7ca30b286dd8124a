// Package httpfetch carries out HTTP jobs. Its Handler makes one attempt for each
// call; the worker that calls it decides about the next one from the fault.
//
//	job ──▶ allow-list ──▶ credential ──▶ host: breaker, concurrency, rate
//	         not_allowed    credential     host_open, host_busy: given back
//	                                        │
//	                    ┌───────────────────┘
//	                    ▼
//	        look up ──▶ judge each address ──▶ dial the judged one ──▶ TLS ──▶ send
//	                     address_not_allowed                              │
//	        redirect: from the top, for the new target ◀──────────────────┤
//	        reply: encodings off, caps, charset, secrets out ◀────────────┘
//
// # Clocks
//
//	queue expiry      the queue's, before the job gets here
//	total             all attempts and the pauses between them
//	└─ attempt        one call of Handle
//	   ├─ connect     name lookup and TCP connection
//	   ├─ tls         handshake
//	   ├─ (sending)
//	   ├─ header      from the last byte sent to the answer's headers
//	   └─ body        the longest pause within the body
//	caller's wait     the procedure's, in SQL
//
// The class of a timeout names what the attempt was doing when a clock ended, so
// that the caller knows which side to look at: a connect, tls or header clock
// that is longer than what is left of the attempt ends with the attempt, and is
// still the one that is named. ErrorClassTimeoutAttempt is left for an attempt
// that ended while data was flowing, and ErrorClassTimeoutTotal for one that was
// cut short by the clock over all attempts, whatever it was doing. A first
// attempt is never cut short by the total clock: it starts with it.
//
// # Classes and retries
//
//	class                                        another attempt      breaker
//	dns, connect, tls, timeout_connect, _tls     always               failure
//	connection_lost, http_protocol,              if the method is     failure
//	timeout_header, _body, _attempt              idempotent, or a
//	                                             key was given
//	http_status 408, 502, 503, 504               as above             from 500 on
//	http_status 425, 429                         always: not acted on -
//	interrupted                                  as above, or not sent neutral
//	host_busy, host_open                         given back, uncounted -
//	certificate                                  never                failure
//	timeout_total                                never                failure
//	too_large_reply, redirect                    never                success
//	not_allowed, credential, bad_url,            never                neutral
//	bad_request, too_large_request,
//	address_not_allowed, cancelled, lease_lost
//
// GET, HEAD, PUT, DELETE and OPTIONS are idempotent. After a redirect was followed,
// a method that is not is never repeated, whatever failed. A timeout of an attempt
// that had less than a second says nothing about the host. The pause is the
// worker's: exponential with full jitter, and at least what Retry-After asked for,
// seconds or a date, up to Options.MaxRetryAfter. Within one attempt the transport
// sends again what the target said it did not act on (HTTP/2), and what it could not
// write to a kept connection that had been closed.
//
// # Allow-list
//
// With a policy (SetPolicy, Refresh, Follow) only what one of its endpoints matches
// is called: exact scheme, host and port, and a path below the prefix. The host is
// compared in the form that is dialled, the path in the form that is sent, and in
// every form in which a server could read it: escapes decoded once or more often,
// backslashes, semicolons. Hosts are ASCII. Limits count per scheme, host and port.
// A job that meets a limit or an open breaker is not kept waiting: it is given back
// by a fault with Deferred set, for a pause that lines such jobs up.
//
// # Credentials
//
// A job names a credential; its row binds the name to one endpoint; the secret comes
// from Options.Secrets for every attempt, so a file that is replaced is used at
// once. It goes with a request that this endpoint matches, so not to another host by
// a redirect, nor to another part of the same one. In replies the secret, also in
// base64 and escaped, is replaced by "[redacted]", in headers, text and bytes;
// secrets of less than four characters are not looked for. Cookies that a target
// sets are part of its answer and are kept. Who may write the rows decides where a
// secret goes.
//
// # Addresses
//
// Names are resolved here, each address is judged, and the dial goes to the judged
// address, never to the name again; the socket's own address is judged once more
// before it connects. Addresses that are not public unicast are refused: loopback,
// private, shared (RFC 6598), link-local with the cloud metadata services,
// multicast, unspecified, benchmarking, documentation and reserved ranges, and
// every IPv6 form that carries an IPv4 address of these. Options.AllowNetworks,
// Options.AllowHosts and the endpoint's row are the only ways out.
//
// A proxy is used only where a row names it, never from the environment. Its own
// address is not judged. The target is looked up and judged before the proxy is
// asked, and every address of it must pass. What stays unproved is where the proxy
// goes: it looks the name up again, and may be answered otherwise.
//
// # Promises
//
//   - A body, a header or a text that the target wrote is never logged, and never
//     part of a fault's message. (The library writes what arrives unasked on an idle
//     connection to the standard logger; a program should send that one nowhere.)
//   - Sizes are capped both ways, the answer's before and after decompression.
//   - A redirect is returned as it came unless the row, or without a policy
//     Options.MaxRedirects, says otherwise; then every hop is judged like the first,
//     and a hop to another scheme, host or port carries none of the caller's headers
//     but those of the body. No hop leads from https to http.
//   - A text is decoded by the charset that the target named. What cannot be
//     decoded is kept as bytes.
package httpfetch
