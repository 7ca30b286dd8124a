package claims

// WithFault returns the options with something wrong on purpose.
func (o Options) WithFault(name string) Options {
	o.fault = map[string]fault{
		"no READPAST": noReadPast, "no UPDLOCK": noUpdLock, "thief": thief, "early arrival": earlyArrival,
	}[name]
	if o.fault == noFault {
		panic("no fault is called " + name)
	}
	return o
}
