package tds_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
)

// unhex reads hexadecimal digits with blanks between them.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// utf16 returns text as it travels.
func utf16(s string) []byte { return types.EncodeUTF16(s) }

// allHeaders is ALL_HEADERS with a transaction descriptor.
func allHeaders(descriptor uint64) []byte {
	b := []byte{22, 0, 0, 0, 18, 0, 0, 0, 2, 0}
	b = binary.LittleEndian.AppendUint64(b, descriptor)
	return binary.LittleEndian.AppendUint32(b, 1)
}

// checkPrefixes feeds every beginning of a message to a decoder: each must be
// refused, and none may panic. Some decoders accept a shorter message.
func checkPrefixes(t *testing.T, b []byte, accepts func(n int) bool, decode func([]byte) error) {
	t.Helper()
	for n := range b {
		err := decode(slices.Clone(b[:n]))
		if accepts != nil && accepts(n) {
			continue
		}
		var known *sqlerr.Error
		if err == nil {
			t.Errorf("the first %d of %d bytes were accepted", n, len(b))
		} else if !errors.Is(err, tds.ErrMalformed) && !errors.As(err, &known) {
			t.Errorf("the first %d of %d bytes: error %v is none of the kinds", n, len(b), err)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	want := tds.Header{Type: tds.PacketRPC, Status: tds.StatusEOM | tds.StatusResetConnection, Length: 0x1234, SPID: 0x0102, ID: 7}
	b := make([]byte, tds.HeaderSize)
	tds.PutHeader(b, want)
	if !slices.Equal(b, unhex(t, "03 09 1234 0102 07 00")) {
		t.Errorf("got % X", b)
	}
	if got, err := tds.ParseHeader(b); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "03 09 1234 0102 07", "03 01 0007 0000 00 00", "47 45 5420 2F20 48 54", "00 00 0000 0000 00 00"} {
		if _, err := tds.ParseHeader(unhex(t, bad)); !errors.Is(err, tds.ErrMalformed) {
			t.Errorf("header %q: got %v, want %v", bad, err, tds.ErrMalformed)
		}
	}
}

func TestAppendPackets(t *testing.T) {
	t.Parallel()
	payload := []byte("0123456789")
	got := tds.AppendPackets([]byte("x"), tds.PacketReply, 51, 12, 255, payload, true)
	want := "x" + "\x04\x00\x00\x0c\x00\x33\xff\x000123" + "\x04\x00\x00\x0c\x00\x33\x00\x004567" + "\x04\x01\x00\x0a\x00\x33\x01\x0089"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := tds.AppendPackets(nil, tds.PacketReply, 0, 512, 1, nil, true); string(got) != "\x04\x01\x00\x08\x00\x00\x01\x00" {
		t.Errorf("empty message: got %q", got)
	}
}

func TestClampPacketSize(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ asked, limit, want int }{
		{0, 32767, 4096}, {4096, 32767, 4096}, {100, 32767, 512}, {65535, 32767, 32767}, {32767, 16383, 16383}, {0, 1024, 1024},
	} {
		if got := tds.ClampPacketSize(tc.asked, tc.limit); got != tc.want {
			t.Errorf("ClampPacketSize(%d, %d) = %d, want %d", tc.asked, tc.limit, got, tc.want)
		}
	}
}

