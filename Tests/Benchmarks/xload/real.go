package main

import (
	"bytes"
	"strconv"
	"sync/atomic"
	"time"
)

// chat-real is chat as today's clients speak it: over TLS, with stream
// management and carbons on. Every message has an id, an origin-id (XEP-0359),
// asks for a receipt (XEP-0184) and may be marked (XEP-0333); its receiver
// answers with a receipt and a displayed marker, so a message costs the server
// three stanzas. Latency and throughput count the messages alone. All the rest
// is checked: each message must come back as exactly one receipt and one
// marker, unaltered, in order, and every stanza must be acknowledged.

// real is what a traffic run of chat-real knows beyond the streams.
type real struct {
	run   string // begins every message id of this run
	peers []peer // by stream

	receipts, markers, carbons int64 // seen
	carbonCopies               int64 // carbons each message makes

	receiptsLost, markersLost, carbonsLost, acksMissing int64
}

type peer struct {
	from, to []byte // bare JIDs
	body     []byte // what follows the stamp, up to the end of the body
}

// polite is one session's answers under way and what it waits for.
type polite struct {
	receipts, markers map[int]*expect // of the streams it sends
	carbons           map[int]*expect // of the streams its account sends or receives; nil on the first device
	answers           []byte
	count             int
}

// runChatReal pairs accounts and has both sides of each pair talk.
func runChatReal(s *settings, r *report) error {
	s.tls, s.sm, s.carbons = true, true, true
	users := pairs(s)
	conns, err := loginAll(&s.options, users, "phone", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	// Further devices stand at a negative priority: they get copies only.
	var extra [][]*conn
	for d := 1; d < s.devices; d++ {
		more, err := loginAll(&s.options, users, "device"+strconv.Itoa(d), s.parallel, nil, goOnlineAt(&s.options, -1))
		defer closeAll(more)
		if err != nil {
			return err
		}
		extra = append(extra, more)
	}

	t := newTraffic(s)
	t.real = &real{
		run:          strconv.FormatInt(time.Now().UnixNano()/1e6, 36),
		carbonCopies: int64(2 * len(extra)),
	}
	into := make([]*stream, len(conns))
	for i, c := range conns {
		from, to := users[i]+"@"+s.domain, users[i^1]+"@"+s.domain
		st := t.addStream(c, 1,
			"<message type='chat' to='"+to+"' id='"+t.real.run,
			"'><body>", t.padding()+"</body>"+
				"<origin-id xmlns='urn:xmpp:sid:0' id='"+t.real.run,
			"'/><request xmlns='urn:xmpp:receipts'/><markable xmlns='urn:xmpp:chat-markers:0'/></message>")
		st.request = true
		t.real.peers = append(t.real.peers, peer{[]byte(from), []byte(to), []byte(t.padding() + "</body>")})
		into[i^1] = st
	}
	for i, c := range conns {
		own := into[i^1].id
		t.addReceiver(c, into[i])
		t.rx[len(t.rx)-1].polite = &polite{
			receipts: map[int]*expect{own: {}},
			markers:  map[int]*expect{own: {}},
		}
		for _, devices := range extra {
			t.addReceiver(devices[i])
			t.rx[len(t.rx)-1].polite = &polite{carbons: map[int]*expect{own: {}, into[i].id: {}}}
		}
	}
	r.put("pairs", len(conns)/2, "")
	r.put("devices", s.devices, "")
	return t.run(r, "messages")
}

// pairs names --users accounts, partners side by side. With --group the
// partners are of one group of contacts.
func pairs(s *settings) []string {
	n := s.users / 2 * 2
	if s.group == 0 {
		return userRange(s.prefix, s.first, n)
	}
	var users []string
	for i := s.first; len(users) < n; i++ {
		// A group of odd size leaves its last member without a partner.
		if i%s.group < s.group/2*2 {
			users = append(users, s.prefix+strconv.Itoa(i))
		}
	}
	return users
}

// read takes one stamped stanza. It is true for a message that is to be
// counted and timed as in every traffic mode.
func (w *real) read(t *traffic, r *receiver, b []byte, id int, seq uint32, at int64) bool {
	wrong := func() bool {
		atomic.AddInt64(&t.wrong, 1)
		t.note.Store("unexpected " + string(b))
		return false
	}
	if id >= len(w.peers) || r.polite == nil {
		return wrong()
	}
	var stamp [stampLen]byte
	putStamp(&stamp, id, seq, at)
	from := attr(b, "from")
	answer := func(waiting map[int]*expect, seen *int64) bool {
		e := waiting[id]
		if e == nil || !within(from, w.peers[id].to) || !hasID(b, w.run, &stamp) {
			return wrong()
		}
		if t.see(e, seq) {
			atomic.AddInt64(seen, 1)
		}
		return false
	}
	switch {
	case bytes.Contains(b, []byte("urn:xmpp:carbons:2")):
		if r.polite.carbons == nil {
			return wrong()
		}
		if !bytes.Contains(b, []byte("<body>")) {
			return false // copies of receipts and markers: up to the server
		}
		e := r.polite.carbons[id]
		if e == nil {
			return wrong()
		}
		if t.see(e, seq) {
			atomic.AddInt64(&w.carbons, 1)
		}
		return false
	case bytes.Contains(b, []byte("<received")):
		return answer(r.polite.receipts, &w.receipts)
	case bytes.Contains(b, []byte("<displayed")):
		return answer(r.polite.markers, &w.markers)
	}
	if r.want[id] == nil || !within(from, w.peers[id].from) || !w.intact(b, id, &stamp) {
		return wrong()
	}
	r.polite.answer(b, from)
	return true
}

// within tells whether a full JID belongs to a bare one.
func within(full, bare []byte) bool {
	return bytes.HasPrefix(full, bare) && len(full) > len(bare) && full[len(bare)] == '/'
}

func hasID(b []byte, run string, stamp *[stampLen]byte) bool {
	i := bytes.Index(b, stamp[:])
	return i >= len(run) && string(b[i-len(run):i]) == run
}

// intact tells whether a message carries everything that was sent in it.
func (w *real) intact(b []byte, id int, stamp *[stampLen]byte) bool {
	name := attr(b, "id")
	if len(name) != len(w.run)+stampLen || string(name[:len(w.run)]) != w.run || string(name[len(w.run):]) != string(stamp[:]) {
		return false
	}
	body := bytes.Index(b, []byte("<body>"))
	if body < 0 {
		return false
	}
	text := b[body+len("<body>"):]
	return bytes.HasPrefix(text, stamp[:]) && bytes.HasPrefix(text[stampLen:], w.peers[id].body) &&
		bytes.Contains(b, []byte("<origin-id ")) && bytes.Contains(b, []byte("<request ")) &&
		bytes.Contains(b, []byte("<markable "))
}

// answer queues the receipt and the marker for one message.
func (p *polite) answer(b, from []byte) {
	id := attr(b, "id")
	for _, x := range [2][2]string{
		{"r-", "<received xmlns='urn:xmpp:receipts' id='"},
		{"d-", "<displayed xmlns='urn:xmpp:chat-markers:0' id='"},
	} {
		p.answers = append(p.answers, "<message type='chat' to='"...)
		p.answers = append(p.answers, from...)
		p.answers = append(p.answers, "' id='"...)
		p.answers = append(p.answers, x[0]...)
		p.answers = append(p.answers, id...)
		p.answers = append(p.answers, "'>"...)
		p.answers = append(p.answers, x[1]...)
		p.answers = append(p.answers, id...)
		p.answers = append(p.answers, "'/></message>"...)
		p.count++
	}
}

// flush writes the answers to what one read brought.
func (p *polite) flush(c *conn) error {
	if p.count == 0 {
		return nil
	}
	err := c.write(p.answers, p.count)
	p.answers, p.count = p.answers[:0], 0
	return err
}

// settle waits for the answers and acknowledgements still under way.
func (w *real) settle(t *traffic) {
	var sent int64
	for _, st := range t.streams {
		sent += int64(st.sent)
	}
	missing := func(seen *int64, each int64) int64 {
		until(func() int64 { return atomic.LoadInt64(seen) }, sent*each)
		return sent*each - atomic.LoadInt64(seen)
	}
	w.receiptsLost = missing(&w.receipts, 1)
	w.markersLost = missing(&w.markers, 1)
	w.carbonsLost = missing(&w.carbons, w.carbonCopies)
	for _, r := range t.rx {
		if err := r.c.writeString(ackRequest); err != nil {
			t.sessionEnded(err)
		}
	}
	for _, r := range t.rx {
		c := r.c
		until(func() int64 { return int64(c.acked.Load()) }, int64(c.sent.Load()))
		w.acksMissing += int64(c.sent.Load() - c.acked.Load())
	}
}
