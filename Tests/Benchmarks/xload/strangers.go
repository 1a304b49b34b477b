package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// What a server meets from outside: half-open streams, many strangers.

// runHalfOpen logs clients in, one after the other, alone; while --streams streams from other servers begin at once and
// go no further; and beside those.
func runHalfOpen(s *settings, r *report) error {
	ready := goOnline(&s.options)
	logins := func(lat *hist, n int) error {
		for i := 0; i < n; i++ {
			began := time.Now()
			c, err := login(&s.options, s.prefix+strconv.Itoa(s.first+i%s.users), "x")
			if err == nil {
				err = ready(c)
			}
			if err != nil {
				return err
			}
			lat.add(int64(time.Since(began)))
			c.close()
		}
		return nil
	}
	var warm, quiet, opening, held hist
	if err := logins(&warm, s.users); err != nil {
		return err
	}
	if err := logins(&quiet, s.messages); err != nil {
		return err
	}
	var half halfOpen
	began := time.Now()
	for i := 0; i < s.streams; i++ {
		half.group.Add(1)
		go half.hold(s, i)
	}
	err := logins(&opening, s.messages)
	for err == nil && half.begun.Load() < int64(s.streams) && time.Since(began) < openingTime {
		time.Sleep(10 * time.Millisecond)
	}
	most := half.open.Load()
	a := readUsage(s.pids)
	if err == nil {
		err = logins(&held, s.messages)
	}
	b := readUsage(s.pids)
	least := half.open.Load()
	half.end()
	r.put("streams", s.streams, "")
	r.put("half_open_first", most, "")
	r.put("half_open_last", least, "")
	r.latency("quiet_", &quiet)
	r.latency("opening_", &opening)
	r.latency("held_", &held)
	r.put("p99_added_ms", float64(held.quantile(0.99)-quiet.quantile(0.99))/1e6, "ms")
	r.put("p99_added_while_opening_ms", float64(opening.quantile(0.99)-quiet.quantile(0.99))/1e6, "ms")
	r.cpu(s.pids, a, b, float64(held.n), "logins")
	return err
}

// openingTime is what a server has to accept the streams: one with a short queue of connections takes long.
const openingTime = 8 * time.Second

// halfOpen are streams that are begun and not authenticated; one that the server closes is begun again.
type halfOpen struct {
	group sync.WaitGroup
	ended atomic.Bool
	begun atomic.Int64
	open  atomic.Int64
	mu    sync.Mutex
	conns []net.Conn
}

func (h *halfOpen) end() {
	h.ended.Store(true)
	h.mu.Lock()
	for _, nc := range h.conns {
		nc.Close()
	}
	h.mu.Unlock()
	h.group.Wait()
}

// hold is one of them: a third say nothing, a third begin a stream, a third stop behind the TLS handshake. Servers bound
// what one address may begin, so a hundred addresses of the remote server share them.
func (h *halfOpen) hold(s *settings, i int) {
	defer h.group.Done()
	for first := true; !h.ended.Load(); first = false {
		if !first {
			time.Sleep(time.Second)
		}
		from := &net.TCPAddr{IP: net.IPv4(10, 77, 0, byte(100+i%100))}
		d := net.Dialer{Timeout: openingTime, LocalAddr: from}
		nc, err := d.Dial("tcp", s.servers)
		if err != nil {
			h.begun.Add(1)
			continue
		}
		h.mu.Lock()
		h.conns = append(h.conns, nc)
		h.mu.Unlock()
		h.open.Add(1)
		c := &conn{nc: nc, oneWay: true}
		switch i % 3 {
		case 1:
			err = c.writeString(serverHeader(s.partnerDomain, s.domain, ""))
		case 2:
			err = c.beginTLS(s, s.partnerDomain, tls.Certificate{})
		}
		if first {
			h.begun.Add(1)
		}
		for err == nil {
			_, err = c.read()
		}
		nc.Close()
		h.open.Add(-1)
	}
}

// runStrangers has pairs of local clients write at --rate, alone and while --messages strangers of the remote
// server's domain write to one user, each once.
func runStrangers(s *settings, r *report) error {
	users := userRange(s.prefix, s.first, s.users/2*2)
	if err := s.chatBeside(users, "quiet_", r); err != nil {
		return err
	}
	var refused, heard atomic.Int64
	p, err := newRemoteServer(s, func(_ *conn, st []byte) bool {
		if is(st, "message") && string(attr(st, "type")) == "error" {
			refused.Add(1)
		}
		return true
	})
	if err != nil {
		return err
	}
	defer p.close()
	victim, err := login(&s.options, s.user, "x")
	if err != nil {
		return err
	}
	defer victim.close()
	if err := goOnline(&s.options)(victim); err != nil {
		return err
	}
	go func() {
		for {
			st, err := victim.read()
			if err != nil {
				return
			}
			victim.account(st)
			if is(st, "message") && bytes.Contains(st, []byte("a stranger")) {
				heard.Add(1)
			}
		}
	}()
	out, err := p.open(s.partnerDomain)
	if err != nil {
		return err
	}
	out.drain()
	run := strconv.FormatInt(time.Now().Unix(), 36)
	sent := make(chan error, 1)
	began := time.Now()
	over := s.warmup + s.duration
	go func() {
		for i := 0; i < s.messages; i++ {
			time.Sleep(time.Duration(float64(over)*float64(i)/float64(s.messages)) - time.Since(began))
			text := "<message type='chat' id='m' from='s" + run + "-" + strconv.Itoa(i) + "@" + s.partnerDomain + "/x' to='" + s.user + "@" +
				s.domain + "'><body>a stranger</body></message>"
			if err := out.writeString(text); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	if err := s.chatBeside(users, "beside_", r); err != nil {
		return err
	}
	if err := <-sent; err != nil {
		return err
	}
	until(func() int64 { return heard.Load() + refused.Load() }, int64(s.messages))
	r.put("strangers", s.messages, "")
	r.put("strangers_heard", heard.Load(), "")
	r.put("strangers_refused", refused.Load(), "")
	r.put("p99_added_ms", r.value("beside_p99_ms")-r.value("quiet_p99_ms"), "ms")
	if lost := int64(s.messages) - heard.Load() - refused.Load(); lost != 0 {
		return fmt.Errorf("%d strangers were neither heard nor refused", lost)
	}
	return nil
}

func (r *report) value(key string) float64 {
	for _, x := range r.rows {
		if v, ok := x.val.(float64); ok && x.key == key {
			return v
		}
	}
	return 0
}
