package main

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// runChat pairs accounts 2i and 2i+1; both send to each other.
func runChat(s *settings, r *report) error {
	users := userRange(s.prefix, s.first, s.users/2*2)
	conns, err := loginAll(&s.options, users, "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	t := newTraffic(s)
	into := make([]*stream, len(conns))
	for i, c := range conns {
		to := users[i^1] + "@" + s.domain
		if s.fullJID {
			to = conns[i^1].jid
		}
		into[i^1] = t.addChat(c, to)
	}
	for i, c := range conns {
		t.addReceiver(c, into[i])
	}
	r.put("pairs", len(conns)/2, "")
	return t.run(r, "messages")
}

// addChat registers a session that sends chat messages to one address. With --ids the stamp is the stanza's id, too.
func (t *traffic) addChat(c *conn, to string) *stream {
	head, body := "<message type='chat' to='"+to+"'", t.padding()+"</body></message>"
	if t.s.ids {
		return t.addStream(c, 1, head+" id='", "'><body>", body)
	}
	return t.addStream(c, 1, head+"><body>", body)
}

// runMUC fills rooms with distinct occupants and lets some of them talk.
func runMUC(s *settings, r *report) error {
	users := userRange(s.prefix, s.first, s.rooms*s.members)
	conns, err := loginAll(&s.options, users, "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	t := newTraffic(s)
	run := strconv.FormatInt(time.Now().UnixNano()/1e6, 36)
	var joining sync.WaitGroup
	errs := make(chan error, len(conns))
	joinStart := time.Now()
	for k := 0; k < s.rooms; k++ {
		room := fmt.Sprintf("room-%s-%d@%s", run, k, s.muc)
		occupants := conns[k*s.members : (k+1)*s.members]
		if err := join(s, occupants[0], room, true); err != nil {
			return err
		}
		for _, c := range occupants[1:] {
			joining.Add(1)
			go func(c *conn) {
				defer joining.Done()
				if err := join(s, c, room, false); err != nil {
					errs <- err
				}
			}(c)
		}
		joining.Wait()
		// Everyone reads until the last arrival is seen, so that no join
		// traffic is left when the measurement starts.
		var streams []*stream
		for _, c := range occupants[:s.senders] {
			streams = append(streams, t.addStream(c, s.members,
				"<message type='groupchat' to='"+room+"'><body>", t.padding()+"</body></message>"))
		}
		for _, c := range occupants {
			t.addReceiver(c, streams...)
		}
	}
	select {
	case err := <-errs:
		return err
	default:
	}
	r.put("rooms", s.rooms, "")
	r.put("members", s.members, "")
	r.put("senders", s.senders, "")
	r.put("joins_per_s", float64(len(conns))/time.Since(joinStart).Seconds(), "/s")
	return t.run(r, "deliveries")
}

func join(s *settings, c *conn, room string, create bool) error {
	err := c.writeString("<presence to='" + room + "/" + c.user +
		"'><x xmlns='http://jabber.org/protocol/muc'><history maxstanzas='0'/></x></presence>")
	if err != nil {
		return err
	}
	me := room + "/" + c.user
	st, err := c.await(s.timeout, func(st []byte) bool {
		return is(st, "presence") && string(attr(st, "from")) == me
	})
	if err != nil {
		return fmt.Errorf("join %s: %w", room, err)
	}
	if string(attr(st, "type")) == "error" {
		return fmt.Errorf("join %s: %s", room, st)
	}
	if create && bytes.Contains(st, []byte("201")) {
		err = c.writeString("<iq type='set' id='own' to='" + room +
			"'><query xmlns='http://jabber.org/protocol/muc#owner'><x xmlns='jabber:x:data' type='submit'/></query></iq>")
		if err == nil {
			_, err = c.await(s.timeout, withID("own"))
		}
	}
	return err
}

// runPresence has senders b0.. change their presence; contacts c0.. watch.
func runPresence(s *settings, r *report) error {
	watchers, err := loginAll(&s.options, userRange("c", 0, s.contacts), "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(watchers)
	if err != nil {
		return err
	}
	senders, err := loginAll(&s.options, userRange("b", 0, s.senders), "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(senders)
	if err != nil {
		return err
	}
	t := newTraffic(s)
	var streams []*stream
	for _, c := range senders {
		streams = append(streams, t.addStream(c, s.contacts,
			"<presence><show>away</show><status>", t.padding()+"</status></presence>"))
	}
	for _, c := range watchers {
		t.addReceiver(c, streams...)
	}
	for _, c := range senders {
		t.addReceiver(c) // drained only
	}
	r.put("senders", s.senders, "")
	r.put("contacts", s.contacts, "")
	return t.run(r, "updates")
}

func countOf(b []byte, s string) int { return bytes.Count(b, []byte(s)) }
