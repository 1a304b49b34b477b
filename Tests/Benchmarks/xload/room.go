package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// room is one large room over its life: members are added, occupants join, some
// talk as fast as it goes, then at a steady pace, then at the same pace beside an
// occupant who reads nothing. Every occupant must get every message once, and all
// of them in one order; the slow one too, once it reads again.

// itemsPerRequest is how many members one request adds.
const itemsPerRequest = 250

func runRoom(s *settings, r *report) error {
	if s.rate <= 0 || s.members <= s.present {
		return fmt.Errorf("room needs --rate and more --members than --occupants")
	}
	users := userRange(s.prefix, s.first, s.members)
	room := fmt.Sprintf("hall-%s@%s", strconv.FormatInt(time.Now().UnixNano()/1e6, 36), s.muc)
	r.put("members", s.members, "")
	r.put("occupants", s.present, "")
	r.put("senders", s.senders, "")

	owner, err := loginAll(&s.options, users[:1], "x", 1, nil, goOnline(&s.options))
	defer closeAll(owner)
	if err != nil {
		return err
	}
	if err := found(s, owner[0], room, users, r); err != nil {
		return err
	}

	others, err := loginAll(&s.options, users[1:s.present+1], "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(others)
	if err != nil {
		return err
	}
	slow := others[len(others)-1]
	conns := append(owner, others[:len(others)-1]...)
	before := treeRSS(s.pids)
	if err := joinAll(s, conns, room, r); err != nil {
		return err
	}
	joined := treeRSS(s.pids)
	r.put("rss_before_mib", float64(before)/(1<<20), "MiB")
	r.put("rss_joined_mib", float64(joined)/(1<<20), "MiB")
	r.put("kib_per_occupant", float64(joined-before)/1024/float64(len(conns)), "KiB")

	if err := askAll(s, conns, room, r); err != nil {
		return err
	}

	// As fast as it goes.
	fast := *s
	fast.rate = 0
	p := &report{}
	if _, err := roomPhase(&fast, conns, room, p); err != nil {
		return err
	}
	r.take(p, "", "deliveries_per_s", "deliveries_per_cpu_s", "server_cpu_pct", "xload_cpu_pct", "other_cpu_pct")

	// At a steady pace.
	p = &report{}
	if _, err := roomPhase(s, conns, room, p); err != nil {
		return err
	}
	r.take(p, "", roomLatencies...)

	// At the same pace, beside somebody who reads nothing.
	if _, err := enter(s, slow, room); err != nil {
		return err
	}
	unread, rest, err := choke(s, slow)
	if err != nil {
		return err
	}
	r.put("slow_unread_kib", float64(unread)/1024, "KiB")
	p = &report{}
	t, err := roomPhase(s, conns, room, p)
	if err != nil {
		return err
	}
	r.take(p, "slow_", roomLatencies...)
	r.put("rss_after_mib", float64(treeRSS(s.pids))/(1<<20), "MiB")
	if err := t.catchUp(slow, rest, r); err != nil {
		return err
	}
	return leaveAll(s, conns, room, r)
}

var roomLatencies = []string{"p50_ms", "p95_ms", "p99_ms", "reach_p50_ms", "reach_p99_ms", "reach_max_ms"}

// found makes the room, for members only, and adds them: nobody but its owner is online.
func found(s *settings, owner *conn, room string, users []string, r *report) error {
	if err := join(s, owner, room, false); err != nil {
		return err
	}
	request := func(id, content string) error {
		err := owner.writeString("<iq type='set' id='" + id + "' to='" + room + "'>" + content + "</iq>")
		if err != nil {
			return err
		}
		st, err := owner.await(2*time.Minute, withID(id))
		if err == nil && string(attr(st, "type")) != "result" {
			err = fmt.Errorf("%s", st)
		}
		return err
	}
	field := func(name, value string) string {
		return "<field var='" + name + "'><value>" + value + "</value></field>"
	}
	if err := request("own", "<query xmlns='http://jabber.org/protocol/muc#owner'><x xmlns='jabber:x:data' type='submit'>"+
		field("FORM_TYPE", "http://jabber.org/protocol/muc#roomconfig")+field("muc#roomconfig_persistentroom", "1")+
		field("muc#roomconfig_membersonly", "1")+field("muc#roomconfig_whois", "anyone")+"</x></query>"); err != nil {
		return fmt.Errorf("configure %s: %w", room, err)
	}
	a := readUsage(s.pids)
	for from := 1; from < len(users); from += itemsPerRequest {
		var items strings.Builder
		for i := from; i < len(users) && i < from+itemsPerRequest; i++ {
			items.WriteString("<item affiliation='member' jid='" + users[i] + "@" + s.domain + "'/>")
		}
		if err := request("add"+strconv.Itoa(from),
			"<query xmlns='http://jabber.org/protocol/muc#admin'>"+items.String()+"</query>"); err != nil {
			return fmt.Errorf("add members: %w", err)
		}
	}
	b := readUsage(s.pids)
	r.rate("members", len(users)-1, s.pids, a, b)
	return nil
}

// rate is n units of work within a span.
func (r *report) rate(unit string, n int, pids []int, a, b usage) {
	r.put(unit+"_per_s", float64(n)/b.at.Sub(a.at).Seconds(), "/s")
	if len(pids) > 0 {
		r.put(unit+"_per_cpu_s", float64(n)/(b.server-a.server), unit+"/CPU-s")
	}
}

// take copies what a phase has measured.
func (r *report) take(from *report, prefix string, keys ...string) {
	for _, key := range keys {
		for _, x := range from.rows {
			if x.key == key {
				r.rows = append(r.rows, row{prefix + key, x.val, x.unit})
			}
		}
	}
}

// enter joins the room; it tells how many others the occupant was shown.
func enter(s *settings, c *conn, room string) (shown int, err error) {
	me := room + "/" + c.user
	if err = c.writeString("<presence to='" + me +
		"'><x xmlns='http://jabber.org/protocol/muc'><history maxstanzas='0'/></x></presence>"); err != nil {
		return
	}
	st, err := c.await(s.timeout, func(st []byte) bool {
		if !is(st, "presence") {
			return false
		}
		if string(attr(st, "from")) == me {
			return true
		}
		shown++
		return false
	})
	if err == nil && attr(st, "type") != nil {
		err = fmt.Errorf("%s", st)
	}
	if err != nil {
		err = fmt.Errorf("join %s: %w", room, err)
	}
	return
}

// joinAll has everybody but the owner, who is there, enter; whoever is there reads on.
func joinAll(s *settings, conns []*conn, room string, r *report) error {
	stops := make(chan func(), len(conns))
	stops <- conns[0].drain()
	var lat hist
	var shown int64
	a := readUsage(s.pids)
	err := inParallel(s, conns[1:], func(c *conn) error {
		begin := time.Now()
		n, err := enter(s, c, room)
		if err != nil {
			return err
		}
		lat.add(int64(time.Since(begin)))
		atomic.AddInt64(&shown, int64(n))
		stops <- c.drain()
		return nil
	})
	b := readUsage(s.pids)
	time.Sleep(time.Second) // what the last one to come has caused
	close(stops)
	for stop := range stops {
		stop()
	}
	r.rate("joins", len(conns)-1, s.pids, a, b)
	r.put("join_p50_ms", float64(lat.quantile(0.5))/1e6, "ms")
	r.put("join_p99_ms", float64(lat.quantile(0.99))/1e6, "ms")
	r.put("shown_per_join", float64(shown)/float64(len(conns)-1), "")
	return err
}

// askAll has every tenth ask for the list of members, as clients do that encrypt for the absent too.
func askAll(s *settings, conns []*conn, room string, r *report) error {
	var asking []*conn
	for i := 0; i < len(conns); i += 10 {
		asking = append(asking, conns[i])
	}
	a := readUsage(s.pids)
	err := inParallel(s, asking, func(c *conn) error {
		if err := c.writeString("<iq type='get' id='list' to='" + room +
			"'><query xmlns='http://jabber.org/protocol/muc#admin'><item affiliation='member'/></query></iq>"); err != nil {
			return err
		}
		st, err := c.await(s.timeout, withID("list"))
		if err == nil && countOf(st, "<item ") != s.members-1 {
			err = fmt.Errorf("a list of %d members", countOf(st, "<item "))
		}
		return err
	})
	r.rate("lists", len(asking), s.pids, a, readUsage(s.pids))
	return err
}

// leaveAll has everybody leave; the last ones leave a room that is nearly empty.
func leaveAll(s *settings, conns []*conn, room string, r *report) error {
	a := readUsage(s.pids)
	err := inParallel(s, conns, func(c *conn) error {
		me := room + "/" + c.user
		if err := c.writeString("<presence type='unavailable' to='" + me + "'/>"); err != nil {
			return err
		}
		_, err := c.await(s.timeout, func(st []byte) bool {
			return is(st, "presence") && string(attr(st, "from")) == me && string(attr(st, "type")) == "unavailable"
		})
		return err
	})
	r.rate("leaves", len(conns), s.pids, a, readUsage(s.pids))
	return err
}

// inParallel has each of the connections do something, a bounded number at a time.
func inParallel(s *settings, conns []*conn, do func(*conn) error) error {
	work := make(chan *conn, len(conns))
	for _, c := range conns {
		work <- c
	}
	close(work)
	errs := make(chan error, len(conns))
	var wg sync.WaitGroup
	for p := 0; p < s.parallel; p++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for c := range work {
				if err := do(c); err != nil {
					errs <- err
				}
			}
		}()
	}
	wg.Wait()
	select {
	case err := <-errs:
		return fmt.Errorf("%d of %d failed: %w", len(errs)+1, len(conns), err)
	default:
		return nil
	}
}

