package main

import (
	"bytes"
	"crypto/tls"
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
	nc       net.Conn
	user     string
	jid      string
	features []string
	// Round trips: until bound, the first for TCP; and of them those behind the features to log in with.
	loginTrips, authTrips int
	socket                bool // frames of the app protocol instead of stanzas
	oneWay                bool // a stream of servers: requests are not answered on it
	scanner

	wmu     sync.Mutex
	sm      bool
	handled uint32        // stanzas received since stream management began
	sent    atomic.Uint32 // stanzas written since then
	acked   atomic.Uint32 // stanzas the server has acknowledged
	trips   int           // how often it wrote and then waited for an answer
	wrote   bool          // something since it waited last
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
	sasl2    bool     // SASL2 and Bind 2 instead of RFC 6120's steps
	tokens   *tokens  // with sasl2: ask for tokens (XEP-0484), log in by them where there is one
	features []string // what disco#info is answered with
	from     string   // the address to connect from; any if empty
	timeout  time.Duration
	cache    *scramCache
}

func (o *options) dialer() *net.Dialer {
	d := &net.Dialer{Timeout: o.timeout}
	if ip := net.ParseIP(o.from); ip != nil {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	return d
}

var smallInternet = net.IPNet{IP: net.IPv4(10, 77, 0, 0), Mask: net.CIDRMask(24, 32)}

// localOnly refuses every target that is not this machine, or a namespace on it (the small internet of Tests/Clients).
func localOnly(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() && !smallInternet.Contains(ip) {
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
	c.wrote = true
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

// next returns one stanza or frame, or ok=false when more data is needed.
func (c *conn) next() ([]byte, bool, error) {
	if c.socket {
		return c.nextFrame()
	}
	return c.scanner.next()
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
	c.wmu.Lock()
	if c.wrote {
		c.trips++
		c.wrote = false
	}
	c.wmu.Unlock()
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
	case c.socket:
		c.acknowledge(st)
	case is(st, "message"), is(st, "presence"):
		c.handled++
	case is(st, "iq"):
		c.handled++
		if !c.oneWay {
			c.answer(st)
		}
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
// result, disco#info where the session has features to tell, others with an
// error (RFC 6120 8.2.3 wants an answer to each).
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
	if kind == "get" && c.features != nil && bytes.Contains(st, []byte(discoInfo)) {
		node := ""
		if i := bytes.Index(st, []byte("<query ")); i >= 0 {
			if v := attr(st[i:], "node"); v != nil {
				node = " node='" + quote(v) + "'"
			}
		}
		c.writeString(head + " type='result'><query xmlns='" + discoInfo + "'" + node + ">" +
			identity + featureElements(c.features) + "</query></iq>")
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
	nc, err := o.dialer().Dial("tcp", o.addr)
	if err != nil {
		return nil, err
	}
	c = &conn{nc: nc, user: user, trips: 1}
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
		c.trips++ // TLS 1.3
		header = strings.Replace(header, "<stream:stream ", "<stream:stream from='"+user+"@"+o.domain+"' ", 1)
		if feat, err = open(); err != nil {
			return c, err
		}
	}
	c.features = o.features
	before := c.trips
	if o.sasl2 {
		err = c.authenticate2(o, resource, feat)
	} else {
		err = c.authenticateAndBind(o, resource, feat, open)
	}
	if err != nil {
		return c, err
	}
	c.loginTrips, c.authTrips = c.trips, c.trips-before
	var st []byte
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
		return c.ping(o, presence)
	}
}

// ping waits until the server has worked through what was sent before, and
// through what it sends ahead.
func (c *conn) ping(o *options, ahead string) error {
	if err := c.writeString(ahead + "<iq type='get' id='online' to='" + o.domain + "'><ping xmlns='urn:xmpp:ping'/></iq>"); err != nil {
		return err
	}
	_, err := c.await(o.timeout, withID("online"))
	return err
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
