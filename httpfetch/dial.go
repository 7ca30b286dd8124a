package httpfetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// raceDelay is how long an address may take before the next one is tried beside
// it (RFC 8305, section 5).
const raceDelay = 250 * time.Millisecond

// dialer makes the transport's TCP connections to judged addresses.
type dialer struct {
	resolver Resolver
	guard    *guard
	net      *net.Dialer
	timeout  time.Duration

	// proxy is the host and port of the proxy, which an admin has named and which is
	// not judged. Empty means none.
	proxy string
}

// newDialer returns a dialer with the guard. Its timeout is a second line behind the
// attempt's clocks: a dial can outlive the attempt that began it.
func newDialer(opts *Options, g *guard) *dialer {
	return &dialer{
		resolver: opts.Resolver,
		guard:    g,
		net:      &net.Dialer{KeepAlive: 30 * time.Second},
		timeout:  opts.ConnectTimeout + time.Second,
	}
}

// DialContext resolves the host, judges its addresses and connects to the first
// that answers.
func (d *dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()

	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("split address: %w", err)
	}
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	addrs, err := d.lookup(ctx, a, host)
	if err != nil {
		return nil, err
	}

	dial := *d.net
	if address != d.proxy && !d.guard.trusts(host, port) {
		dial.Control = d.guard.control
		if addrs, err = d.judge(addrs); err != nil {
			return nil, err
		}
	}
	if a != nil {
		a.dialBegins()
		defer a.dialEnds()
	}
	return race(ctx, addrs, func(ctx context.Context, addr netip.Addr) (net.Conn, error) {
		return dial.DialContext(ctx, "tcp", net.JoinHostPort(addr.String(), port))
	})
}

// vouch judges a target that a proxy will connect to. Every address must be one that
// may be called: which of them the proxy takes, or whether it finds others, is out of
// sight.
func (d *dialer) vouch(ctx context.Context, a *attempt, t *target) error {
	if d.guard.trusts(t.host, t.port) {
		return nil
	}
	addrs, err := d.lookup(ctx, a, t.host)
	if err != nil {
		return err
	}
	for _, addr := range addrs {
		if err := d.guard.check(addr); err != nil {
			return err
		}
	}
	return nil
}

// lookup returns the addresses of the host, at least one.
func (d *dialer) lookup(ctx context.Context, a *attempt, host string) ([]netip.Addr, error) {
	if addr, ok := parseHostAddr(host); ok {
		return []netip.Addr{addr}, nil
	}
	if a != nil {
		a.lookupBegins()
		defer a.lookupEnds()
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	if err != nil {
		return nil, fmt.Errorf("look up host: %w", err)
	}
	return addrs, nil
}

// judge returns the addresses that may be called, or the error for the first one
// if none may.
func (d *dialer) judge(addrs []netip.Addr) ([]netip.Addr, error) {
	var allowed []netip.Addr
	var refusal error
	for _, addr := range addrs {
		switch err := d.guard.check(addr); {
		case err == nil:
			allowed = append(allowed, addr)
		case refusal == nil:
			refusal = err
		}
	}
	if len(allowed) == 0 {
		return nil, refusal
	}
	return allowed, nil
}

// race connects to the addresses in their order, starting each raceDelay after the
// one before or as soon as that has failed. The first connection wins, the others
// are closed. If all fail, the first error is returned.
func race(ctx context.Context, addrs []netip.Addr, dial func(context.Context, netip.Addr) (net.Conn, error)) (net.Conn, error) {
	if len(addrs) == 1 {
		return dial(ctx, addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	running, next := 0, 0
	start := func() {
		addr := addrs[next]
		next++
		running++
		go func() { // waited for below, whatever happens
			conn, err := dial(ctx, addr)
			results <- result{conn, err}
		}()
	}
	start()

	var winner net.Conn
	var failure error
	timer := time.NewTimer(raceDelay)
	defer timer.Stop()
	for running > 0 {
		select {
		case <-timer.C:
			if winner == nil && next < len(addrs) && ctx.Err() == nil {
				start()
				timer.Reset(raceDelay)
			}
		case r := <-results:
			running--
			switch {
			case r.err == nil && winner == nil:
				winner = r.conn
				cancel()
			case r.err == nil:
				_ = r.conn.Close() // the race is over; nothing was sent
			case winner == nil:
				if failure == nil || errors.Is(failure, context.Canceled) {
					failure = r.err
				}
				if next < len(addrs) && ctx.Err() == nil {
					start()
					timer.Reset(raceDelay)
				}
			}
		}
	}
	if winner != nil {
		return winner, nil
	}
	return nil, failure
}
