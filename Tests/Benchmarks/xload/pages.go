package main

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// fillOne gives --user a past with c0.. to --contacts: --messages messages in
// all, through XMPP like any others, the dialogs interleaved. A later run finds
// them there. It returns the session of --user.
func fillOne(s *settings) (c *conn, err error) {
	if c, err = login(&s.options, s.user, "x"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err = goOnline(&s.options)(c); err != nil {
		return
	}
	each := s.messages / s.contacts
	peers := userRange(s.peers, 0, s.contacts)
	have := 0
	if _, _, err = c.page(s, "last", window{with: peers[len(peers)-1] + "@" + s.domain, last: true, max: 1}, func(st []byte) {
		if _, seq, _, ok := stamped(st); ok {
			have = int(seq) + 1
		}
	}); err != nil || have == each {
		return
	}
	if have != 0 {
		return c, fmt.Errorf("%s has %d messages of %d with %s already: not what this run wants", s.user, have, each, peers[len(peers)-1])
	}
	conns, err := loginAll(&s.options, peers, "fill", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return
	}
	// The next message follows when one has arrived, also where others are sent at a rate.
	past := *s
	past.rate = 0
	t := newTraffic(&past)
	for i, from := range conns {
		st := t.addStream(from, 1, "<message type='chat' to='"+s.user+"@"+s.domain+"'><body>", t.padding()+"</body></message>")
		st.limit = uint32(each)
		st.window = 2
		defer conns[i].drain()()
	}
	t.addReceiver(c, t.streams...)
	done := make(chan struct{})
	go func() { defer close(done); t.pump(t.rx[0]) }()
	for _, st := range t.streams {
		if err = st.send(st.window, t.now()); err != nil {
			return
		}
	}
	want := int64(each * len(peers))
	until(func() int64 { return atomic.LoadInt64(&t.received) }, want)
	atomic.StoreInt32(&t.state, 3)
	c.nc.SetReadDeadline(time.Now())
	<-done
	c.nc.SetReadDeadline(time.Time{})
	return c, t.verdict(&report{}, want-atomic.LoadInt64(&t.received))
}

// place is where a page is asked for, and how often, how long and at what cost
// of the server it was answered.
type place struct {
	name  string
	query func(n int) window
	lat   hist
	pages int
	wall  float64
	cpu   float64
}

// runArchive reads pages of one account with many dialogs: the first, a middle
// and the last of the whole archive, and the same of single dialogs, another one
// each time. One request is on its way at a time; the places take turns.
func runArchive(s *settings, r *report) error {
	begin := time.Now()
	c, err := fillOne(s)
	if err != nil {
		return err
	}
	defer c.close()
	filled := time.Since(begin)
	dialogs, each := s.contacts, s.messages/s.contacts
	peer := func(n int) string { return s.peers + strconv.Itoa(n%dialogs) + "@" + s.domain }

	// The middles: of each dialog the message that was sent half-way through.
	middles := make([]string, dialogs)
	{
		times := [2]time.Time{}
		for i, w := range []window{{max: 1}, {max: 1, last: true}} {
			var stamp string
			if _, _, err := c.page(s, "ends", w, func(st []byte) { stamp = string(timeOf(st)) }); err != nil {
				return err
			}
			if times[i], err = time.Parse(time.RFC3339, stamp); err != nil {
				return err
			}
		}
		half := times[0].Add(times[1].Sub(times[0]) / 2).UTC().Format("2006-01-02T15:04:05.000Z")
		for i := range middles {
			if _, _, err := c.page(s, "middle", window{with: peer(i), start: half, max: 1}, func(st []byte) {
				middles[i] = string(idOf(st))
			}); err != nil {
				return err
			}
			if middles[i] == "" {
				return fmt.Errorf("%s: nothing in the second half with %s", s.user, peer(i))
			}
		}
	}
	places := []*place{
		{name: "dialog_first", query: func(n int) window { return window{with: peer(n)} }},
		{name: "dialog_middle", query: func(n int) window { return window{with: peer(n), after: middles[n%dialogs]} }},
		{name: "dialog_last", query: func(n int) window { return window{with: peer(n), last: true} }},
		{name: "first", query: func(n int) window { return window{} }},
		{name: "middle", query: func(n int) window { return window{after: middles[n%dialogs]} }},
		{name: "last", query: func(n int) window { return window{last: true} }},
	}
	const turns = 5
	slice := s.duration / time.Duration(turns*len(places))
	wrong := 0
	a := readUsage(s.pids)
	for turn := 0; turn < turns; turn++ {
		for _, p := range places {
			from := readUsage(s.pids)
			for end := from.at.Add(slice); ; {
				w := p.query(p.pages * 7)
				w.max = s.page
				before := time.Now()
				if !before.Before(end) {
					break
				}
				results, next := 0, map[int]uint32{}
				_, _, err := c.page(s, "p"+strconv.Itoa(p.pages), w, func(st []byte) {
					results++
					// Whatever the page, each dialog's messages are in it without a gap.
					id, seq, _, ok := stamped(st)
					want, seen := next[id]
					if !ok || seen && seq != want || w.with != "" && id != (p.pages*7)%dialogs {
						wrong++
					}
					if p.name == "first" && !seen && seq != 0 || p.name == "dialog_last" && results == s.page && int(seq) != each-1 {
						wrong++
					}
					next[id] = seq + 1
				})
				if err != nil {
					return err
				}
				p.lat.add(int64(time.Since(before)))
				p.pages++
				full := s.page
				if w.with != "" && full > each && p.name != "dialog_middle" {
					full = each
				}
				if results != full && (p.name != "dialog_middle" || results == 0) {
					wrong++
				}
			}
			to := readUsage(s.pids)
			p.cpu += to.server - from.server
			p.wall += to.at.Sub(from.at).Seconds()
		}
	}
	b := readUsage(s.pids)

	r.put("dialogs", dialogs, "")
	r.put("messages", s.messages, "")
	r.put("page", s.page, "")
	r.put("fill_s", filled.Seconds(), "s")
	var pages int
	dialog, whole := 0.0, 0.0 // server CPU time of a page: of one dialog the mean, of all the dearest place's
	for i, p := range places {
		pages += p.pages
		r.put(p.name+"_pages_per_s", float64(p.pages)/p.wall, "/s")
		r.latency(p.name+"_", &p.lat)
		if len(s.pids) == 0 || p.cpu == 0 {
			continue
		}
		r.put(p.name+"_pages_per_cpu_s", float64(p.pages)/p.cpu, "pages/CPU-s")
		cost := p.cpu / float64(p.pages)
		if i < 3 {
			dialog += cost / 3
		} else if cost > whole {
			whole = cost
		}
	}
	if dialog > 0 {
		r.put("whole_to_dialog", whole/dialog, "")
	}
	r.cpu(s.pids, a, b, float64(pages), "pages")
	r.put("wrong_results", wrong, "")
	if wrong > 0 {
		return fmt.Errorf("archive not right: %d wrong results", wrong)
	}
	return nil
}

// runInbox fetches the conversations of one account in one answer, over and over.
func runInbox(s *settings, r *report) error {
	c, err := fillOne(s)
	if err != nil {
		return err
	}
	defer c.close()
	wrong, size := 0, 0
	err = repeat(s, r, "inboxes", func(id string) error {
		if err := c.writeString("<iq type='get' id='" + id + "'><inbox xmlns='urn:xmpp:inbox:1'/></iq>"); err != nil {
			return err
		}
		entries := 0
		size = 0
		st, err := c.await(s.timeout, func(st []byte) bool {
			if is(st, "message") && bytes.Contains(st, []byte("urn:xmpp:inbox:1")) {
				entries++
				size += len(st)
				if _, seq, _, ok := stamped(st); !ok || int(seq) != s.messages/s.contacts-1 {
					wrong++
				}
			}
			return is(st, "iq") && string(attr(st, "id")) == id
		})
		if err == nil && (entries != s.contacts || string(attr(st, "type")) != "result") {
			wrong++
		}
		return err
	})
	if err != nil {
		return err
	}
	r.put("dialogs", s.contacts, "")
	r.put("messages", s.messages, "")
	r.put("answer_bytes", size, "")
	r.put("wrong_results", wrong, "")
	if wrong > 0 {
		return fmt.Errorf("inbox not right: %d wrong results", wrong)
	}
	return nil
}
