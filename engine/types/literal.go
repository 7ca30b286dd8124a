package types

import (
	"encoding/hex"
	"math"
	"strings"

	"loopbroker/engine/sqlerr"
)

// longIntLiteral is how many characters an int literal may have; one with more,
// leading zeros included, is a decimal.
const longIntLiteral = 12

// ParseIntLiteral returns the value of a literal of digits: an int, or a decimal
// if it does not fit one (there are no bigint literals). More than 38 digits are
// error 1007.
func ParseIntLiteral(text string) (Value, error) {
	if n, status := scanInteger(text); status == scanOK && len(text) <= longIntLiteral && n >= math.MinInt32 && n <= math.MaxInt32 {
		return NewInt(n), nil
	}
	return ParseDecimal(text)
}

// ParseDecimalLiteral returns the value of a literal with a point; precision and
// scale are those of the digits that are written.
func ParseDecimalLiteral(text string) (Value, error) { return ParseDecimal(text) }

// ParseFloatLiteral returns the value of a literal with an exponent.
func ParseFloatLiteral(text string) (Value, error) {
	if n := len(text); n > 0 && text[n-1]|0x20 == 'e' { // 1e is 1e0
		text += "0"
	} else if n > 1 && (text[n-1] == '+' || text[n-1] == '-') {
		text += "0"
	}
	f, status := scanFloat(text)
	switch status {
	case scanSyntax:
		return Null, sqlerr.New(8114, "varchar", "float")
	case scanOverflow:
		return Null, sqlerr.New(168, text)
	}
	return NewFloat(f), nil
}

// ParseMoneyLiteral returns the value of a money literal without its currency
// sign; an amount out of range is error 236.
func ParseMoneyLiteral(text string) (Value, error) {
	n, status := scanMoney(text)
	switch status {
	case scanSyntax:
		return Null, sqlerr.New(235)
	case scanOverflow:
		return Null, sqlerr.New(236)
	}
	return NewMoney(n), nil
}

// ParseBinaryLiteral returns the value of the digits behind 0x. An odd number of
// digits begins with half a byte.
func ParseBinaryLiteral(digits string) (Value, error) {
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return Null, sqlerr.New(102, strings.ToLower("0x"+digits))
	}
	return NewVarBinary(b), nil
}
