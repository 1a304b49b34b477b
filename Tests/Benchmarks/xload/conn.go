package main

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one client session.
type conn struct {
	nc   net.Conn
	user string
	jid  string
	scanner

	wmu     sync.Mutex
	sm      bool
	handled uint32        // stanzas received since stream management began
	sent    atomic.Uint32 // stanzas written since then
	acked   atomic.Uint32 // stanzas the server has acknowledged
	badAcks atomic.Int64  // acknowledgements that went back or beyond what was sent
}

// options describe how sessions are made.
type options struct {
	addr     string
	domain   string
	password string
	mech     string
	tls      bool
	sm       bool
	carbons  bool
	timeout  time.Duration
	cache    *scramCache
}

// loopbackOnly refuses every target that is not this machine.
func loopbackOnly(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("refusing %s: only loopback targets are allowed", addr)
	}
	return nil
}

// write sends bytes that hold the given number of stanzas.
func (c *conn) write(b []byte, stanzas int) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.sm {
		c.sent.Add(uint32(stanzas))
	}
	_, err := c.nc.Write(b)
	return err
}

// writeString sends a short text and counts the stanzas in it. Nothing that
// xload sends nests one stanza in another.
func (c *conn) writeString(s string) error {
	n := 0
	if c.sm {
		n = strings.Count(s, "<message") + strings.Count(s, "<presence") + strings.Count(s, "<iq")
	}
	return c.write([]byte(s), n)
}

// fill reads once from the socket.
func (c *conn) fill() error {
	sp, err := c.space()
	if err != nil {
		return err
	}
	n, err := c.nc.Read(sp)
	c.w += n
	if n == len(sp) {
		c.grow(256 << 10)
	}
	if n > 0 {
		return nil
	}
	return err
}

