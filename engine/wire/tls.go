package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"time"

	"loopbroker/engine/tds"
)

const (
	// firstTLSByte begins a TLS handshake record: a client of TDS 8.0.
	firstTLSByte = 0x16
	strictALPN   = "tds/8.0"

	certificateLife = 10 * 365 * 24 * time.Hour
)

// tlsConfig returns the configuration for a client. Inside of TDS version 1.2 is
// the highest: with 1.3 FreeTDS waits for ever.
func (s *Server) tlsConfig(strict bool) (*tls.Config, error) {
	var cfg *tls.Config
	if s.options.TLSConfig != nil {
		cfg = s.options.TLSConfig.Clone()
	} else {
		cert, err := s.certificate()
		if err != nil {
			return nil, err
		}
		cfg = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
	cfg.SessionTicketsDisabled = true
	cfg.DynamicRecordSizingDisabled = true
	if strict {
		cfg.NextProtos = []string{strictALPN}
	} else {
		cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
		cfg.NextProtos = nil
	}
	return cfg, nil
}

// selfSigned makes the server's own certificate.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("wire: certificate key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("wire: certificate number: %w", err)
	}
	names := []string{"localhost"}
	if host, err := os.Hostname(); err == nil && host != "" {
		names = append(names, host)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "SSL_Self_Signed_Fallback"}, // the name that SQL Server gives its own
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(certificateLife),
		DNSNames:              names,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("wire: certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// handshakeConn carries a TLS handshake inside PRELOGIN packets, and the raw
// records once done is set ([MS-TDS] 2.2.6.5, 3.3.5.2).
type handshakeConn struct {
	net.Conn
	r    io.Reader // the buffered side of Conn
	in   []byte    // of a packet, not read yet
	out  []byte    // not sent yet
	done bool
}

func (c *handshakeConn) Read(p []byte) (int, error) {
	if c.done && len(c.in) == 0 {
		return c.r.Read(p)
	}
	if len(c.in) == 0 {
		if err := c.flush(); err != nil {
			return 0, err
		}
		pr := packetReader{r: c.r}
		b, err := pr.message(tds.PacketPrelogin, tds.MaxLoginSize)
		if err != nil {
			return 0, err
		}
		if len(b) == 0 {
			return 0, fmt.Errorf("%w: empty TLS handshake packet", tds.ErrMalformed)
		}
		c.in = b
	}
	n := copy(p, c.in)
	c.in = c.in[n:]
	return n, nil
}

func (c *handshakeConn) Write(p []byte) (int, error) {
	if c.done {
		return c.Conn.Write(p)
	}
	c.out = append(c.out, p...)
	return len(p), nil
}

// flush sends the handshake messages that are there as one message.
func (c *handshakeConn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	b := tds.AppendPackets(nil, tds.PacketPrelogin, 0, tds.DefaultPacketSize, 1, c.out, true)
	c.out = nil
	_, err := c.Conn.Write(b)
	return err
}

// bufferedConn is a connection that is read through a buffer.
type bufferedConn struct {
	net.Conn
	r io.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }
