package crash

// Between returns the options with something that is done between a kill and the
// next start.
func (o Options) Between(do func(round int, dir string) error) Options {
	o.between = do
	return o
}
