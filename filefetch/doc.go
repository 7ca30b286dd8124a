// Package filefetch is the handler of jobs of type "file": it reads a file below
// one of its configured roots.
//
//	{"root":"reports","path":"2026/november.csv"}        a text, decoded
//	{"root":"reports","path":"logo.png","binary":true}   the bytes as they are
//
// The output is {"size":…,"modified":"…","content_type":"…","body":"…"}; bytes that
// are no text, or that were asked for as bytes, are the reply's body instead.
//
// # What it does not read
//
// A path is relative, with slashes, and stays below its root: "..", absolute paths,
// links that lead out and names that the system reserves are refused by [os.Root],
// which looks at every step when it opens it, so that a link that is swapped in
// between gains nothing. Only regular files are read; a pipe, a socket or a device is
// refused without waiting for it. Files above the cap are refused, and one that grows
// while it is read is, too.
//
// # Errors
//
// A missing file is bad_request; so is a root that is not configured, and the two are
// told apart only by their text. What leads out of the root or is no regular file is
// not_allowed. A file over the cap is too_large_reply. Texts hold the root's name and
// the path that the caller gave, and never where the root is.
package filefetch
