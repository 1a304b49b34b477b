package main

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// The federated modes: clients of the server under test, and users of another domain, who are clients of another server
// (--partner) or users of xload's own server (--listen).

const priming = "xload: first"

// unique is an id that no earlier message had: a server may take a second message of an id for a repetition.
func unique() string { return strconv.FormatInt(time.Now().UnixNano(), 36) }

// elsewhere is a user of the other domain.
func (s *settings) elsewhere(i int) string { return "v" + strconv.Itoa(i) + "@" + s.partnerDomain }

// partnered are the options of the clients at the partner.
func (s *settings) partnered() *options {
	o := s.options
	o.addr, o.domain = s.partner, s.partnerDomain
	return &o
}

// runAcross has messages cross in one direction: out of the server under test, or into it.
func runAcross(s *settings, r *report) error {
	users := userRange(s.prefix, s.first, s.users)
	conns, err := loginAll(&s.options, users, "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	t := newTraffic(s)
	t.s.ids = true
	if s.partner == "" {
		p, err := t.beside(conns)
		if p != nil {
			defer p.close()
		}
		if err != nil {
			return err
		}
	} else {
		others, err := loginAll(s.partnered(), users, "x", s.parallel, nil, goOnline(s.partnered()))
		defer closeAll(others)
		if err != nil {
			return err
		}
		from, to, domain := conns, others, s.partnerDomain
		if s.into {
			from, to, domain = others, conns, s.domain
		}
		for i := range from {
			// Both directions: nobody here is a stranger to whom they have written.
			if err := meet(s, conns[i], others[i]); err != nil {
				return err
			}
			t.addReceiver(to[i], t.addChat(from[i], users[i]+"@"+domain))
			t.addReceiver(from[i])
		}
	}
	r.put("users", len(conns), "")
	return t.run(r, "messages")
}

// beside sets the traffic up between clients and xload's own server.
func (t *traffic) beside(conns []*conn) (*remoteServer, error) {
	s := t.s
	var primed atomic.Int64
	ready := make(chan *conn, len(conns))
	p, err := newRemoteServer(s, func(c *conn, st []byte) bool {
		if is(st, "message") && bytes.Contains(st, []byte(priming)) && primed.Add(1) == int64(len(conns)) {
			ready <- c
			return false
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for i, c := range conns {
		if err := c.writeString("<message type='chat' id='" + unique() + "' to='" + s.elsewhere(i) + "'><body>" + priming + "</body></message>"); err != nil {
			return p, err
		}
	}
	var in *conn
	select {
	case in = <-ready:
	case <-time.After(s.timeout):
		return p, fmt.Errorf("%d of %d first messages arrived%s", primed.Load(), len(conns), p.failure())
	}
	if n := p.streams.Load(); n != 1 {
		return p, fmt.Errorf("the server opened %d streams", n)
	}
	var streams []*stream
	if !s.into {
		for i, c := range conns {
			streams = append(streams, t.addChat(c, s.elsewhere(i)))
			t.addReceiver(c)
		}
		t.addReceiver(in, streams...)
		return p, nil
	}
	out, err := p.open(s.partnerDomain)
	if err != nil {
		return p, err
	}
	for i, c := range conns {
		head := "<message type='chat' from='" + s.elsewhere(i) + "/x' to='" + c.user + "@" + s.domain + "' id='"
		t.addReceiver(c, t.addStream(out, 1, head, "'><body>", t.padding()+"</body></message>"))
	}
	t.addReceiver(out)
	t.addReceiver(in) // receipts of streams, presence and the like
	return p, nil
}

// meet has two clients of different servers write to each other once.
func meet(s *settings, one, other *conn) error {
	for i := 0; i < 2; i++ {
		domain := s.partnerDomain
		if i == 1 {
			domain = s.domain
		}
		id := unique()
		text := priming + " " + id
		if err := one.writeString("<message type='chat' id='" + id + "' to='" + other.user + "@" + domain + "'><body>" + text +
			"</body></message>"); err != nil {
			return err
		}
		if _, err := other.await(s.timeout, func(st []byte) bool {
			return is(st, "message") && bytes.Contains(st, []byte(text)) && string(attr(st, "type")) != "error"
		}); err != nil {
			return fmt.Errorf("first message from %s to %s@%s: %w", one.jid, other.user, domain, err)
		}
		one, other = other, one
	}
	return nil
}

// runOrder sends --messages messages at once from a client of one server to one of the other, and waits for the last.
func runOrder(s *settings, r *report) error {
	here, err := login(&s.options, s.prefix+"0", "x")
	if err != nil {
		return err
	}
	defer here.close()
	there, err := login(s.partnered(), s.prefix+"0", "x")
	if err != nil {
		return err
	}
	defer there.close()
	if err := goOnline(&s.options)(here); err != nil {
		return err
	}
	if err := goOnline(s.partnered())(there); err != nil {
		return err
	}
	if err := meet(s, here, there); err != nil {
		return err
	}
	from, to, domain := here, there, s.partnerDomain
	if s.into {
		from, to, domain = there, here, s.domain
	}
	t := newTraffic(s)
	t.s.ids = true
	st := t.addChat(from, to.user+"@"+domain)
	stop := from.drain()
	defer stop()
	a := readUsage(s.pids)
	began := time.Now()
	if err := st.send(s.messages, t.now()); err != nil {
		return err
	}
	for next := uint32(0); next < uint32(s.messages); next++ {
		b, err := to.await(s.timeout, func(b []byte) bool { _, _, _, ok := stamped(b); return ok })
		if err != nil {
			return fmt.Errorf("message %d: %w", next, err)
		}
		if _, seq, _, _ := stamped(b); seq != next || string(attr(b, "type")) == "error" {
			return fmt.Errorf("message %d expected, got %s", next, b)
		}
	}
	took := time.Since(began)
	b := readUsage(s.pids)
	r.put("messages", s.messages, "")
	r.put("all_ms", float64(took)/1e6, "ms")
	r.cpu(s.pids, a, b, float64(s.messages), "messages")
	return nil
}
