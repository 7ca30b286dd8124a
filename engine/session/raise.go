package session

import (
	"math"

	"loopbroker/engine/builtin"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// throwStatement compiles THROW.
func (c *compiler) throwStatement(s *syntax.Throw) {
	if s.Number == nil {
		c.emit(s, func(x *Session, f *frame) error {
			n := len(f.caught)
			if n == 0 {
				return sqlerr.New(10704)
			}
			return &thrown{f.caught[n-1]}
		})
		return
	}
	number, message, state := newLazyExpr(s.Number), newLazyExpr(s.Message), newLazyExpr(s.State)
	c.emit(s, func(x *Session, f *frame) error {
		n, err := x.intOf(f, number)
		if err != nil {
			return err
		}
		text, err := x.textOf(f, message, 2048)
		if err != nil {
			return err
		}
		st, err := x.intOf(f, state)
		if err != nil {
			return err
		}
		if n < 50000 || n > 2147483647 {
			return sqlerr.New(35100, n)
		}
		if st > 255 {
			return sqlerr.New(2756, st)
		}
		return &thrown{&sqlerr.Error{Number: int32(n), Class: 16, State: uint8(st), Message: text}}
	})
}

// intOf evaluates an integer argument; NULL is 0.
func (x *Session) intOf(f *frame, e *lazyExpr) (int64, error) {
	v, err := e.eval(x, f)
	if err != nil {
		return 0, err
	}
	if v, err = types.Convert(v, types.TypeBigInt, 0); err != nil || v.IsNull() {
		return 0, err
	}
	return v.Int(), nil
}

// textOf evaluates a character argument and cuts it; NULL is empty.
func (x *Session) textOf(f *frame, e *lazyExpr, length int) (string, error) {
	v, err := e.eval(x, f)
	if err != nil {
		return "", err
	}
	if v, err = types.Convert(v, types.NVarChar(length), 0); err != nil {
		return "", err
	}
	return v.Text(), nil
}

// maxMessage is the length to which RAISERROR cuts its text.
const maxMessage = 2047

// maxRaiseArguments is how many values RAISERROR takes for its text, firstRaised
// the first number of a message that it may raise.
const (
	maxRaiseArguments = 20
	firstRaised       = 13000
)

// raiseError compiles RAISERROR.
func (c *compiler) raiseError(s *syntax.RaiseError) {
	message, severity, state := newLazyExpr(s.Message), newLazyExpr(s.Severity), newLazyExpr(s.State)
	args := make([]*lazyExpr, len(s.Args))
	for i, a := range s.Args {
		args[i] = newLazyExpr(a)
	}
	noWait, setError, log := s.NoWait, s.SetError, s.Log
	c.emit(s, func(x *Session, f *frame) error {
		e, err := x.raise(f, message, severity, state, args)
		if err != nil {
			return err
		}
		if e.Class > 18 && !log {
			return sqlerr.New(2754)
		}
		if e.Class > 18 && !x.ident.login.Sysadmin() {
			return sqlerr.New(2754)
		}
		switch {
		case e.Class >= 20:
			return x.after(sqlerr.New(2745, x.id, e.Number, e.Class), e)
		case e.Class > 10:
			return &raised{e}
		}
		m := wire.ErrorMessage(e)
		m.Line = f.line
		if f.module != nil {
			m.Procedure = moduleName(f.module)
		}
		x.message(m)
		x.lastError = 0
		if setError {
			x.lastError = e.Number
		}
		if noWait {
			_ = x.out.Flush()
		}
		return nil
	})
}

// raise builds the message of a RAISERROR.
func (x *Session) raise(f *frame, message, severity, state *lazyExpr, args []*lazyExpr) (*sqlerr.Error, error) {
	m, err := message.eval(x, f)
	if err != nil {
		return nil, err
	}
	sev, err := x.intOf(f, severity)
	if err != nil {
		return nil, err
	}
	st, err := x.intOf(f, state)
	if err != nil {
		return nil, err
	}
	if st > 255 {
		return nil, sqlerr.New(2756, st)
	}
	if len(args) > maxRaiseArguments {
		return nil, sqlerr.New(2747, maxRaiseArguments)
	}
	values := make([]types.Value, len(args))
	for i, a := range args {
		if values[i], err = a.eval(x, f); err != nil {
			return nil, err
		}
	}
	e := &sqlerr.Error{Number: 50000, Class: uint8(min(max(sev, 0), 25)), State: uint8(min(max(st, 0), 255))}
	if st < 0 {
		e.State = 1
	}
	format := m.String()
	if isInteger(m.Kind()) && (m.Int() < firstRaised || m.Int() == 50000) {
		return nil, sqlerr.New(2732, m.Int(), firstRaised, math.MaxInt32)
	}
	if isInteger(m.Kind()) {
		return nil, sqlerr.New(18054, m.Int(), sev, st)
	}
	if m.IsNull() {
		format = ""
	}
	if e.Message, err = builtin.FormatMessage(format, values); err != nil {
		return nil, err
	}
	e.Message = types.UTF16Substring(e.Message, 0, maxMessage)
	return e, nil
}

func isInteger(k types.Kind) bool {
	return k == types.KindTinyInt || k == types.KindSmallInt || k == types.KindInt || k == types.KindBigInt
}
