package session

import (
	"time"

	"loopbroker/engine/sqlerr"
)

// run executes the program of a frame until it ends. The error is nil, a
// batchEnd, or an error that a TRY of a caller may catch.
func (x *Session) run(f *frame) error {
	code := f.prog.code
	for f.pc < len(code) {
		in := &code[f.pc]
		f.pc0 = f.pc
		f.pc++
		f.line = in.line
		x.statement = time.Time{}
		err := in.run(x, f)
		if err == nil && f.pc <= f.pc0 { // a jump back: no loop escapes the client's attention
			err = x.checkInterrupt()
		}
		if err == nil {
			switch in.effect {
			case resetsError:
				x.lastError = 0
			case resetsBoth:
				x.lastError, x.rowCount = 0, 0
			}
			continue
		}
		if err := x.handle(f, err); err != nil {
			return err
		}
	}
	return nil
}

// checkInterrupt ends the request when the client has asked for it. Jumps back
// call it; statements that block watch the context themselves.
func (x *Session) checkInterrupt() error {
	select {
	case <-x.ctx.Done():
		return x.interrupted()
	default:
		return nil
	}
}

// writable refuses a change in a doomed transaction, error 3930.
func (x *Session) writable() error {
	if x.txn.doomed {
		return sqlerr.New(3930)
	}
	return nil
}
