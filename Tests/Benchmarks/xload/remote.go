package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A remoteServer is the other server of a federated workload: it takes streams for every domain that its certificate is good
// for, and opens them. Certificates decide (SASL EXTERNAL, XEP-0178), a stream carries one direction, and what comes in
// is acknowledged (XEP-0198), as Prosody does it.
type remoteServer struct {
	s           *settings
	certificate tls.Certificate
	listener    net.Listener
	arrived     func(c *conn, stanza []byte) (goOn bool)
	opening     atomic.Int64 // streams that are taken and not yet authenticated
	openingMax  atomic.Int64
	streams     atomic.Int64 // authenticated ones
	note        atomic.Value // why the last stream did not come about
	mu          sync.Mutex
	conns       []*conn
}

const tlsNS = "urn:ietf:params:xml:ns:xmpp-tls"

// newRemoteServer listens; arrived is called with each stanza, by the stream's goroutine, which ends where it returns false.
func newRemoteServer(s *settings, arrived func(*conn, []byte) bool) (*remoteServer, error) {
	p := &remoteServer{s: s, arrived: arrived}
	var err error
	if p.certificate, err = tls.LoadX509KeyPair(s.chain, s.key); err != nil {
		return nil, fmt.Errorf("--chain and --key: %w", err)
	}
	if p.certificate.Leaf, err = x509.ParseCertificate(p.certificate.Certificate[0]); err != nil {
		return nil, err
	}
	if p.listener, err = net.Listen("tcp", s.listen); err != nil {
		return nil, err
	}
	go func() {
		for {
			nc, err := p.listener.Accept()
			if err != nil {
				return
			}
			go p.take(nc)
		}
	}()
	return p, nil
}

func (p *remoteServer) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	closeAll(p.conns)
}

func (p *remoteServer) keep(c *conn) {
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.mu.Unlock()
}

func serverHeader(from, to, id string) string {
	h := "<?xml version='1.0'?><stream:stream xmlns='jabber:server' xmlns:stream='http://etherx.jabber.org/streams'" +
		" version='1.0' from='" + from + "' to='" + to + "'"
	if id != "" {
		h += " id='" + id + "'"
	}
	return h + ">"
}

var streamIDs atomic.Int64

// header reads the other side's stream header, and answers it.
func (c *conn) header(features string) (to string, err error) {
	for {
		b := c.buf[c.pos:c.w]
		if i := bytes.Index(b, []byte("<stream:stream")); i >= 0 {
			if j := bytes.IndexByte(b[i:], '>'); j >= 0 {
				to = string(attr(b[i:i+j+1], "to"))
				from := string(attr(b[i:i+j+1], "from"))
				c.pos += i + j + 1
				c.start = c.pos
				return to, c.writeString(serverHeader(to, from, strconv.FormatInt(streamIDs.Add(1), 10)) +
					"<stream:features>" + features + "</stream:features>")
			}
		}
		if err = c.fill(); err != nil {
			return "", err
		}
	}
}

func (c *conn) expects(name string) error {
	st, err := c.read()
	if err == nil && !is(st, name) {
		err = fmt.Errorf("%s expected, got %s", name, st)
	}
	return err
}

// take is the accepting side of a stream, until it ends.
func (p *remoteServer) take(nc net.Conn) {
	c := &conn{nc: nc, oneWay: true}
	now := p.opening.Add(1)
	for most := p.openingMax.Load(); now > most && !p.openingMax.CompareAndSwap(most, now); {
		most = p.openingMax.Load()
	}
	nc.SetDeadline(time.Now().Add(p.s.timeout))
	err := p.authenticates(c)
	p.opening.Add(-1)
	if err != nil {
		p.note.Store(err.Error())
		nc.Close()
		return
	}
	c.nc.SetDeadline(time.Time{})
	p.streams.Add(1)
	p.keep(c)
	for {
		st, err := c.read()
		if err != nil {
			c.nc.Close()
			return
		}
		if is(st, "enable") {
			c.sm, c.handled = true, 0
			c.writeString("<enabled xmlns='urn:xmpp:sm:3'/>")
			continue
		}
		c.account(st)
		if !p.arrived(c, st) {
			return
		}
	}
}

