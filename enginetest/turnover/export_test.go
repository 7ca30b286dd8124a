package turnover

// WithFault returns the options for sessions that keep rows.
func (o Options) WithFault() Options {
	o.fault = true
	return o
}
