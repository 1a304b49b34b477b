package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
)

const mamNS = "urn:xmpp:mam:2"

// window is one archive query: a dialog or all of them, an optional earliest time, and where
// its page begins (after) or ends (before).
type window struct {
	with, start   string
	after, before string
	last          bool // the last page of the archive
	max           int
}

// page fetches one archive page (XEP-0313) and calls each with every message in
// it. It returns the id to continue after and whether this was the end.
func (c *conn) page(s *settings, id string, w window, each func([]byte)) (last string, done bool, err error) {
	q := "<iq type='set' id='" + id + "'><query xmlns='" + mamNS + "' queryid='" + id +
		"'><x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE' type='hidden'><value>" + mamNS +
		"</value></field>"
	if w.with != "" {
		q += "<field var='with'><value>" + w.with + "</value></field>"
	}
	if w.start != "" {
		q += "<field var='start'><value>" + w.start + "</value></field>"
	}
	q += "</x><set xmlns='http://jabber.org/protocol/rsm'><max>" + strconv.Itoa(w.max) + "</max>"
	switch {
	case w.after != "":
		q += "<after>" + w.after + "</after>"
	case w.before != "":
		q += "<before>" + w.before + "</before>"
	case w.last:
		q += "<before/>"
	}
	if err = c.writeString(q + "</set></query></iq>"); err != nil {
		return
	}
	fin, err := c.await(s.timeout, func(st []byte) bool {
		if is(st, "message") && bytes.Contains(st, []byte("queryid=")) {
			each(st)
		}
		return is(st, "iq") && string(attr(st, "id")) == id
	})
	if err != nil {
		return
	}
	if string(attr(fin, "type")) != "result" {
		return "", true, fmt.Errorf("archive query: %s", fin)
	}
	last = string(text(fin, "<last>"))
	done = last == "" || bytes.Contains(fin, []byte("complete='true'")) || bytes.Contains(fin, []byte("complete=\"true\""))
	return last, done, nil
}

// store sends count messages from one session to another, --window at a time,
// and returns when the last one has arrived. Each body is tag(i) and padding;
// mark is in all of them and in nothing else.
func store(s *settings, from, to *conn, user, mark string, first, count int, tag func(int) string) error {
	defer from.drain()()
	pad := string(bytes.Repeat([]byte("x"), s.body))
	sent := 0
	send := func() error {
		m := "<message type='chat' to='" + user + "@" + s.domain + "'><body>" + tag(first+sent) + pad + "</body></message>"
		sent++
		return from.writeString(m)
	}
	for sent < s.window && sent < count {
		if err := send(); err != nil {
			return err
		}
	}
	for got := 0; got < count; got++ {
		_, err := to.await(s.timeout, func(st []byte) bool { return is(st, "message") && bytes.Contains(st, []byte(mark)) })
		if err != nil {
			return fmt.Errorf("after %d of %d messages: %w", got, count, err)
		}
		if sent < count {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachConn runs f for every session at once and returns the first error.
func eachConn(conns []*conn, f func(int, *conn) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(conns))
	for i, c := range conns {
		wg.Add(1)
		go func(i int, c *conn) {
			defer wg.Done()
			errs[i] = f(i, c)
		}(i, c)
	}
	wg.Wait()
	for _, e := range errs {
		if e != nil {
			fmt.Fprintln(os.Stderr, "xload:", e)
			return e
		}
	}
	return nil
}
