// Package wire serves TDS connections: it ties the messages of package tds to
// a Backend's sessions.
//
//	            one goroutine                          another
//	client ──▶  reader: packets → messages  ──chan──▶  loop: message → Session method
//	              │                                      │
//	              └── attention: cancels the request     └─▶ output → packets ──▶ client
//
// # A connection's life
//
//	first byte 0x16: TLS from the start (TDS 8.0, "strict")
//	PRELOGIN ─▶ encryption is agreed on, MARS declined
//	[TLS handshake inside PRELOGIN packets, TLS 1.2 at most]
//	LOGIN7 ─▶ Backend.Login ─▶ a Session, or an error and the end
//	requests, one at a time, each answered by one reply message
//	the end: Session.Close, which rolls back
//
// # Promises
//
//   - A reply ends with exactly one final DONE, whatever the session does.
//   - An attention is seen while a request runs: the request's context ends with the cause
//     ErrAttention, nothing more of its output is sent, and a message with
//     DONE_ATTN follows the reply.
//   - A connection that is cut ends the running request with ErrDisconnected.
//     The session is closed in every case, once, after its last request has returned.
//   - Input that is no TDS, and a panic in a session, end that connection only.
//   - A client that stops reading blocks its own request and nobody else's.
//
// Known limit: a bulk load that the session does not read holds back the
// reader once bulkBudget bytes wait, and with it the sight of an attention or of a cut connection.
package wire
