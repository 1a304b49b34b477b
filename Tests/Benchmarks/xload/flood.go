package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A room that one of its occupants floods, and what people outside it notice.

// flood is one way to do so. text is what a session writes over and over, as fast as the server reads it.
type flood struct {
	name     string
	sessions int
	text     func(room, nick string, n int) string
}

var floods = []flood{
	{"messages", 4, func(room, nick string, n int) string {
		return "<message type='groupchat' to='" + room + "'><body>" + strconv.Itoa(n) + "</body></message>"
	}},
	{"presence", 4, func(room, nick string, n int) string {
		show := [2]string{"away", "dnd"}[n%2]
		return "<presence to='" + room + "/" + nick + "'><show>" + show + "</show></presence>"
	}},
	{"nicks", 4, func(room, nick string, n int) string {
		return "<presence to='" + room + "/" + nick + "-" + strconv.Itoa(n) + "'/>"
	}},
	// Nobody is told that one of several sessions has left.
	{"entering", 1, func(room, nick string, n int) string {
		return "<presence type='unavailable' to='" + room + "/" + nick + "'/><presence to='" + room + "/" + nick +
			"'><x xmlns='http://jabber.org/protocol/muc'><history maxstanzas='0'/></x></presence>"
	}},
}

// runFlood has pairs of --peers chat at --rate, alone and beside each of the floods in a room of --members occupants.
// Those who flood it are admins there, whose presence a room of any size shows to everybody.
func runFlood(s *settings, r *report) error {
	if s.rate <= 0 || s.members < len(floods)+2 {
		return fmt.Errorf("flood needs --rate, and more --members than there are ways to flood a room")
	}
	outsiders := userRange(s.peers, 0, s.senders/2*2)
	users := userRange(s.prefix, s.first, s.members)
	room := fmt.Sprintf("flood-%s@%s", strconv.FormatInt(time.Now().UnixNano()/1e6, 36), s.muc)
	r.put("members", s.members, "")

	conns, err := loginAll(&s.options, users, "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	owner, listener := conns[0], conns[len(conns)-1]
	if err := join(s, owner, room, true); err != nil {
		return err
	}
	var items strings.Builder
	for i := range floods {
		items.WriteString("<item affiliation='admin' jid='" + users[i+1] + "@" + s.domain + "'/>")
	}
	if err := owner.writeString("<iq type='set' id='admins' to='" + room +
		"'><query xmlns='http://jabber.org/protocol/muc#admin'>" + items.String() + "</query></iq>"); err != nil {
		return err
	}
	st, err := owner.await(s.timeout, withID("admins"))
	if err == nil && string(attr(st, "type")) != "result" {
		err = fmt.Errorf("admins: %s", st)
	}
	if err != nil {
		return err
	}
	if err := joinAll(s, conns, room, r); err != nil {
		return err
	}
	for _, c := range conns[:len(conns)-1] {
		defer c.drain()()
	}
	var told atomic.Int64
	go func() {
		for {
			st, err := listener.read()
			if err != nil {
				return
			}
			listener.account(st)
			if bytes.HasPrefix(attr(st, "from"), []byte(room)) {
				told.Add(1)
			}
		}
	}()

	if err := s.chatBeside(outsiders, "quiet_", r); err != nil {
		return err
	}
	added := math.Inf(-1)
	for i, f := range floods {
		if f.sessions == 1 {
			conns[i+1].close()
		}
		before, began := told.Load(), time.Now()
		stop, err := f.begin(s, users[i+1], room)
		if err != nil {
			return err
		}
		err = s.chatBeside(outsiders, f.name+"_", r)
		if wrong := stop(); err == nil {
			err = wrong
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		count := told.Load() - before
		if count == 0 {
			return fmt.Errorf("%s: the room was told nothing", f.name)
		}
		r.put(f.name+"_told_per_s", float64(count)/time.Since(began).Seconds(), "/s")
		added = math.Max(added, r.value(f.name+"_p99_ms")-r.value("quiet_p99_ms"))
	}
	r.put("p99_added_ms", added, "ms")
	return nil
}

// begin has sessions of a user enter the room and flood it, until stop is called.
func (f flood) begin(s *settings, user, room string) (stop func() error, err error) {
	var conns []*conn
	for i := 0; i < f.sessions; i++ {
		c, err := login(&s.options, user, "flood"+strconv.Itoa(i))
		if err == nil {
			conns = append(conns, c)
			_, err = enter(s, c, room)
		}
		if err != nil {
			closeAll(conns)
			return nil, err
		}
	}
	var ended atomic.Bool
	failed := make(chan error, len(conns))
	for _, c := range conns {
		c.drain()
		go func(c *conn) {
			for n := 0; ; n++ {
				if err := c.writeString(f.text(room, user, n)); err != nil {
					if ended.Load() {
						err = nil
					}
					failed <- err
					return
				}
			}
		}(c)
	}
	return func() error {
		ended.Store(true)
		for _, c := range conns {
			c.nc.Close()
		}
		var err error
		for range conns {
			if e := <-failed; e != nil {
				err = e
			}
		}
		return err
	}, nil
}
