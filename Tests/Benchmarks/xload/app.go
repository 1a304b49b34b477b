package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// addSends registers a session that sends messages to one dialog over its
// socket. The stamp is the message's clientId, and its text.
func (t *traffic) addSends(c *conn, dialog string) *stream {
	parts := []string{
		`{"id":"`, `","type":"message.send","data":{"dialogId":"` + dialog + `","clientId":"`,
		`","content":{"type":"text","text":"`, t.padding() + `"}}}`,
	}
	length := stampLen * (len(parts) - 1)
	for _, p := range parts {
		length += len(p)
	}
	parts[0] = string(frameHead(length)) + parts[0]
	return t.addStream(c, 1, parts...)
}

// runAppChat pairs accounts 2i and 2i+1; both send to each other, over WebSockets. With --mixed the odd ones
// are XMPP clients.
func runAppChat(s *settings, r *report) error {
	if s.http == "" {
		return errNoHTTP
	}
	t, end, err := pairUp(s)
	defer end()
	if err != nil {
		return err
	}
	r.put("pairs", len(t.rx)/2, "")
	return t.run(r, "messages")
}

// pairUp logs these accounts in; end ends their sessions, also where it fails.
func pairUp(s *settings) (t *traffic, end func(), err error) {
	s.devices = 1
	users := userRange(s.prefix, s.first, s.users/2*2)
	conns := make([]*conn, len(users))
	var appUsers, xmppUsers []string
	for i, u := range users {
		if s.mixed && i%2 == 1 {
			xmppUsers = append(xmppUsers, u)
		} else {
			appUsers = append(appUsers, u)
		}
	}
	var sessions []appSession
	var xmpp []*conn
	end = func() {
		closeSessions(sessions)
		closeAll(xmpp)
	}
	if sessions, err = signInAll(s, appUsers, nil); err != nil {
		return nil, end, err
	}
	if xmpp, err = loginAll(&s.options, xmppUsers, "x", s.parallel, nil, goOnline(&s.options)); err != nil {
		return nil, end, err
	}
	dialogs := make([]string, len(users))
	for i, u := range users {
		if s.mixed && i%2 == 1 {
			conns[i] = xmpp[i/2]
			continue
		}
		at := i
		if s.mixed {
			at = i / 2
		}
		session := sessions[at]
		if conns[i] = session.conn; conns[i].user != u {
			return nil, end, fmt.Errorf("%s sits where %s should", conns[i].user, u)
		}
		if dialogs[i], err = session.api.dialog(users[i^1]); err != nil {
			return nil, end, err
		}
	}
	t = newTraffic(s)
	into := make([]*stream, len(conns))
	for i, c := range conns {
		if c.socket {
			into[i^1] = t.addSends(c, dialogs[i])
		} else {
			into[i^1] = t.addChat(c, users[i^1]+"@"+s.domain)
		}
	}
	for i, c := range conns {
		t.addReceiver(c, into[i])
	}
	return t, end, nil
}

// runAppIdle holds WebSocket sessions open and reads the server's memory before and after.
func runAppIdle(s *settings, r *report) error {
	if s.http == "" {
		return errNoHTTP
	}
	before := treeRSS(s.pids)
	// Nothing more is asked over HTTP: its connections would be counted, and be as many again.
	sessions, err := signInAll(s, userRange(s.prefix, s.first, s.users), func(session appSession) {
		session.conn.drain()
		session.api.close()
	})
	defer closeSessions(sessions)
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	a := readUsage(s.pids)
	time.Sleep(s.duration)
	b := readUsage(s.pids)
	after := treeRSS(s.pids)
	r.put("sessions", len(sessions), "")
	r.put("rss_before_mib", float64(before)/(1<<20), "MiB")
	r.put("rss_after_mib", float64(after)/(1<<20), "MiB")
	r.put("kib_per_session", float64(after-before)/1024/float64(len(sessions)), "KiB")
	r.cpu(s.pids, a, b, 0, "")
	return nil
}

