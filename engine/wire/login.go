package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
)

// errRefused ends a connection whose login was refused; the client knows why.
var errRefused = errors.New("wire: login refused")

// programName is the name of the server that clients expect.
const programName = "Microsoft SQL Server"

// handshake takes a connection from its first byte to a logged-in session.
func (c *conn) handshake(ctx context.Context) error {
	if err := c.nc.SetDeadline(time.Now().Add(c.server.options.LoginTimeout)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.server.options.LoginTimeout)
	defer cancel()
	c.raw = bufio.NewReaderSize(c.nc, readBuffer)
	c.in.r = c.raw
	c.out.w = c.nc
	first, err := c.raw.Peek(1)
	if err != nil {
		return err
	}
	if first[0] == firstTLSByte {
		if err := c.startStrict(ctx); err != nil {
			return err
		}
	}
	encryption, err := c.prelogin()
	if err != nil {
		return err
	}
	if encryption != tds.EncryptNotSup && !c.strict {
		if err := c.startTLS(ctx); err != nil {
			return err
		}
	}
	b, err := c.in.message(tds.PacketLogin7, tds.MaxLoginSize)
	if err != nil {
		return err
	}
	login, err := tds.ParseLogin(b)
	clear(b) // it holds the password
	if err != nil {
		return err
	}
	if encryption == tds.EncryptOff && !c.strict { // what follows is in the clear
		c.in.r, c.out.w = c.raw, c.nc
	}
	if err := c.login(ctx, login, encryption); err != nil {
		return err
	}
	return c.nc.SetDeadline(time.Time{})
}

// startStrict begins TLS before anything else (TDS 8.0).
func (c *conn) startStrict(ctx context.Context) error {
	if c.server.options.NoEncryption {
		return fmt.Errorf("%w: TLS, which is switched off", tds.ErrMalformed)
	}
	cfg, err := c.server.tlsConfig(true)
	if err != nil {
		return err
	}
	tc := tls.Server(&bufferedConn{Conn: c.nc, r: c.raw}, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("wire: TLS handshake: %w", err)
	}
	c.strict = true
	c.in.r = bufio.NewReaderSize(tc, readBuffer)
	c.out.w = tc
	return nil
}

// startTLS runs the handshake inside PRELOGIN packets.
func (c *conn) startTLS(ctx context.Context) error {
	cfg, err := c.server.tlsConfig(false)
	if err != nil {
		return err
	}
	hc := &handshakeConn{Conn: c.nc, r: c.raw}
	tc := tls.Server(hc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("wire: TLS handshake: %w", err)
	}
	if err := hc.flush(); err != nil {
		return err
	}
	hc.done = true
	c.in.r = bufio.NewReaderSize(tc, readBuffer)
	c.out.w = tc
	return nil
}

// prelogin answers PRELOGIN and returns the encryption that was agreed on.
func (c *conn) prelogin() (tds.Encryption, error) {
	b, err := c.in.message(tds.PacketPrelogin, tds.MaxPacketSize)
	if err != nil {
		return 0, err
	}
	p, err := tds.ParsePrelogin(b)
	if err != nil {
		return 0, err
	}
	asked := p.Encryption
	if !p.HasEncryption {
		asked = tds.EncryptNotSup
	}
	agreed := c.agree(asked)
	answer := tds.Prelogin{Encryption: agreed, FedAuth: p.FedAuth} // MARS stays false: not offered
	version := c.server.options.versionBytes()
	copy(answer.Version[:], version[:])
	c.out.buf = answer.Append(c.out.buf)
	if err := c.out.end(); err != nil {
		return 0, err
	}
	if !c.strict && (agreed == tds.EncryptReq && asked == tds.EncryptNotSup || agreed == tds.EncryptNotSup && asked.Required()) {
		return 0, errors.New("wire: the client and the server disagree on encryption")
	}
	return agreed, nil
}

// agree returns the server's answer to the client's wish ([MS-TDS] 2.2.6.5, ENCRYPTION).
func (c *conn) agree(asked tds.Encryption) tds.Encryption {
	o := &c.server.options
	switch {
	case c.strict || o.NoEncryption:
		return tds.EncryptNotSup
	case asked.Required():
		return tds.EncryptOn
	case o.RequireEncryption:
		return tds.EncryptReq
	case asked == tds.EncryptOff:
		return tds.EncryptOff
	}
	return tds.EncryptNotSup
}

