package main

import (
	"fmt"
	"sync/atomic"
	"time"
)

// runFill puts a past into the server's archive, through XMPP like everybody
// else: groups of --group contacts log in one after the other, and each member
// sends --messages messages to each of the next --partners members of its
// group (a ring). groups x group x partners dialogs arise, whose messages are
// spread over time and over the store as in life. Both ends are online, so
// nothing is left in the servers' offline stores.
func runFill(s *settings, r *report) error {
	if s.group < 2 || s.partners < 1 || s.partners >= s.group {
		return fmt.Errorf("fill needs --group of at least 2 and --partners below it")
	}
	begin := time.Now()
	a := readUsage(s.pids)
	dialogs, sent := 0, int64(0)
	for g := 0; g < s.groups; g++ {
		n, err := fillGroup(s, s.first+g*s.group)
		dialogs += s.group * s.partners
		sent += n
		if err != nil {
			return fmt.Errorf("group %d: %w", g, err)
		}
	}
	b := readUsage(s.pids)
	r.put("dialogs", dialogs, "")
	r.put("messages", sent, "")
	r.put("seconds", time.Since(begin).Seconds(), "s")
	r.put("messages_per_s", float64(sent)/time.Since(begin).Seconds(), "/s")
	r.cpu(s.pids, a, b, float64(sent), "messages")
	return nil
}

// fillGroup has one group talk and returns the number of messages delivered.
func fillGroup(s *settings, first int) (int64, error) {
	users := userRange(s.prefix, first, s.group)
	conns, err := loginAll(&s.options, users, "fill", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return 0, err
	}
	t := newTraffic(s)
	incoming := make([][]*stream, len(conns))
	for i, c := range conns {
		for d := 1; d <= s.partners; d++ {
			to := (i + d) % len(conns)
			st := t.addStream(c, 1, "<message type='chat' to='"+users[to]+"@"+s.domain+"'><body>",
				t.padding()+"</body></message>")
			st.limit = uint32(s.messages)
			incoming[to] = append(incoming[to], st)
		}
	}
	for i, c := range conns {
		t.addReceiver(c, incoming[i]...)
	}
	for _, x := range t.rx {
		go t.pump(x)
	}
	for _, st := range t.streams {
		if err := st.send(st.window, t.now()); err != nil {
			return 0, err
		}
	}
	want := int64(len(t.streams)) * int64(s.messages)
	until(func() int64 { return atomic.LoadInt64(&t.received) }, want)
	atomic.StoreInt32(&t.state, 3)
	return want, t.verdict(&report{}, want-atomic.LoadInt64(&t.received))
}