// runREST has --users users each say one thing after the other, over HTTP.
func runREST(s *settings, r *report) error {
	if s.http == "" {
		return errNoHTTP
	}
	users := userRange(s.prefix, s.first, s.users)
	apis, dialogs := make([]*api, len(users)), make([]string, len(users))
	for i, u := range users {
		apis[i] = newAPI(s.http)
		defer apis[i].close()
		err := apis[i].signIn(s, u, "x0")
		if err == nil {
			dialogs[i], err = apis[i].dialog(users[(i+1)%len(users)])
		}
		if err != nil {
			return err
		}
	}
	var lat hist
	var state int32
	var measured, wrong int64
	var note atomic.Value
	run := time.Now().UnixNano()
	var group sync.WaitGroup
	for i := range apis {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			text := make([]byte, s.body)
			for k := range text {
				text[k] = 'x'
			}
			for n := 0; atomic.LoadInt32(&state) < 2; n++ {
				body := fmt.Sprintf(`{"clientId":"%x-%d-%d","content":{"type":"text","text":"%s"}}`, run, i, n, text)
				begin, before := time.Now(), atomic.LoadInt32(&state)
				status, answer, err := apis[i].raw("POST", "/dialogs/"+dialogs[i]+"/messages", []byte(body))
				if err != nil || status != 201 {
					atomic.AddInt64(&wrong, 1)
					note.Store(fmt.Sprintf("%d %s %v", status, answer, err))
					return
				}
				if before == 1 && atomic.LoadInt32(&state) == 1 {
					lat.add(int64(time.Since(begin)))
					atomic.AddInt64(&measured, 1)
				}
			}
		}(i)
	}
	time.Sleep(s.warmup)
	a := readUsage(s.pids)
	atomic.StoreInt32(&state, 1)
	time.Sleep(s.duration)
	atomic.StoreInt32(&state, 2)
	b := readUsage(s.pids)
	group.Wait()
	n := float64(atomic.LoadInt64(&measured))
	r.put("users", len(users), "")
	r.put("messages_per_s", n/b.at.Sub(a.at).Seconds(), "/s")
	r.latency("", &lat)
	r.cpu(s.pids, a, b, n, "messages")
	r.put("wrong_results", atomic.LoadInt64(&wrong), "")
	if text, ok := note.Load().(string); ok {
		return fmt.Errorf("a message was not taken: %s", text)
	}
	return nil
}

// runDialogs fetches the first page of --user's dialogs, whose archive is filled as by archive, over and over.
func runDialogs(s *settings, r *report) error {
	if s.http == "" {
		return errNoHTTP
	}
	c, err := fillOne(s)
	if err != nil {
		return err
	}
	c.close()
	a := newAPI(s.http)
	defer a.close()
	if err := a.signIn(s, s.user, "x0"); err != nil {
		return err
	}
	type page struct {
		Items []struct {
			LastMessage *struct {
				Seq int `json:"seq"`
			} `json:"lastMessage"`
		} `json:"items"`
		NextCursor string `json:"nextCursor"`
	}
	each, wrong, items := s.messages/s.contacts, 0, s.page
	if items > s.contacts {
		items = s.contacts
	}
	err = repeat(s, r, "pages", func(string) error {
		var p page
		if err := a.call("GET", fmt.Sprintf("/dialogs?limit=%d", s.page), nil, &p); err != nil {
			return err
		}
		if len(p.Items) != items || (p.NextCursor == "") != (items == s.contacts) {
			wrong++
		}
		for _, d := range p.Items {
			if d.LastMessage == nil || d.LastMessage.Seq != each {
				wrong++
			}
		}
		return nil
	})
	r.put("dialogs", s.contacts, "")
	r.put("messages", s.messages, "")
	r.put("wrong_results", wrong, "")
	if err == nil && wrong > 0 {
		err = fmt.Errorf("dialogs not right: %d wrong results", wrong)
	}
	return err
}
