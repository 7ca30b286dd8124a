package types

// Op is an operator of two operands that computes a value.
type Op uint8

// The operators.
const (
	OpAdd Op = iota
	OpSub
	OpMul
	OpDiv
	OpMod
	OpBitAnd
	OpBitOr
	OpBitXor
)

var opNames = [...]string{"add", "subtract", "multiply", "divide", "modulo", "'&'", "'|'", "'^'"}

// String returns the name of op in error texts: "add", "'&'".
func (op Op) String() string { return opNames[op] }

// isBitwise reports whether op is & | or ^.
func (op Op) isBitwise() bool { return op >= OpBitAnd }
