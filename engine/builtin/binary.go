package builtin

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"loopbroker/engine/types"
)

// binaryFuncs are the functions of binary data, identifiers and sql_variant.
func binaryFuncs() []*Func {
	volatile := func(name string, least, most int, t types.Type, eval evalFunc) *Func {
		return &Func{Name: name, Min: least, Max: most, Type: fixed(t), Volatile: true, Eval: strict(name, eval)}
	}
	return []*Func{
		pure("COMPRESS", 1, 1, compressType("COMPRESS"), evalCompress),
		pure("DECOMPRESS", 1, 1, compressType("DECOMPRESS"), evalDecompress),
		volatile("CRYPT_GEN_RANDOM", 1, 2, types.VarBinary(types.MaxVarChar), evalRandomBytes),
		volatile("NEWID", 0, 0, types.TypeUniqueIdentifier, evalNewID),
		volatile("NEWSEQUENTIALID", 0, 0, types.TypeUniqueIdentifier, evalNewSequentialID),
		lenient("SQL_VARIANT_PROPERTY", 2, 2, fixed(types.TypeVariant), evalVariantProperty),
		lenient("COLLATIONPROPERTY", 2, 2, fixed(types.TypeVariant), evalCollationProperty),
	}
}

func compressType(name string) typeFunc {
	return func(args []types.Type, _ []*types.Value) (types.Type, error) {
		t := args[0]
		if !t.Kind.IsChar() && !t.Kind.IsBinary() && t.Kind != types.KindNull || t.Kind.IsLOB() ||
			name == "DECOMPRESS" && t.Kind.IsChar() {
			return types.Type{}, badArgument(t, 1, name)
		}
		return types.VarBinary(types.Max), nil
	}
}

// evalCompress is GZIP of the data as it is stored.
func evalCompress(c call) (types.Value, error) {
	data, err := storedBytes(c.args[0])
	if err != nil {
		return types.Null, err
	}
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		return types.Null, err
	}
	if err := w.Close(); err != nil {
		return types.Null, err
	}
	return types.NewVarBinary(buf.Bytes()), nil
}

// evalDecompress is NULL for data that is not GZIP.
func evalDecompress(c call) (types.Value, error) {
	r, err := gzip.NewReader(strings.NewReader(c.args[0].Raw()))
	if err != nil {
		return types.Null, nil
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return types.Null, nil
	}
	return types.NewVarBinary(data), nil
}

// evalRandomBytes is CRYPT_GEN_RANDOM(length [, seed]); the seed only adds to
// the randomness.
func evalRandomBytes(c call) (types.Value, error) {
	n, err := c.integer(0)
	if err != nil || n < 1 || n > types.MaxVarChar {
		return types.Null, err
	}
	b := make([]byte, n)
	rand.Read(b)
	return types.NewVarBinary(b), nil
}

// wireGUID turns the bytes of a GUID as they are written into the order in
// which SQL Server stores them: the first three groups are little endian.
func wireGUID(u [16]byte) types.Value {
	b := []byte{u[3], u[2], u[1], u[0], u[5], u[4], u[7], u[6]}
	return types.NewBinary(types.KindUniqueIdentifier, string(append(b, u[8:]...)))
}

func evalNewID(call) (types.Value, error) { return wireGUID(uuid.New()), nil }

// sequentialIDs makes GUIDs that grow in SQL Server's order of GUIDs within this
// process and, but for a clock that goes backwards, from one to the next.
type sequentialIDs struct {
	mu   sync.Mutex
	last uint64
	node [6]byte
}

var sequential sequentialIDs

func (s *sequentialIDs) next() [16]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == 0 {
		rand.Read(s.node[:])
		s.node[0] |= 1 // multicast: no real network card has it
	}
	s.last = max(s.last+1, uint64(time.Now().UnixNano()/100))
	// The order of GUIDs looks at the node first, then at the clock sequence, and
	// then at the stored bytes 6, 7, 4, 5, 0 to 3.
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], s.last)
	var u [16]byte
	copy(u[6:8], counter[0:2])
	copy(u[4:6], counter[2:4])
	copy(u[0:4], counter[4:8])
	copy(u[10:], s.node[:])
	u[8] = 0x80
	return u
}

func evalNewSequentialID(call) (types.Value, error) {
	u := sequential.next()
	return types.NewBinary(types.KindUniqueIdentifier, string(u[:])), nil
}

// evalVariantProperty is SQL_VARIANT_PROPERTY(expression, property).
func evalVariantProperty(c call) (types.Value, error) {
	v := c.args[0]
	if v.IsNull() || c.args[1].IsNull() {
		return types.Null, nil
	}
	name, err := c.text(1)
	if err != nil {
		return types.Null, err
	}
	t := c.types[0]
	if t.Kind == types.KindVariant || t.Kind != v.Kind() {
		t = types.TypeOf(v)
	}
	switch strings.ToLower(strings.TrimRight(name, " ")) {
	case "basetype":
		return types.NewNVarChar(t.Kind.String()), nil
	case "precision":
		p, _ := t.MetaPrecision()
		return types.NewInt(int64(p)), nil
	case "scale":
		_, s := t.MetaPrecision()
		return types.NewInt(int64(s)), nil
	case "maxlength":
		return types.NewInt(int64(t.MaxBytes())), nil
	case "totalbytes":
		return types.NewInt(int64(variantBytes(v, t))), nil
	case "collation":
		if t.Collation == nil {
			return types.Null, nil
		}
		return types.NewNVarChar(t.Collation.Name), nil
	}
	return types.Null, nil
}

// variantBytes is the size of a value in a sql_variant: its data and the
// metadata before it.
func variantBytes(v types.Value, t types.Type) int {
	switch k := v.Kind(); {
	case k.IsUnicode():
		return 8 + 2*types.UTF16Len(v.Text())
	case k.IsChar():
		return 8 + types.VarCharLen(v.Text())
	case k.IsBinary():
		return 4 + len(v.Raw())
	case k == types.KindDecimal:
		return 4 + t.MaxBytes()
	case k == types.KindTime, k == types.KindDateTime2, k == types.KindDateTimeOffset:
		return 3 + t.MaxBytes()
	}
	return 2 + t.MaxBytes()
}

// evalCollationProperty is COLLATIONPROPERTY(collation, property).
func evalCollationProperty(c call) (types.Value, error) {
	if c.args[0].IsNull() || c.args[1].IsNull() {
		return types.Null, nil
	}
	s, err := c.texts(2)
	if err != nil {
		return types.Null, err
	}
	collation, ok := types.LookupCollation(strings.TrimRight(s[0], " "))
	if !ok {
		return types.Null, nil
	}
	switch strings.ToLower(s[1]) {
	case "codepage":
		return types.NewInt(int64(collation.CodePage())), nil
	case "lcid":
		return types.NewInt(int64(collation.LCID())), nil
	case "comparisonstyle":
		return types.NewInt(int64(collation.ComparisonStyle())), nil
	case "version":
		return types.NewTinyInt(int64(collation.Version())), nil
	}
	return types.Null, nil
}
