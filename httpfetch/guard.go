package httpfetch

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// guard judges the addresses that a job would reach.
type guard struct {
	networks []netip.Prefix
	hosts    map[string]bool
	private  bool // lets private and loopback addresses pass
}

// addressError says that the guard refused an address.
type addressError struct {
	addr   netip.Addr
	reason string
}

// Error implements error.
func (e *addressError) Error() string {
	return fmt.Sprintf("address %s is not allowed: %s", e.addr, e.reason)
}

// newGuard returns a guard with the exceptions of the options.
func newGuard(networks []netip.Prefix, hosts []string) *guard {
	g := &guard{hosts: make(map[string]bool, len(hosts))}
	for _, p := range networks {
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		g.networks = append(g.networks, p)
	}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	return g
}

// trusts reports whether the host, or the host and port, is exempt.
func (g *guard) trusts(host, port string) bool {
	host = strings.ToLower(host)
	return g.hosts[host] || g.hosts[net.JoinHostPort(host, port)]
}

// check returns an *addressError unless the address may be called.
func (g *guard) check(addr netip.Addr) error {
	plain := addr.WithZone("").Unmap()
	if g.exempts(plain) || (g.private && contains(privates, plain) && !contains(metadata, plain)) {
		return nil
	}
	reason := ""
	if plain.Is4() {
		reason = refusal4(plain)
	} else {
		reason = refusal6(plain)
	}
	if inner, ok := embedded(plain); ok && reason == "" {
		if reason = refusal4(inner); reason != "" {
			reason += ", inside an IPv6 address"
		}
	}
	if reason != "" {
		return &addressError{addr: addr, reason: reason}
	}
	return nil
}

// exempts reports whether an allowed network holds the address.
func (g *guard) exempts(addr netip.Addr) bool {
	for _, p := range g.networks {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// contains reports whether one of the ranges holds the address.
func contains(list []network, addr netip.Addr) bool {
	return slices.ContainsFunc(list, func(n network) bool { return n.prefix.Contains(addr) })
}

// control is a net.Dialer.Control that judges the address of the socket itself,
// the last moment before a packet leaves.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &addressError{reason: "the socket's address cannot be read"}
	}
	return g.check(ap.Addr())
}

// network is a range of addresses that is not public unicast.
type network struct {
	prefix netip.Prefix
	reason string
}

// refused4 is IANA's IPv4 Special-Purpose Address Registry, as far as it is not
// globally reachable, and the host agents of clouds that live on other addresses.
var refused4 = networks(
	"0.0.0.0/8", "unspecified",
	"10.0.0.0/8", "private",
	"100.64.0.0/10", "shared (RFC 6598)",
	"127.0.0.0/8", "loopback",
	"168.63.129.16/32", "cloud host agent",
	"169.254.0.0/16", "link-local",
	"172.16.0.0/12", "private",
	"192.0.0.0/24", "protocol assignment",
	"192.0.2.0/24", "documentation",
	"192.88.99.0/24", "6to4 relay",
	"192.168.0.0/16", "private",
	"198.18.0.0/15", "benchmarking",
	"198.51.100.0/24", "documentation",
	"203.0.113.0/24", "documentation",
	"224.0.0.0/4", "multicast",
	"240.0.0.0/4", "reserved",
)

// refused6 is the same for IPv6, within global unicast. Everything outside of
// global unicast is refused without a list.
var refused6 = networks(
	"2001::/23", "protocol assignment", // holds Teredo, 2001::/32
	"2001:db8::/32", "documentation",
	"2002::/16", "6to4",
	"3fff::/20", "documentation",
)

// privates are the ranges that a row of the allow-list can open by one word.
var privates = networks(
	"10.0.0.0/8", "private",
	"100.64.0.0/10", "shared (RFC 6598)",
	"127.0.0.0/8", "loopback",
	"172.16.0.0/12", "private",
	"192.168.0.0/16", "private",
	"::1/128", "loopback",
	"fc00::/7", "private",
)

// metadata are the addresses within these ranges, or within others, at which clouds
// hand out credentials to whoever asks.
var metadata = networks(
	"100.100.100.200/32", "metadata",
	"168.63.129.16/32", "metadata",
	"169.254.0.0/16", "metadata",
	"192.0.0.192/32", "metadata",
	"fd00:ec2::/32", "metadata",
	"fd20:ce::254/128", "metadata",
)

var (
	globalUnicast6 = netip.MustParsePrefix("2000::/3")
	nat64          = netip.MustParsePrefix("64:ff9b::/96")
)

// networks reads pairs of prefix and reason.
func networks(pairs ...string) []network {
	list := make([]network, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, network{netip.MustParsePrefix(pairs[i]), pairs[i+1]})
	}
	return list
}

// refusal4 returns why an IPv4 address is refused, or nothing.
func refusal4(addr netip.Addr) string {
	for _, n := range refused4 {
		if n.prefix.Contains(addr) {
			return n.reason
		}
	}
	return ""
}

// refusal6 returns why an IPv6 address is refused, or nothing.
func refusal6(addr netip.Addr) string {
	switch {
	case addr.IsUnspecified():
		return "unspecified"
	case addr.IsLoopback():
		return "loopback"
	case addr.IsPrivate():
		return "private"
	case addr.IsLinkLocalUnicast():
		return "link-local"
	case addr.IsMulticast():
		return "multicast"
	case nat64.Contains(addr):
		return "" // its IPv4 address is judged next
	case !globalUnicast6.Contains(addr):
		return "not global unicast"
	}
	for _, n := range refused6 {
		if n.prefix.Contains(addr) {
			return n.reason
		}
	}
	return ""
}

// embedded returns the IPv4 address that an otherwise public IPv6 address would be
// translated or tunnelled to: NAT64 (RFC 6052) and ISATAP (RFC 5214). IPv4-mapped
// addresses are unmapped before; IPv4-compatible and 6to4 ones are never public.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return netip.AddrFrom4([4]byte(b[12:16])), true
	}
	return netip.Addr{}, false
}

// parseHostAddr reads a host that is an address, in the usual forms and in those
// of inet_aton that some resolvers still take: one to four parts, each decimal,
// octal (0…) or hexadecimal (0x…), the last one filling what is left. It reports
// false for a name.
func parseHostAddr(host string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true
	}
	parts := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		if err != nil || strings.ContainsAny(part, "_+") || strings.HasPrefix(part, "0o") || strings.HasPrefix(part, "0b") {
			return netip.Addr{}, false
		}
		width := 1
		if i == len(parts)-1 {
			width = 5 - len(parts)
		}
		if n >= 1<<(8*width) {
			return netip.Addr{}, false
		}
		value = value<<(8*width) | n
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(value))
	return netip.AddrFrom4(b), true
}
