// Package tds reads and writes the messages of the Tabular Data Stream
// protocol, versions 7.3 to 8.0, from the server's side, as Microsoft's open
// specification [MS-TDS] describes them. Comments name its sections.
//
// It only turns bytes into values and values into bytes: there are no sockets,
// no sessions and no execution here. Package wire drives it.
//
//	client → server                          server → client
//	PRELOGIN      ParsePrelogin              PRELOGIN       Prelogin.Append
//	LOGIN7        ParseLogin                 LOGINACK …     AppendLoginAck, AppendEnv…, AppendMessage
//	SQLBatch      ParseBatch                 COLMETADATA    AppendColumns
//	RPCRequest    ParseRPC                   ROW, NBCROW    RowEncoder.Append
//	BulkLoadBCP   BulkDecoder                RETURNSTATUS   AppendReturnStatus
//	TransMgrReq   ParseTMRequest             RETURNVALUE    AppendReturnValue
//	Attention     a header only              DONE…          AppendDone
//
// A decoder never panics, whatever the input: every length is compared with
// what is there before it is used, and an amount of memory is reserved only for bytes that have
// arrived. Every error of a decoder wraps ErrMalformed, ErrShort or is a
// *sqlerr.Error (40510) for something that is well-formed but not supported.
//
// An encoder appends to a byte slice and returns it, as append does.
package tds
