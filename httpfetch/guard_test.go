package httpfetch

import (
	"errors"
	"net/netip"
	"testing"
)

func TestGuard_Check(t *testing.T) {
	t.Parallel()

	refused := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
		"127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7",
		"203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::2", "::127.0.0.1", "::10.0.0.1", "::8.8.8.8", // IPv4-compatible ones too, all of them
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:0", "::ffff:7f00:1",
		"64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::8.8.8.8",
		"100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:20::1", "2001:db8::1",
		"2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1", "3fff::1", "5f00::1",
		"fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
		"2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1", // ISATAP
		"4000::1", "8000::1",
	}
	allowed := []string{
		"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1", "168.63.129.17", "172.15.0.1", "172.32.0.1",
		"192.0.1.1", "192.169.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2001:4860:4860::8888", "2001:200::1", "2606:4700:4700::1111", "2a00:1450::1",
		"2606:4700::5efe:8.8.8.8",
	}
	g := newGuard(nil, nil)
	for _, text := range refused {
		var refusal *addressError
		if err := g.check(netip.MustParseAddr(text)); !errors.As(err, &refusal) || refusal.reason == "" {
			t.Errorf("check(%s) = %v, want an address error with a reason", text, err)
		}
	}
	for _, text := range allowed {
		if err := g.check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("check(%s) = %v, want nil", text, err)
		}
	}
}

func TestGuard_AllowNetworks(t *testing.T) {
	t.Parallel()

	g := newGuard([]netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("::ffff:10.1.0.0/112"),
		netip.MustParsePrefix("fd12::/16"),
	}, nil)
	tests := []struct {
		addr string
		want bool
	}{
		{"127.0.0.1", true},
		{"::ffff:127.9.9.9", true},
		{"10.1.2.3", true},
		{"10.2.0.1", false},
		{"fd12::1", true},
		{"fd13::1", false},
		{"::1", false},
		{"64:ff9b::127.0.0.1", false}, // a translator is not what was allowed
		{"2002:7f00:1::", false},
	}
	for _, tt := range tests {
		if got := g.check(netip.MustParseAddr(tt.addr)) == nil; got != tt.want {
			t.Errorf("check(%s) allowed = %v, want %v", tt.addr, got, tt.want)
		}
	}
}

func TestGuard_Control(t *testing.T) {
	t.Parallel()

	g := newGuard(nil, nil)
	tests := []struct {
		address string
		want    bool
	}{
		{"8.8.8.8:443", true},
		{"127.0.0.1:80", false},
		{"[::1]:80", false},
		{"[fe80::1%lo]:80", false},
		{"not an address", false},
	}
	for _, tt := range tests {
		if got := g.control("tcp", tt.address, nil) == nil; got != tt.want {
			t.Errorf("control(%s) allowed = %v, want %v", tt.address, got, tt.want)
		}
	}
}

func TestGuard_Trusts(t *testing.T) {
	t.Parallel()

	g := newGuard(nil, []string{"Stub.Example", "other:8080"})
	tests := []struct {
		host, port string
		want       bool
	}{
		{"stub.example", "1", true},
		{"STUB.example", "443", true},
		{"other", "8080", true},
		{"other", "8081", false},
		{"sub.stub.example", "1", false},
	}
	for _, tt := range tests {
		if got := g.trusts(tt.host, tt.port); got != tt.want {
			t.Errorf("trusts(%s, %s) = %v, want %v", tt.host, tt.port, got, tt.want)
		}
	}
}

func TestParseHostAddr(t *testing.T) {
	t.Parallel()

	tests := []struct {
		host, want string // empty means a name
	}{
		{"127.0.0.1", "127.0.0.1"},
		{"2130706433", "127.0.0.1"},
		{"0x7f000001", "127.0.0.1"},
		{"0X7F000001", "127.0.0.1"},
		{"017700000001", "127.0.0.1"},
		{"0177.0.0.1", "127.0.0.1"},
		{"0x7f.1", "127.0.0.1"},
		{"127.1", "127.0.0.1"},
		{"127.0.1", "127.0.0.1"},
		{"10.0.258", "10.0.1.2"},
		{"127.0.0.1.", "127.0.0.1"},
		{"0", "0.0.0.0"},
		{"::1", "::1"},
		{"::ffff:10.0.0.1", "::ffff:10.0.0.1"},
		{"fe80::1%eth0", "fe80::1%eth0"},
		{"example.com", ""},
		{"1.2.3.4.5", ""},
		{"256.1", ""}, // 256 does not fit its part
		{"4294967296", ""},
		{"08.1", ""},
		{"1_0.1", ""},
		{"", ""},
		{".", ""},
		{"abc", ""},
	}
	for _, tt := range tests {
		got, ok := parseHostAddr(tt.host)
		if ok != (tt.want != "") || (ok && got.String() != tt.want) {
			t.Errorf("parseHostAddr(%q) = %v, %v, want %q", tt.host, got, ok, tt.want)
		}
	}
}