// roomPhase lets the first occupants talk for a while; all of them read, and nobody
// else may be reading on their connections.
func roomPhase(s *settings, conns []*conn, room string, r *report) (*traffic, error) {
	t := newTraffic(s)
	var streams []*stream
	for _, c := range conns[:s.senders] {
		streams = append(streams, t.addStream(c, len(conns),
			"<message type='groupchat' to='"+room+"'><body>", t.padding()+"</body></message>"))
	}
	for _, c := range conns {
		t.addReceiver(c, streams...)
	}
	err := t.run(r, "deliveries")
	for _, c := range conns {
		c.nc.SetReadDeadline(time.Now())
	}
	t.pumps.Wait()
	for _, c := range conns {
		c.nc.SetReadDeadline(time.Time{})
	}
	if err != nil {
		return t, err
	}
	for _, x := range t.rx {
		if x.order != t.rx[0].order {
			return t, fmt.Errorf("%s and %s got the messages in different orders", x.c.user, t.rx[0].c.user)
		}
	}
	return t, nil
}

// choke asks the server for more than the connection takes, and reads nothing, until
// nothing can be written any more either. rest is what is still to be written.
func choke(s *settings, c *conn) (unread int, rest []byte, err error) {
	if tcp, ok := c.nc.(*net.TCPConn); ok {
		tcp.SetReadBuffer(4096)
	}
	ping := []byte("<iq type='get' id='" + strings.Repeat("x", 1000) + "' to='" + s.domain +
		"'><ping xmlns='urn:xmpp:ping'/></iq>")
	defer c.nc.SetWriteDeadline(time.Time{})
	for unread < 64<<20 {
		c.nc.SetWriteDeadline(time.Now().Add(2 * time.Second))
		n, err := c.nc.Write(ping)
		unread += n
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			return unread, ping[n:], nil
		}
		if err != nil {
			return unread, nil, fmt.Errorf("%s: %w", c.user, err)
		}
	}
	return unread, nil, fmt.Errorf("%s: the server takes stanzas without end from somebody who reads nothing", c.user)
}

// catchUp has the slow occupant read again: it must get all it has not read.
func (t *traffic) catchUp(c *conn, rest []byte, r *report) error {
	if tcp, ok := c.nc.(*net.TCPConn); ok {
		tcp.SetReadBuffer(1 << 20)
	}
	go c.nc.Write(rest)
	var missing int64
	want := map[int]*expect{}
	for _, st := range t.streams {
		want[st.id] = &expect{}
		missing += int64(st.sent)
	}
	begin := time.Now()
	order := uint64(0)
	for missing > 0 {
		st, err := c.await(t.s.timeout, func([]byte) bool { return true })
		if err != nil {
			return fmt.Errorf("the slow occupant lacks %d messages: %w", missing, err)
		}
		if id, seq, _, ok := stamped(st); ok && want[id] != nil && t.see(want[id], seq) {
			order = inOrder(order, id, seq)
			missing--
		}
	}
	r.put("slow_catch_up_ms", float64(time.Since(begin))/1e6, "ms")
	if t.dup+t.reorder != 0 || order != t.rx[0].order {
		return fmt.Errorf("the slow occupant: %d duplicated, %d reordered", t.dup, t.reorder)
	}
	return nil
}