// read blocks for the next stanza.
func (c *conn) read() ([]byte, error) {
	for {
		st, ok, err := c.next()
		if err != nil {
			return nil, err
		}
		if ok {
			return st, nil
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// await reads until a stanza satisfies want, answering stream management
// requests on the way.
func (c *conn) await(timeout time.Duration, want func([]byte) bool) ([]byte, error) {
	c.nc.SetReadDeadline(time.Now().Add(timeout))
	defer c.nc.SetReadDeadline(time.Time{})
	for {
		st, err := c.read()
		if err != nil {
			return nil, err
		}
		if is(st, "stream:error") {
			return nil, fmt.Errorf("stream error: %s", st)
		}
		c.account(st)
		if want(st) {
			return st, nil
		}
	}
}

// account answers what a server may ask of any client (pings, roster pushes,
// acknowledgement requests) and does the stream management bookkeeping. Every
// stanza read goes through here, in every mode: a server that gets no answer
// may hold messages back or end the session.
func (c *conn) account(st []byte) {
	switch {
	case is(st, "message"), is(st, "presence"):
		c.handled++
	case is(st, "iq"):
		c.handled++
		c.answer(st)
	case !c.sm:
	case is(st, "r"):
		c.writeString("<a xmlns='urn:xmpp:sm:3' h='" + strconv.FormatUint(uint64(c.handled), 10) + "'/>")
	case is(st, "a"):
		h, err := strconv.ParseUint(string(attr(st, "h")), 10, 32)
		if err != nil || uint32(h) > c.sent.Load() || uint32(h) < c.acked.Load() {
			c.badAcks.Add(1)
			return
		}
		c.acked.Store(uint32(h))
	}
}

// answer replies to an IQ request: pings (XEP-0199) and roster pushes with a
// result, others with an error (RFC 6120 8.2.3 wants an answer to each).
func (c *conn) answer(st []byte) {
	kind := string(attr(st, "type"))
	if kind != "get" && kind != "set" {
		return
	}
	quote := func(v []byte) string { return strings.ReplaceAll(string(v), "'", "&apos;") }
	head := "<iq id='" + quote(attr(st, "id")) + "'"
	if from := attr(st, "from"); from != nil {
		head += " to='" + quote(from) + "'"
	}
	ping := kind == "get" && bytes.Contains(st, []byte("urn:xmpp:ping"))
	push := kind == "set" && bytes.Contains(st, []byte("jabber:iq:roster"))
	if ping || push {
		c.writeString(head + " type='result'/>")
		return
	}
	c.writeString(head + " type='error'><error type='cancel'>" +
		"<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>")
}

// drain reads a session whose stanzas nobody waits for, so that the server can
// write and its requests are answered. The function it returns ends that.
func (c *conn) drain() (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			st, err := c.read()
			if err != nil {
				return
			}
			c.account(st)
		}
	}()
	return func() {
		c.nc.SetReadDeadline(time.Now())
		<-done
		c.nc.SetReadDeadline(time.Time{})
	}
}

func (c *conn) close() {
	c.nc.SetWriteDeadline(time.Now().Add(time.Second))
	c.writeString("</stream:stream>")
	c.nc.Close()
}

func named(names ...string) func([]byte) bool {
	return func(st []byte) bool {
		for _, n := range names {
			if is(st, n) {
				return true
			}
		}
		return false
	}
}

func withID(id string) func([]byte) bool {
	return func(st []byte) bool { return is(st, "iq") && string(attr(st, "id")) == id }
}

// login opens a session and binds a resource. It does not send presence.
func login(o *options, user, resource string) (c *conn, err error) {
	d := net.Dialer{Timeout: o.timeout}
	nc, err := d.Dial("tcp", o.addr)
	if err != nil {
		return nil, err
	}
	c = &conn{nc: nc, user: user}
	defer func() {
		if err != nil {
			c.nc.Close()
			err = fmt.Errorf("login %s: %w", user, err)
			c = nil
		}
	}()
	header := "<?xml version='1.0'?><stream:stream to='" + o.domain +
		"' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
	open := func() ([]byte, error) {
		c.reset()
		if err := c.writeString(header); err != nil {
			return nil, err
		}
		return c.await(o.timeout, named("stream:features"))
	}
	feat, err := open()
	if err != nil {
		return c, err
	}
	if o.tls {
		if err = c.writeString("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"); err != nil {
			return c, err
		}
		var st []byte
		if st, err = c.await(o.timeout, named("proceed", "failure")); err != nil {
			return c, err
		}
		if !is(st, "proceed") {
			return c, errors.New("STARTTLS refused")
		}
		// The peer is this machine and its certificate self-signed.
		tc := tls.Client(nc, &tls.Config{ServerName: o.domain, InsecureSkipVerify: true})
		nc.SetDeadline(time.Now().Add(o.timeout))
		if err = tc.Handshake(); err != nil {
			return c, err
		}
		nc.SetDeadline(time.Time{})
		c.nc = tc
		if feat, err = open(); err != nil {
			return c, err
		}
	}
	if !bytes.Contains(feat, []byte(">"+o.mech+"<")) {
		return c, fmt.Errorf("%s not offered in %s", o.mech, feat)
	}
	if err = c.authenticate(o); err != nil {
		return c, err
	}
	if feat, err = open(); err != nil {
		return c, err
	}
	if err = c.writeString("<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>" +
		resource + "</resource></bind></iq>"); err != nil {
		return c, err
	}
	st, err := c.await(o.timeout, withID("bind"))
	if err != nil {
		return c, err
	}
	c.jid = string(text(st, "<jid>"))
	if c.jid == "" {
		return c, fmt.Errorf("no jid in %s", st)
	}
	if o.sm {
		if err = c.writeString("<enable xmlns='urn:xmpp:sm:3' resume='true'/>"); err != nil {
			return c, err
		}
		if st, err = c.await(o.timeout, named("enabled", "failed")); err != nil {
			return c, err
		}
		if !is(st, "enabled") {
			return c, fmt.Errorf("stream management refused: %s", st)
		}
		c.handled = 0
		c.sm = true
	}
	if o.carbons {
		if err = c.writeString("<iq type='set' id='carbons'><enable xmlns='urn:xmpp:carbons:2'/></iq>"); err != nil {
			return c, err
		}
		if st, err = c.await(o.timeout, withID("carbons")); err != nil {
			return c, err
		}
		if string(attr(st, "type")) != "result" {
			return c, fmt.Errorf("carbons refused: %s", st)
		}
	}
	return c, nil
}

func (c *conn) authenticate(o *options) error {
	const ns = " xmlns='urn:ietf:params:xml:ns:xmpp-sasl'"
	if o.mech == "PLAIN" {
		if !o.tls {
			return errors.New("PLAIN needs --tls")
		}
		c.writeString("<auth" + ns + " mechanism='PLAIN'>" +
			base64.StdEncoding.EncodeToString([]byte("\x00"+c.user+"\x00"+o.password)) + "</auth>")
		st, err := c.await(o.timeout, named("success", "failure"))
		if err == nil && !is(st, "success") {
			err = fmt.Errorf("refused: %s", st)
		}
		return err
	}
	var raw [18]byte
	rand.Read(raw[:])
	nonce := hex.EncodeToString(raw[:])
	first := "n=" + c.user + ",r=" + nonce
	c.writeString("<auth" + ns + " mechanism='" + o.mech + "'>" +
		base64.StdEncoding.EncodeToString([]byte("n,,"+first)) + "</auth>")
	st, err := c.await(o.timeout, named("challenge", "failure"))
	if err != nil {
		return err
	}
	if !is(st, "challenge") {
		return fmt.Errorf("refused: %s", st)
	}
	dec, err := base64.StdEncoding.DecodeString(string(text(st, ">")))
	if err != nil {
		return err
	}
	var r, s string
	var i int
	for _, f := range strings.Split(string(dec), ",") {
		switch {
		case strings.HasPrefix(f, "r="):
			r = f[2:]
		case strings.HasPrefix(f, "s="):
			s = f[2:]
		case strings.HasPrefix(f, "i="):
			i, _ = strconv.Atoi(f[2:])
		}
	}
	if !strings.HasPrefix(r, nonce) || s == "" || i < 1 {
		return fmt.Errorf("bad challenge %q", dec)
	}
	k := o.cache.derive(o.mech, o.password, s, i)
	bare := "c=biws,r=" + r
	proof, server := k.proofs(o.mech, first+","+string(dec)+","+bare)
	c.writeString("<response" + ns + ">" + base64.StdEncoding.EncodeToString([]byte(bare+",p="+proof)) + "</response>")
	if st, err = c.await(o.timeout, named("success", "failure")); err != nil {
		return err
	}
	if !is(st, "success") {
		return fmt.Errorf("refused: %s", st)
	}
	fin, _ := base64.StdEncoding.DecodeString(string(text(st, ">")))
	if string(fin) != "v="+server {
		return fmt.Errorf("server signature differs: %q", fin)
	}
	return nil
}

// loginAll opens a session per user with a bounded number in progress, and
// reports each one's duration through lat when it is not nil.
func loginAll(o *options, users []string, resource string, parallel int, lat *hist, then func(*conn) error) ([]*conn, error) {
	conns := make([]*conn, len(users))
	errs := make([]error, len(users))
	var wg sync.WaitGroup
	work := make(chan int, len(users))
	for i := range users {
		work <- i
	}
	close(work)
	if parallel > len(users) {
		parallel = len(users)
	}
	for p := 0; p < parallel; p++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range work {
				t := time.Now()
				c, err := login(o, users[i], resource)
				if err == nil && then != nil {
					err = then(c)
				}
				if lat != nil {
					lat.add(int64(time.Since(t)))
				}
				conns[i], errs[i] = c, err
			}
		}()
	}
	wg.Wait()
	failed := 0
	var firstErr error
	for _, e := range errs {
		if e != nil {
			failed++
			if firstErr == nil {
				firstErr = e
			}
		}
	}
	if failed > 0 {
		return conns, fmt.Errorf("%d of %d logins failed, first: %w", failed, len(users), firstErr)
	}
	return conns, nil
}

// goOnline sends initial presence and then a ping, whose answer shows that the
// server has worked through the presence.
func goOnline(o *options) func(*conn) error { return goOnlineAt(o, 0) }

func goOnlineAt(o *options, priority int) func(*conn) error {
	presence := "<presence/>"
	if priority != 0 {
		presence = "<presence><priority>" + strconv.Itoa(priority) + "</priority></presence>"
	}
	return func(c *conn) error {
		err := c.writeString(presence + "<iq type='get' id='online' to='" + o.domain +
			"'><ping xmlns='urn:xmpp:ping'/></iq>")
		if err != nil {
			return err
		}
		_, err = c.await(o.timeout, withID("online"))
		return err
	}
}

func closeAll(conns []*conn) {
	var wg sync.WaitGroup
	for _, c := range conns {
		if c != nil {
			wg.Add(1)
			go func(c *conn) { c.close(); wg.Done() }(c)
		}
	}
	wg.Wait()
}

func userRange(prefix string, first, n int) []string {
	u := make([]string, n)
	for i := range u {
		u[i] = prefix + strconv.Itoa(first+i)
	}
	return u
}