// login opens the session and answers LOGIN7.
func (c *conn) login(ctx context.Context, l tds.Login, encryption tds.Encryption) error {
	limit := c.server.options.MaxPacket
	encrypted := c.strict || encryption == tds.EncryptOn || encryption == tds.EncryptReq
	if encrypted {
		limit = min(limit, tds.MaxEncryptedPacketSize)
	}
	c.out.size = tds.ClampPacketSize(int(min(l.PacketSize, tds.MaxPacketSize)), limit)
	version, ok := tds.NegotiateVersion(l.Version, c.strict)
	if !ok {
		return c.refuse(sqlerr.Unsupported("TDS before version 7.3"))
	}
	c.version = version
	if l.Integrated {
		return c.refuse(sqlerr.New(18452))
	}
	if limit := c.server.options.MaxConnections; c.server.count() > limit {
		return c.refuse(sqlerr.New(17809, limit))
	}
	session, err := c.openSession(ctx, c.loginRequest(l, encrypted))
	if err != nil {
		var known *sqlerr.Error
		if !errors.As(err, &known) {
			c.log.Error().Err(err).Msg("login failed")
			known = sqlerr.New(18456, l.UserName)
		}
		return c.refuse(known)
	}
	c.session = session
	c.out.spid = uint16(session.ID())
	return c.acknowledge(l)
}

// openSession asks the backend, whose panic must not end the server.
func (c *conn) openSession(ctx context.Context, req LoginRequest) (s Session, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("panic at a login")
			s, err = nil, fmt.Errorf("wire: panic at a login: %v", p)
		}
	}()
	return c.server.backend.Login(ctx, req)
}

func (c *conn) loginRequest(l tds.Login, encrypted bool) LoginRequest {
	return LoginRequest{
		User: l.UserName, Password: l.Password, NewPassword: l.NewPassword, Database: l.Database, Hostname: l.HostName,
		AppName: l.AppName, ServerName: l.ServerName, Language: l.Language, Interface: l.Interface,
		ClientPID: l.ClientPID, ClientLCID: l.ClientLCID, TDSVersion: c.version, PacketSize: c.out.size,
		Encrypted: encrypted, ReadOnlyIntent: l.ReadOnly, ODBC: l.ODBC,
		RemoteAddr: c.nc.RemoteAddr(), LocalAddr: c.nc.LocalAddr(), Kill: c.kill,
	}
}

// refuse answers a login with an error.
func (c *conn) refuse(e *sqlerr.Error) error {
	m := c.message(ErrorMessage(e))
	m.Line = max(m.Line, 1)
	if c.version == 0 { // older than what AppendMessage writes
		c.out.buf = tds.AppendOldRefusal(c.out.buf, m)
	} else {
		c.out.buf = tds.AppendMessage(c.out.buf, m)
		c.out.buf = tds.AppendDone(c.out.buf, tds.DoneBatch, tds.DoneError, 0, 0)
	}
	return errorsFirst(c.out.end(), errRefused)
}

// acknowledge answers a successful login, in the order in which SQL Server does.
func (c *conn) acknowledge(l tds.Login) error {
	database, language := c.session.Database(), c.session.Language()
	b := tds.AppendEnvDatabase(c.out.buf, database, "master")
	b = tds.AppendMessage(b, c.message(Message{
		Number: 5701, State: 2, Text: "Changed database context to '" + database + "'.", Line: 1,
	}))
	b = tds.AppendEnvCollation(b, c.collation())
	b = tds.AppendEnvLanguage(b, language, "")
	b = tds.AppendMessage(b, c.message(Message{
		Number: 5703, State: 1, Text: "Changed language setting to " + language + ".", Line: 1,
	}))
	b = tds.AppendLoginAck(b, c.version, programName, c.server.options.versionBytes())
	b = tds.AppendEnvPacketSize(b, c.out.size, tds.DefaultPacketSize)
	if l.HasFeatures {
		b = tds.AppendFeatureExtAck(b)
	}
	c.out.buf = tds.AppendDone(b, tds.DoneBatch, 0, 0, 0)
	return c.out.end()
}

func (c *conn) collation() *types.Collation {
	if coll := c.session.Collation(); coll != nil {
		return coll
	}
	return types.DefaultCollation
}

// message fills in the name of the server.
func (c *conn) message(m Message) tds.Message {
	if m.Server == "" {
		m.Server = c.server.options.ServerName
	}
	return tds.Message(m)
}
