package types

import (
	"loopbroker/engine/sqlerr"
)

// ConvertOptions are the SET options that change conversions.
type ConvertOptions struct {
	// DateFormat is the order of the parts of a numeric date in a text.
	DateFormat DateFormat
}

// purpose says what a conversion is for, which decides what happens to data
// that is too long.
type purpose uint8

const (
	forCast   purpose = iota // cut
	forAssign                // cut, but only implicit conversions
	forStore                 // ErrTruncated, and only implicit conversions
)

// conversion is one conversion under way.
type conversion struct {
	opts    ConvertOptions
	to      Type
	style   int
	purpose purpose
}

// ErrTruncated is what Store returns for character or binary data that is too
// long for a column. The caller, who knows table and column, makes error 2628 of
// it; it unwraps to error 8152.
type ErrTruncated struct {
	// Value is the data cut to the length of the column.
	Value Value
	// To is the type of the column.
	To Type
}

// Error implements error.
func (e *ErrTruncated) Error() string { return sqlerr.New(8152).Message }

// Unwrap returns the *sqlerr.Error of number 8152.
func (e *ErrTruncated) Unwrap() error { return sqlerr.New(8152) }

// Convert converts v as CAST and CONVERT do: data that is too long is cut. style
// is that of CONVERT, 0 for none (see ExplicitStyle). Date texts are read in the
// order mdy; ConvertWith takes another one. Errors are *sqlerr.Error with SQL
// Server's numbers, 529 for kinds that cannot be converted.
func Convert(v Value, to Type, style int) (Value, error) {
	return ConvertWith(ConvertOptions{}, v, to, style)
}

// ConvertWith is Convert under the given SET options.
func ConvertWith(opts ConvertOptions, v Value, to Type, style int) (Value, error) {
	if unchanged(v, to) {
		return v, nil
	}
	c := conversion{opts: opts, to: to, style: style}
	return c.run(v)
}

// Assign converts v as an assignment to a variable or parameter of type to does:
// by the implicit conversions only (206, 257), and data that is too long is cut
// silently.
func Assign(v Value, to Type) (Value, error) { return AssignWith(ConvertOptions{}, v, to) }

// AssignWith is Assign under the given SET options.
func AssignWith(opts ConvertOptions, v Value, to Type) (Value, error) {
	if unchanged(v, to) {
		return v, nil
	}
	c := conversion{opts: opts, to: to, purpose: forAssign}
	return c.run(v)
}

// Store converts v as storing into a column of type to does: by the implicit
// conversions only (206, 257). Data that is too long gives *ErrTruncated, but for
// trailing blanks, and trailing zeros of binary data, which are cut.
func Store(v Value, to Type) (Value, error) { return StoreWith(ConvertOptions{}, v, to) }

// StoreWith is Store under the given SET options.
func StoreWith(opts ConvertOptions, v Value, to Type) (Value, error) {
	if unchanged(v, to) {
		return v, nil
	}
	c := conversion{opts: opts, to: to, purpose: forStore}
	return c.run(v)
}

// unchanged tells that a value is one of type to as it is: the kinds before
// decimal have no length, precision or scale.
func unchanged(v Value, to Type) bool { return v.kind == to.Kind && v.kind < KindDecimal }

func (c *conversion) run(v Value) (Value, error) {
	if v.kind == KindNull {
		return v, nil
	}
	if v.kind != c.to.Kind {
		if err := c.permitted(v.kind); err != nil {
			return Null, err
		}
	}
	switch k := c.to.Kind; {
	case k.IsInteger():
		return c.toInteger(v)
	case k.IsChar():
		return c.toText(v)
	case k.IsDateTime():
		return c.toDateTime(v)
	case k.IsBinary():
		return c.toBinary(v)
	case k == KindDecimal:
		return c.toDecimal(v)
	case k.IsMoney():
		return c.toMoney(v)
	case k.IsApproximate():
		return c.toFloat(v)
	case k == KindUniqueIdentifier:
		return c.toGUID(v)
	case k == KindXML:
		return c.toXML(v)
	}
	return v, nil // sql_variant keeps the value as it is; untyped NULL
}

func (c *conversion) permitted(from Kind) error {
	if c.purpose == forCast {
		return ExplicitlyConvertible(Type{Kind: from}, c.to)
	}
	return ImplicitlyConvertible(Type{Kind: from}, c.to)
}

func (c *conversion) toXML(v Value) (Value, error) {
	switch {
	case v.kind.IsChar(), v.kind == KindXML:
		return Value{kind: KindXML, s: v.s}, nil
	}
	return Null, sqlerr.Unsupported("conversion of " + v.kind.String() + " to xml")
}

// overflow is error 8115 for a value of kind from; what SQL Server calls it
// depends on the kinds.
func overflow(from string, to Kind) error { return sqlerr.New(8115, from, to.valueName()) }

const expression = "expression"

// numericOverflow is 8115 for a target of decimal, in its own state.
func numericOverflow(from Kind) error {
	return sqlerr.WithState(8115, 8, from.valueName(), "numeric")
}

// badText is the error for a text that is not what the target kind needs.
func badText(v Value, to Kind) error {
	switch to {
	case KindBit, KindTinyInt, KindSmallInt, KindInt:
		return sqlerr.New(245, v.kind.String(), v.s, to.String())
	case KindMoney:
		return sqlerr.WithState(235, 0)
	case KindSmallMoney:
		return sqlerr.WithState(293, 0)
	case KindUniqueIdentifier:
		return sqlerr.New(8169)
	}
	return sqlerr.New(8114, v.kind.String(), to.valueName())
}
