package types

import (
	"math/big"
	"math/bits"
)

// u128 is an unsigned number of 128 bits: the magnitude of a decimal.
type u128 struct{ hi, lo uint64 }

const (
	chunkDigits = 19 // digits of the greatest power of ten in 64 bits
	chunk       = 10_000_000_000_000_000_000
)

// pow10 holds the powers of ten up to 10^38.
var pow10 = func() (p [MaxPrecision + 1]u128) {
	p[0] = u128{0, 1}
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].mul64(10)
	}
	return p
}()

func (a u128) isZero() bool { return a.hi|a.lo == 0 }

func (a u128) cmp(b u128) int {
	switch {
	case a.hi != b.hi:
		if a.hi < b.hi {
			return -1
		}
		return 1
	case a.lo < b.lo:
		return -1
	case a.lo > b.lo:
		return 1
	}
	return 0
}

func (a u128) add(b u128) (sum u128, carry uint64) {
	sum.lo, carry = bits.Add64(a.lo, b.lo, 0)
	sum.hi, carry = bits.Add64(a.hi, b.hi, carry)
	return sum, carry
}

// sub returns a-b for a >= b.
func (a u128) sub(b u128) u128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return u128{hi, lo}
}

func (a u128) mul64(b uint64) (product u128, carry uint64) {
	h, l := bits.Mul64(a.lo, b)
	h2, l2 := bits.Mul64(a.hi, b)
	hi, c := bits.Add64(l2, h, 0)
	return u128{hi, l}, h2 + c
}

func (a u128) div64(b uint64) (q u128, r uint64) {
	q.hi, r = a.hi/b, a.hi%b
	q.lo, r = bits.Div64(r, a.lo, b)
	return q, r
}

// scaleUp returns a * 10^k, and false if that has more than 128 bits.
func (a u128) scaleUp(k int) (u128, bool) {
	for k > 0 {
		if a.isZero() {
			return a, true
		}
		step := min(k, chunkDigits)
		var carry uint64
		if a, carry = a.mul64(pow10[step].lo); carry != 0 {
			return a, false
		}
		k -= step
	}
	return a, true
}

// scaleDown returns a / 10^k, rounded half away from zero or cut.
func (a u128) scaleDown(k int, round bool) u128 {
	if k == 0 {
		return a
	}
	if !round {
		return a.cut(k)
	}
	q, r := a.cut(k - 1).div64(10)
	if r >= 5 {
		q, _ = q.add(u128{0, 1})
	}
	return q
}

func (a u128) cut(k int) u128 {
	for k > 0 && !a.isZero() {
		step := min(k, chunkDigits)
		a, _ = a.div64(pow10[step].lo)
		k -= step
	}
	return a
}

// digits returns the number of decimal digits, 1 for zero.
func (a u128) digits() int {
	n := 1
	if a.hi != 0 {
		n = 20
	}
	for n <= MaxPrecision && a.cmp(pow10[n]) >= 0 {
		n++
	}
	return n
}

func (a u128) appendTo(dst []byte) []byte {
	var buf [40]byte
	i := len(buf)
	for {
		q, r := a.div64(chunk)
		for n := 0; n < chunkDigits; n++ {
			if q.isZero() && r == 0 && i < len(buf) {
				break
			}
			i--
			buf[i] = byte('0' + r%10)
			r /= 10
		}
		if q.isZero() {
			return append(dst, buf[i:]...)
		}
		a = q
	}
}

func (a u128) big() *big.Int {
	x := new(big.Int).SetUint64(a.hi)
	return x.Or(x.Lsh(x, 64), new(big.Int).SetUint64(a.lo))
}

// u128FromBig returns x, which is not negative, and false if it has more than
// 128 bits.
func u128FromBig(x *big.Int) (u128, bool) {
	if x.BitLen() > 128 {
		return u128{}, false
	}
	lo := new(big.Int).And(x, new(big.Int).SetUint64(^uint64(0)))
	hi := new(big.Int).Rsh(x, 64)
	return u128{hi.Uint64(), lo.Uint64()}, true
}

// u256 is an unsigned number of 256 bits, least significant word first: a
// product of two u128.
type u256 [4]uint64

func (a u128) mul(b u128) u256 {
	var p u256
	var c uint64
	h00, l00 := bits.Mul64(a.lo, b.lo)
	h01, l01 := bits.Mul64(a.lo, b.hi)
	h10, l10 := bits.Mul64(a.hi, b.lo)
	h11, l11 := bits.Mul64(a.hi, b.hi)
	p[0] = l00
	p[1], c = bits.Add64(h00, l01, 0)
	p[2], c = bits.Add64(h01, l11, c)
	p[3] = h11 + c
	p[1], c = bits.Add64(p[1], l10, 0)
	p[2], c = bits.Add64(p[2], h10, c)
	p[3] += c
	return p
}

func (a u256) div64(b uint64) (q u256, r uint64) {
	for i := len(a) - 1; i >= 0; i-- {
		q[i], r = bits.Div64(r, a[i], b)
	}
	return q, r
}

func (a u256) u128() (u128, bool) {
	return u128{a[1], a[0]}, a[2]|a[3] == 0
}

// scaleDown returns a / 10^k, rounded half away from zero.
func (a u256) scaleDown(k int) u256 {
	if k == 0 {
		return a
	}
	for k--; k > 0; {
		step := min(k, chunkDigits)
		a, _ = a.div64(pow10[step].lo)
		k -= step
	}
	q, r := a.div64(10)
	if r >= 5 {
		var c uint64 = 1
		for i := range q {
			q[i], c = bits.Add64(q[i], 0, c)
		}
	}
	return q
}