func (p *remoteServer) authenticates(c *conn) error {
	if _, err := c.header("<starttls xmlns='" + tlsNS + "'><required/></starttls>"); err != nil {
		return err
	}
	if err := c.expects("starttls"); err != nil {
		return err
	}
	if err := c.writeString("<proceed xmlns='" + tlsNS + "'/>"); err != nil {
		return err
	}
	secured := tls.Server(c.nc, &tls.Config{
		Certificates: []tls.Certificate{p.certificate}, ClientAuth: tls.RequireAnyClientCert})
	if err := secured.Handshake(); err != nil {
		return err
	}
	c.nc = secured
	c.reset()
	if _, err := c.header("<mechanisms xmlns='" + saslNS + "'><mechanism>EXTERNAL</mechanism></mechanisms>"); err != nil {
		return err
	}
	if err := c.expects("auth"); err != nil {
		return err
	}
	if err := c.writeString("<success xmlns='" + saslNS + "'/>"); err != nil {
		return err
	}
	c.reset()
	_, err := c.header("<sm xmlns='urn:xmpp:sm:3'/>")
	return err
}

// open is the initiating side: a stream from one of the remote server's domains to the server.
func (p *remoteServer) open(from string) (c *conn, err error) {
	nc, err := net.DialTimeout("tcp", p.s.servers, p.s.timeout)
	if err != nil {
		return nil, err
	}
	c = &conn{nc: nc, oneWay: true}
	defer func() {
		if err != nil {
			nc.Close()
			err = fmt.Errorf("stream from %s: %w", from, err)
		}
	}()
	if err = c.beginTLS(p.s, from, p.certificate); err != nil {
		return nil, err
	}
	header := serverHeader(from, p.s.domain, "")
	offers := func(what string) error {
		c.reset()
		if err := c.writeString(header); err != nil {
			return err
		}
		st, err := c.await(p.s.timeout, named("stream:features"))
		if err == nil && !bytes.Contains(st, []byte(what)) {
			err = fmt.Errorf("no %s in %s", what, st)
		}
		return err
	}
	if err = offers(">EXTERNAL<"); err != nil {
		return nil, err
	}
	if err = c.writeString("<auth xmlns='" + saslNS + "' mechanism='EXTERNAL'>=</auth>"); err != nil {
		return nil, err
	}
	st, err := c.await(p.s.timeout, named("success", "failure"))
	if err == nil && !is(st, "success") {
		err = errors.New(string(st))
	}
	if err == nil {
		err = offers("")
	}
	if err != nil {
		return nil, err
	}
	p.keep(c)
	return c, nil
}

// beginTLS takes a stream to a server up to its handshake; that is made if there is a certificate for it.
func (c *conn) beginTLS(s *settings, from string, certificate tls.Certificate) error {
	if err := c.writeString(serverHeader(from, s.domain, "")); err != nil {
		return err
	}
	if _, err := c.await(s.timeout, named("stream:features")); err != nil {
		return err
	}
	if err := c.writeString("<starttls xmlns='" + tlsNS + "'/>"); err != nil {
		return err
	}
	st, err := c.await(s.timeout, named("proceed", "failure"))
	if err != nil {
		return err
	}
	if !is(st, "proceed") {
		return errors.New("STARTTLS refused")
	}
	// What the server shows is of no interest here, as with the clients.
	secured := tls.Client(c.nc, &tls.Config{
		ServerName: s.domain, InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate}})
	c.nc.SetDeadline(time.Now().Add(s.timeout))
	if err := secured.Handshake(); err != nil {
		return err
	}
	c.nc.SetDeadline(time.Time{})
	c.nc = secured
	return nil
}

// failure says why streams did not come about, if it is known.
func (p *remoteServer) failure() string {
	if note, ok := p.note.Load().(string); ok {
		return " (last stream: " + note + ")"
	}
	return ""
}
