// Package httpfetch carries out HTTP jobs. Its Handler makes one attempt for each
// call; the worker that calls it decides about the next one from the fault.
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
// # Addresses
//
// Names are resolved here, each address is judged, and the dial goes to the judged
// address, never to the name again; the socket's own address is judged once more
// before it connects. Addresses that are not public unicast are refused: loopback,
// private, shared (RFC 6598), link-local with the cloud metadata services,
// multicast, unspecified, benchmarking, documentation and reserved ranges, and
// every IPv6 form that carries an IPv4 address of these. Options.AllowNetworks and
// Options.AllowHosts are the only ways out. No proxy is ever used: a proxy would
// resolve the name again, out of sight.
//
// # Promises
//
//   - A body, a header or a text that the target wrote is never logged, and never
//     part of a fault's message.
//   - Sizes are capped both ways, the answer's after decompression.
//   - A redirect is returned as it came unless Options.MaxRedirects says otherwise;
//     then every hop is judged like the first, and a hop to another host carries
//     none of the caller's headers.
//   - A text is decoded by the charset that the target named. What cannot be
//     decoded is kept as bytes.
package httpfetch
