package syntax

import "loopbroker/engine/sqlerr"

// ParseParameters reads the parameter declarations of sp_executesql and
// sp_prepare: "@a int, @b nvarchar(max) OUTPUT". An empty text declares none.
func ParseParameters(text string, opts Options) ([]Parameter, error) {
	p := newParser(text, opts)
	var list []Parameter
	err := p.run(func() {
		if p.is(tEOF) {
			return
		}
		list = p.parameters()
		p.expectEOF()
	})
	if err == nil && p.feature != "" {
		err = sqlerr.Unsupported(p.feature).At(1)
	}
	return list, err
}
