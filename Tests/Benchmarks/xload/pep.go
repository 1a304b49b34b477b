package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"sort"
	"strings"
	"time"
)

const (
	discoInfo = "http://jabber.org/protocol/disco#info"
	identity  = "<identity category='client' type='pc' name='xload'/>"
	tune      = "http://jabber.org/protocol/tune"
)

func featureElements(features []string) string {
	var b strings.Builder
	for _, f := range features {
		b.WriteString("<feature var='" + f + "'/>")
	}
	return b.String()
}

// capabilities is what presence tells of a client with these features
// (XEP-0115 5.1).
func capabilities(features []string) string {
	sorted := append([]string(nil), features...)
	sort.Strings(sorted)
	sum := sha1.Sum([]byte("client/pc//xload<" + strings.Join(sorted, "<") + "<"))
	return "<c xmlns='http://jabber.org/protocol/caps' hash='sha-1' node='https://example.org/xload' ver='" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'/>"
}

// runPEP has one user publish what --contacts online contacts have said they
// are interested in (XEP-0163 4.3.2): c0.. hear what --user says.
func runPEP(s *settings, r *report) error {
	c, err := login(&s.options, s.user, "x")
	if err != nil {
		return err
	}
	defer closeAll([]*conn{c})
	if err := goOnline(&s.options)(c); err != nil {
		return err
	}
	// Who becomes interested is sent the last item (XEP-0163 4.3.4): so each
	// contact knows that the server has learned of its interest.
	if err := c.writeString("<iq type='set' id='first'>" + publish(opening, "") + "</iq>"); err != nil {
		return err
	}
	st, err := c.await(s.timeout, withID("first"))
	if err != nil {
		return err
	}
	if string(attr(st, "type")) != "result" {
		return fmt.Errorf("not published: %s", st)
	}
	stop := c.drain()
	listening := s.options
	listening.features = []string{"http://jabber.org/protocol/caps", discoInfo, tune, tune + "+notify"}
	listen := func(users []string) ([]*conn, error) {
		return loginAll(&listening, users, "x", s.parallel, nil, func(w *conn) error {
			if err := w.writeString("<presence>" + capabilities(listening.features) + "</presence>"); err != nil {
				return err
			}
			_, err := w.await(s.timeout, func(st []byte) bool {
				return is(st, "message") && bytes.Contains(st, []byte(opening))
			})
			return err
		})
	}
	// One more teaches the server what the others' capabilities are.
	taught, err := listen(userRange("c", s.contacts, 1))
	closeAll(taught)
	if err != nil {
		return err
	}
	watchers, err := listen(userRange("c", 0, s.contacts))
	defer closeAll(watchers)
	if err == nil {
		// Whatever else a server sends to who has just become interested is over then.
		err = eachConn(watchers, func(_ int, w *conn) error { return w.ping(&s.options, "") })
		time.Sleep(time.Second)
	}
	stop()
	if err != nil {
		return err
	}
	t := newTraffic(s)
	parts := strings.SplitN(publish("\x00", t.padding()), "\x00", 2)
	stream := t.addStream(c, s.contacts, "<iq type='set' id='", "'>"+parts[0], parts[1]+"</iq>")
	for _, w := range watchers {
		t.addReceiver(w, stream)
	}
	t.addReceiver(c) // drained only
	r.put("contacts", s.contacts, "")
	return t.run(r, "deliveries")
}

const opening = "An opening"

func publish(title, artist string) string {
	return "<pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='" + tune + "'><item id='current'><tune xmlns='" +
		tune + "'><title>" + title + "</title><artist>" + artist + "</artist></tune></item></publish></pubsub>"
}
