package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/engine/tds"
)

// Options configure a Server. The zero value is good.
type Options struct {
	// TLSConfig holds the certificate. Without one the server makes its own, self-signed, when a client
	// first asks for encryption. The versions and ALPN names are the server's choice.
	TLSConfig *tls.Config
	// RequireEncryption refuses clients that do not encrypt everything.
	RequireEncryption bool
	// NoEncryption tells clients that there is no encryption.
	NoEncryption bool
	// MaxPacket is the largest packet size that a client can have, 32767 by default.
	MaxPacket int
	// MaxMessage is the longest request in bytes, 256 MiB by default: 65,536
	// packets of the usual size, SQL Server's own limit of a batch. Bulk
	// loads are not messages in this sense.
	MaxMessage int
	// MaxConnections is the number of connections at a time, 32767 by default.
	MaxConnections int
	// LoginTimeout is the time a client has from its first byte to the end of
	// its login, 15 s by default.
	LoginTimeout time.Duration
	// ServerName is the name in messages that have none of their own.
	ServerName string
	// ProductVersion is the version that the login acknowledges: major, minor
	// and build. It is 16.0.4100 by default.
	ProductVersion [3]int
	// Logger gets the faults of connections; the zero Logger discards them.
	Logger zerolog.Logger
}

// The defaults of Options.
const (
	defaultMaxMessage     = 65536 * 4096
	defaultMaxConnections = 32767 // SQL Server's own limit
	defaultLoginTimeout   = 15 * time.Second
	defaultServerName     = "loopbroker"
)

var defaultProductVersion = [3]int{16, 0, 4100}

// WithDefaults returns o with its unset fields set.
func (o Options) WithDefaults() Options {
	if o.MaxPacket == 0 {
		o.MaxPacket = tds.MaxPacketSize
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = defaultMaxConnections
	}
	if o.LoginTimeout == 0 {
		o.LoginTimeout = defaultLoginTimeout
	}
	if o.ServerName == "" {
		o.ServerName = defaultServerName
	}
	if o.ProductVersion == [3]int{} {
		o.ProductVersion = defaultProductVersion
	}
	return o
}

// Validate returns all faults of o, whose defaults are set.
func (o Options) Validate() error {
	var errs []error
	if o.MaxPacket < tds.MinPacketSize || o.MaxPacket > tds.MaxPacketSize {
		errs = append(errs, fmt.Errorf("wire: MaxPacket %d is not between %d and %d", o.MaxPacket, tds.MinPacketSize, tds.MaxPacketSize))
	}
	if o.MaxMessage < tds.MaxPacketSize {
		errs = append(errs, fmt.Errorf("wire: MaxMessage %d is less than %d", o.MaxMessage, tds.MaxPacketSize))
	}
	if o.MaxConnections < 0 {
		errs = append(errs, fmt.Errorf("wire: MaxConnections %d is negative", o.MaxConnections))
	}
	if o.LoginTimeout < 0 {
		errs = append(errs, fmt.Errorf("wire: LoginTimeout %v is negative", o.LoginTimeout))
	}
	if o.RequireEncryption && o.NoEncryption {
		errs = append(errs, errors.New("wire: RequireEncryption and NoEncryption exclude each other"))
	}
	for i, part := range o.ProductVersion {
		if limit := []int{255, 255, 65535}[i]; part < 0 || part > limit {
			errs = append(errs, fmt.Errorf("wire: ProductVersion %v: part %d is not between 0 and %d", o.ProductVersion, i+1, limit))
		}
	}
	return errors.Join(errs...)
}

// versionBytes is ProductVersion as LOGINACK and PRELOGIN have it.
func (o Options) versionBytes() [4]byte {
	v := o.ProductVersion
	return [4]byte{byte(v[0]), byte(v[1]), byte(v[2] >> 8), byte(v[2])}
}
