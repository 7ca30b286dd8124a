package builtin

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// hashFuncs are the functions that digest their arguments.
func hashFuncs() []*Func {
	return []*Func{
		pure("HASHBYTES", 2, 2, hashBytesType, evalHashBytes),
		lenient("CHECKSUM", 1, -1, checksumType, evalChecksum(false)),
		lenient("BINARY_CHECKSUM", 1, -1, checksumType, evalChecksum(true)),
	}
}

func hashBytesType(args []types.Type, _ []*types.Value) (types.Type, error) {
	t := args[1]
	if !t.Kind.IsChar() && !t.Kind.IsBinary() && t.Kind != types.KindNull || t.Kind.IsLOB() {
		return types.Type{}, badArgument(t, 2, "HASHBYTES")
	}
	return types.VarBinary(types.MaxVarChar), nil
}

// storedBytes are the bytes of character or binary data as they are stored.
func storedBytes(v types.Value) ([]byte, error) {
	switch k := v.Kind(); {
	case k.IsUnicode():
		return types.EncodeUTF16(v.Text()), nil
	case k.IsChar():
		return types.EncodeVarChar(v.Text()), nil
	case k.IsBinary():
		return v.Bytes(), nil
	}
	b, err := types.Convert(v, types.VarBinary(types.Max), 0)
	return b.Bytes(), err
}

// evalHashBytes is NULL for an algorithm that does not exist.
func evalHashBytes(c call) (types.Value, error) {
	name, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	data, err := storedBytes(c.args[1])
	if err != nil {
		return types.Null, err
	}
	var sum []byte
	switch name = strings.ToUpper(strings.TrimRight(name, " ")); name {
	case "MD5":
		s := md5.Sum(data)
		sum = s[:]
	case "SHA", "SHA1":
		s := sha1.Sum(data)
		sum = s[:]
	case "SHA2_256":
		s := sha256.Sum256(data)
		sum = s[:]
	case "SHA2_512":
		s := sha512.Sum512(data)
		sum = s[:]
	case "MD2", "MD4":
		return types.Null, sqlerr.Unsupported("HASHBYTES with " + name)
	default:
		return types.Null, nil
	}
	return types.NewVarBinary(sum), nil
}

func checksumType(args []types.Type, _ []*types.Value) (types.Type, error) {
	return types.TypeInt, nil
}

// nullChecksum is what NULL contributes.
const nullChecksum = math.MaxInt32

// evalChecksum combines its arguments by rotating four bits. Numbers are equal
// to SQL Server's own results where these are known: a number's checksum is the
// number. Text that is equal in its collation has the same CHECKSUM; the numbers
// for text come from this engine's own sort keys.
func evalChecksum(binarySum bool) evalFunc {
	return func(c call) (types.Value, error) {
		var sum uint32
		for i, v := range c.args {
			sum = bits.RotateLeft32(sum, 4) ^ valueChecksum(v, c.types[i], binarySum)
		}
		return types.NewInt(int64(int32(sum))), nil
	}
}

func valueChecksum(v types.Value, t types.Type, binarySum bool) uint32 {
	switch k := v.Kind(); {
	case v.IsNull():
		return nullChecksum
	case k.IsInteger() && k != types.KindBigInt:
		return uint32(v.Int())
	case k.IsChar() && !binarySum:
		c := t.Collation
		if c == nil {
			c = types.DefaultCollation
		}
		return bytesChecksum(c.AppendKey(nil, v.Text(), k.IsUnicode()))
	case k == types.KindNVarChar || k == types.KindNChar || k == types.KindNText:
		u := types.EncodeUTF16(strings.TrimRight(v.Text(), " "))
		var sum uint32
		for i := 0; i+1 < len(u); i += 2 {
			sum = bits.RotateLeft32(sum, 4) ^ uint32(binary.LittleEndian.Uint16(u[i:]))
		}
		return sum
	case k.IsChar():
		return bytesChecksum(types.EncodeVarChar(strings.TrimRight(v.Text(), " ")))
	case k.IsBinary() || k == types.KindUniqueIdentifier:
		return bytesChecksum(v.Bytes())
	case k == types.KindBigInt:
		return uint32(v.Int()) ^ uint32(v.Int()>>32)
	}
	// Other kinds: values that are equal have the same key.
	key := types.AppendKey(nil, v, types.TypeOf(v), false)
	return bytesChecksum(key)
}

func bytesChecksum(b []byte) uint32 {
	var sum uint32
	for _, x := range b {
		sum = bits.RotateLeft32(sum, 4) ^ uint32(x)
	}
	return sum
}
