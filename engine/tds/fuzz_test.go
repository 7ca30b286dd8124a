package tds_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
)

// checkError fails if a decoder's error is of no kind that wire understands.
func checkError(t *testing.T, err error) {
	t.Helper()
	var known *sqlerr.Error
	if err != nil && !errors.Is(err, tds.ErrMalformed) && !errors.As(err, &known) {
		t.Errorf("error %v is of no known kind", err)
	}
}

func FuzzParsePrelogin(f *testing.F) {
	f.Add(tds.Prelogin{Encryption: tds.EncryptOn, FedAuth: true}.Append(nil))
	f.Add([]byte{0xFF})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := tds.ParsePrelogin(b)
		checkError(t, err)
		if err == nil {
			if _, err := tds.ParsePrelogin(p.Append(nil)); err != nil {
				t.Errorf("what was read cannot be written: %v", err)
			}
		}
	})
}

func FuzzParseLogin(f *testing.F) {
	f.Add(login7(nil))
	f.Add(login7([]byte{4, 0, 0, 0, 0, 0xFF}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := tds.ParseLogin(b)
		checkError(t, err)
	})
}

func FuzzParseBatch(f *testing.F) {
	f.Add(append(allHeaders(1), utf16("SELECT 1 😀")...))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := tds.ParseBatch(b)
		checkError(t, err)
	})
}

func FuzzParseTMRequest(f *testing.F) {
	for _, s := range []string{"0500 02 00", "0700 02 6100 01 04 02 6200", "0900 02 6100", "0000"} {
		f.Add(append(allHeaders(1), unhex(f, s)...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := tds.ParseTMRequest(b)
		checkError(t, err)
	})
}

// FuzzParseRPC also writes every parameter that it could read.
func FuzzParseRPC(f *testing.F) {
	for _, tc := range paramCases() {
		f.Add(rpcWith(f, tc.wire))
	}
	f.Add(rpcWith(f, tableParam+"00 01 00 FFFFFFFFFFFFFFFF 00"))
	f.Add(rpcWith(f, tableParam+"10 0100 0100 01 11 0300 0200 0100 0300 00 00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := tds.ParseRPC(b)
		checkError(t, err)
		for _, call := range r.Calls {
			for _, p := range call.Params {
				if p.Table != nil {
					continue
				}
				// A value may be longer than its declared type (a UTF-8 varchar
				// read as text), which the encoder refuses. All else must pass.
				if _, err := tds.AppendReturnValue(nil, 0, p.Name, p.Type, p.Value); err != nil && !p.Type.Kind.IsChar() {
					t.Errorf("%v %v: %v", p.Type, p.Value, err)
				}
			}
		}
	})
}

func FuzzBulkDecoder(f *testing.F) {
	f.Add(unhex(f, bulkLoad+bulkDone), byte(3))
	f.Add(unhex(f, "81 0100 00000000 0000 62 491F0000 01 6100 D1 06000000 38 00 05000000"), byte(1))
	f.Fuzz(func(t *testing.T, b []byte, n byte) {
		_, whole, err := readBulk(b, len(b)+1)
		checkError(t, err)
		_, parts, errParts := readBulk(b, int(n)+1)
		checkError(t, errParts)
		if len(whole) != len(parts) || (err == nil) != (errParts == nil) {
			t.Errorf("in one piece %d rows, %v; in pieces of %d %d rows, %v", len(whole), err, n+1, len(parts), errParts)
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	f.Add([]byte("\x12\x01\x00\x0c\x00\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := tds.ParseHeader(b)
		checkError(t, err)
		if err == nil && h.Length < tds.HeaderSize {
			t.Errorf("length %d was accepted", h.Length)
		}
	})
}

// FuzzText checks that text survives the way to the client and back.
func FuzzText(f *testing.F) {
	f.Add("żółć 😀")
	f.Add("\xED\xA0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		s = types.ValidText(s)
		b, err := tds.AppendReturnValue(nil, 0, "@p", types.NVarChar(types.Max), types.NewNVarChar(s))
		if err != nil {
			t.Fatal(err)
		}
		r, err := tds.ParseRPC(append(rpcWith(t, ""), b[15:]...))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Calls[0].Params[0].Value.Text(); utf8.ValidString(s) && got != s {
			t.Errorf("got %q, want %q", got, s)
		}
	})
}