func TestPrelogin(t *testing.T) {
	t.Parallel()
	// VERSION, ENCRYPTION on, INSTOPT, THREADID, MARS on, FEDAUTHREQUIRED.
	b := unhex(t, "00 001F 0006  01 0025 0001  02 0026 0005  03 002B 0004  04 002F 0001  06 0030 0001  FF"+
		"10 00 1004 0000   81   4D53534C00   00000102   01   01")
	got, err := tds.ParsePrelogin(b)
	if err != nil {
		t.Fatal(err)
	}
	want := tds.Prelogin{
		Version: [6]byte{0x10, 0, 0x10, 4}, Encryption: tds.EncryptOn, HasEncryption: true, Instance: "MSSL",
		ThreadID: 0x102, MARS: true, FedAuth: true,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	checkPrefixes(t, b, nil, func(b []byte) error { _, err := tds.ParsePrelogin(b); return err })

	answer := tds.Prelogin{Version: [6]byte{16, 0, 0x10, 4}, Encryption: tds.EncryptReq, FedAuth: true}
	back, err := tds.ParsePrelogin(answer.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	answer.HasEncryption = true
	if back != answer {
		t.Errorf("got %+v back, want %+v", back, answer)
	}
	for name, bad := range map[string]string{"no terminator": "", "offset": "01 FFFF 0001 FF 00", "length": "01 0006 0002 FF 00"} {
		if _, err := tds.ParsePrelogin(unhex(t, bad)); !errors.Is(err, tds.ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// login7 builds a LOGIN7 message with all fields.
func login7(features []byte) []byte {
	b := make([]byte, 94)
	binary.LittleEndian.PutUint32(b[4:], tds.Version74)
	binary.LittleEndian.PutUint32(b[8:], 8000)
	binary.LittleEndian.PutUint32(b[12:], 7)
	binary.LittleEndian.PutUint32(b[16:], 4711)
	b[24], b[25], b[26] = 0xE0, 0x03, 0x20
	binary.LittleEndian.PutUint32(b[32:], 0x409)
	put := func(at int, data []byte) {
		binary.LittleEndian.PutUint16(b[at:], uint16(len(b)))
		binary.LittleEndian.PutUint16(b[at+2:], uint16(len(data)/2))
		b = append(b, data...)
	}
	hide := func(s string) []byte {
		data := utf16(s)
		for i, v := range data {
			data[i] = (v<<4 | v>>4) ^ 0xA5
		}
		return data
	}
	put(36, utf16("höst"))
	put(40, utf16("sa"))
	put(44, hide("Pä$$wörd😀"))
	put(48, utf16("app"))
	put(52, utf16("server"))
	put(60, utf16("lib"))
	put(64, utf16("us_english"))
	put(68, utf16("master"))
	copy(b[72:], "abcdef")
	put(82, utf16("file.mdf"))
	put(86, hide("new"))
	if features != nil {
		b[27] |= 0x10
		binary.LittleEndian.PutUint16(b[56:], uint16(len(b)))
		binary.LittleEndian.PutUint16(b[58:], 4)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(b)+4))
		b = append(b, features...)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

func TestLogin(t *testing.T) {
	t.Parallel()
	want := tds.Login{
		Version: tds.Version74, PacketSize: 8000, ClientVer: 7, ClientPID: 4711, ClientLCID: 0x409, HostName: "höst", UserName: "sa",
		Password: "Pä$$wörd😀", NewPassword: "new", AppName: "app", ServerName: "server", Interface: "lib", Language: "us_english",
		Database: "master", AttachDBFile: "file.mdf", ClientID: [6]byte([]byte("abcdef")), ODBC: true, ReadOnly: true,
		DatabaseFatal: true, LanguageFatal: true,
	}
	got, err := tds.ParseLogin(login7(nil))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	features := []byte{0x0A, 1, 0, 0, 0, 1, 0x04, 0, 0, 0, 0, 0xFF}
	want.HasFeatures, want.Features = true, []byte{0x0A, 0x04}
	b := login7(features)
	if got, err = tds.ParseLogin(b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	checkPrefixes(t, b, nil, func(b []byte) error { _, err := tds.ParseLogin(b); return err })
	for name, damage := range map[string]func(b []byte){
		"length of the message":   func(b []byte) { b[3] = 1 },
		"length of a name":        func(b []byte) { b[42] = 200 },
		"offset of a name":        func(b []byte) { b[41] = 0xFF },
		"feature list":            func(b []byte) { b[len(b)-1] = 0x04 },
		"length of a feature":     func(b []byte) { b[len(b)-8] = 0xFF },
		"offset of the extension": func(b []byte) { b[57] = 0xFF },
	} {
		bad := slices.Clone(b)
		damage(bad)
		if _, err := tds.ParseLogin(bad); !errors.Is(err, tds.ErrMalformed) {
			t.Errorf("%s: got %v, want %v", name, err, tds.ErrMalformed)
		}
	}
}

// TestOldLogin reads the layout of version 7.1, and writes its refusal.
func TestOldLogin(t *testing.T) {
	t.Parallel()
	b := make([]byte, 86)
	b[0] = 86
	binary.LittleEndian.PutUint32(b[4:], 0x71000001)
	b[42] = 200 // nothing else is looked at
	if l, err := tds.ParseLogin(b); err != nil || l.Version != 0x71000001 || l.UserName != "" {
		t.Errorf("got %+v, %v", l, err)
	}
	binary.LittleEndian.PutUint32(b[4:], tds.Version72)
	if _, err := tds.ParseLogin(b); !errors.Is(err, tds.ErrMalformed) {
		t.Errorf("version 7.2 in 86 bytes: got %v, want %v", err, tds.ErrMalformed)
	}
	got := tds.AppendOldRefusal(nil, tds.Message{Number: 8134, State: 1, Class: 16, Text: "a", Server: "s", Line: 3})
	if want := unhex(t, "AA 1000 C61F0000 01 10 0100 6100 01 7300 00 0300 FD 0200 0000 00000000"); !slices.Equal(got, want) {
		t.Errorf("got % X, want % X", got, want)
	}
}

func TestNegotiateVersion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		offered uint32
		strict  bool
		want    uint32
		ok      bool
	}{
		{tds.Version74, false, tds.Version74, true}, {0x75000000, false, tds.Version74, true}, {tds.Version73B, false, tds.Version73B, true},
		{tds.Version73A, false, tds.Version73A, true}, {tds.Version72, false, 0, false}, {0x71000001, false, 0, false},
		{tds.Version80, true, tds.Version80, true}, {tds.Version80, false, tds.Version80, true}, {tds.Version74, true, tds.Version80, true},
	} {
		if got, ok := tds.NegotiateVersion(tc.offered, tc.strict); got != tc.want || ok != tc.ok {
			t.Errorf("NegotiateVersion(%#x, %v) = %#x, %v, want %#x, %v", tc.offered, tc.strict, got, ok, tc.want, tc.ok)
		}
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	b := append(allHeaders(9), utf16("SELECT N'żółć 😀'")...)
	got, err := tds.ParseBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != "SELECT N'żółć 😀'" || got.Headers != (tds.Headers{Transaction: 9, Outstanding: 1}) {
		t.Errorf("got %+v", got)
	}
	checkPrefixes(t, b, func(n int) bool { return n >= 22 && n%2 == 0 }, func(b []byte) error { _, err := tds.ParseBatch(b); return err })
	// A query notification and a trace activity are passed over.
	more := unhex(t, "1E000000  0A000000 0100 01020304  10000000 0300 00112233445566778899  41004200")
	if got, err := tds.ParseBatch(more); err != nil || got.Text != "AB" {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, bad := range map[string]string{
		"total too long":    "17000000 12000000 0200 0000000000000000 00000000",
		"total too short":   "03000000",
		"header too long":   "16000000 13000000 0200 0000000000000000 00000000",
		"header too short":  "16000000 05000000 0200 0000000000000000 00000000",
		"unknown header":    "0A000000 06000000 0900",
		"transaction short": "0C000000 08000000 0200 0000",
	} {
		if _, err := tds.ParseBatch(unhex(t, bad)); !errors.Is(err, tds.ErrMalformed) {
			t.Errorf("%s: got %v, want %v", name, err, tds.ErrMalformed)
		}
	}
}

func TestTMRequest(t *testing.T) {
	t.Parallel()
	name := "06 74007800 3100"
	for _, tc := range []struct {
		text    string
		want    tds.TMRequest
		refused bool
	}{
		{"0500 02 00", tds.TMRequest{Kind: tds.TMBegin, Isolation: tds.IsolationReadCommitted}, false},
		{"0500 05" + name, tds.TMRequest{Kind: tds.TMBegin, Isolation: tds.IsolationSnapshot, Name: "tx1"}, false},
		{"0700 00 00", tds.TMRequest{Kind: tds.TMCommit}, false},
		{"0700" + name + "01 04" + name, tds.TMRequest{
			Kind: tds.TMCommit, Name: "tx1", BeginNext: true, NextIsolation: tds.IsolationSerializable, NextName: "tx1",
		}, false},
		{"0800 00 00", tds.TMRequest{Kind: tds.TMRollback}, false},
		{"0900" + name, tds.TMRequest{Kind: tds.TMSave, Name: "tx1"}, false},
		{"0000 0000", tds.TMRequest{}, true},
		{"0100 0000", tds.TMRequest{}, true},
		{"0600", tds.TMRequest{}, true},
	} {
		b := append(allHeaders(5), unhex(t, tc.text)...)
		got, err := tds.ParseTMRequest(b)
		if tc.refused {
			var e *sqlerr.Error
			if !errors.As(err, &e) || e.Number != 40510 {
				t.Errorf("%s: got %v, want error 40510", tc.text, err)
			}
			continue
		}
		tc.want.Descriptor = 5
		if err != nil || got != tc.want {
			t.Errorf("%s: got %+v, %v, want %+v", tc.text, got, err, tc.want)
		}
		checkPrefixes(t, b, nil, func(b []byte) error { _, err := tds.ParseTMRequest(b); return err })
	}
	for _, bad := range []string{"0500 06 00", "0500 00 01 61", "0900 00", "6300", "0200"} {
		if _, err := tds.ParseTMRequest(append(allHeaders(5), unhex(t, bad)...)); !errors.Is(err, tds.ErrMalformed) {
			t.Errorf("%s: got %v, want %v", bad, err, tds.ErrMalformed)
		}
	}
}

// TestTokens compares the tokens of replies with their bytes.
func TestTokens(t *testing.T) {
	t.Parallel()
	value, err := tds.AppendReturnValue(nil, 1, "@p", types.TypeInt, types.NewInt(5))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		got  []byte
		want string
	}{
		{"ERROR", tds.AppendMessage(nil, tds.Message{Number: 8134, State: 1, Class: 16, Text: "ab", Server: "s", Procedure: "", Line: 3}),
			"AA 1400 C61F0000 01 10 0200 6100 6200 01 7300 00 03000000"},
		{"INFO", tds.AppendMessage(nil, tds.Message{Number: 1, State: 2, Class: 10, Text: "", Line: 1}),
			"AB 0E00 01000000 02 0A 0000 00 00 01000000"},
		{"RETURNSTATUS", tds.AppendReturnStatus(nil, -6), "79 FAFFFFFF"},
		{"ORDER", tds.AppendOrder(nil, []uint16{1, 3}), "A9 0400 0100 0300"},
		{"DONE", tds.AppendDone(nil, tds.DoneBatch, tds.DoneCount|tds.DoneMore, tds.CommandSelect, 2), "FD 1100 C100 0200000000000000"},
		{"DONEPROC", tds.AppendDone(nil, tds.DoneProc, 0, tds.CommandExecute, 0), "FE 0000 E000 0000000000000000"},
		{"DONEINPROC", tds.AppendDone(nil, tds.DoneInProc, tds.DoneAttn, 0, 0), "FF 2000 0000 0000000000000000"},
		{"database", tds.AppendEnvDatabase(nil, "ab", "c"), "E3 0900 01 02 61006200 01 6300"},
		{"language", tds.AppendEnvLanguage(nil, "a", ""), "E3 0500 02 01 6100 00"},
		{"packet size", tds.AppendEnvPacketSize(nil, 512, 4096), "E3 1100 04 03 350031003200 04 3400300039003600"},
		{"collation", tds.AppendEnvCollation(nil, types.DefaultCollation), "E3 0800 07 05 0904D00034 00"},
		{"begin", tds.AppendEnvBegin(nil, 0x0102), "E3 0B00 08 08 0201000000000000 00"},
		{"commit", tds.AppendEnvCommit(nil, 0x0102), "E3 0B00 09 00 08 0201000000000000"},
		{"rollback", tds.AppendEnvRollback(nil, 0x0102), "E3 0B00 0A 00 08 0201000000000000"},
		{"reset", tds.AppendEnvReset(nil), "E3 0300 12 00 00"},
		{"LOGINACK", tds.AppendLoginAck(nil, tds.Version74, "M", [4]byte{16, 0, 0x10, 4}), "AD 0C00 01 74000004 01 4D00 10001004"},
		{"FEATUREEXTACK", tds.AppendFeatureExtAck(nil), "AE FF"},
		{"RETURNVALUE", value, "AC 0100 02 40007000 01 00000000 0100 26 04 04 05000000"},
	} {
		if want := unhex(t, tc.want); !slices.Equal(tc.got, want) {
			t.Errorf("%s:\ngot  % X\nwant % X", tc.name, tc.got, want)
		}
	}
}

// TestLongTexts checks that texts are cut where their length fields end.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ż", 100_000)
	b := tds.AppendMessage(nil, tds.Message{Number: 1, Class: 16, Text: long, Server: long, Procedure: long})
	if n := int(binary.LittleEndian.Uint16(b[1:])); n != len(b)-3 {
		t.Errorf("got length %d of %d", n, len(b)-3)
	}
	if n := binary.LittleEndian.Uint16(b[9:]); n != 2047 {
		t.Errorf("got %d characters of text, want 2047", n)
	}
	if want := 3 + 6 + 2 + 2*2047 + 2*(1+2*255) + 4; len(b) != want {
		t.Errorf("got %d bytes, want %d", len(b), want)
	}
}
