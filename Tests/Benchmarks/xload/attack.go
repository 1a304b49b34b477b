package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Of the accounts of the prefix: those who are in the attacked rooms, the one who attacks, and one who is written to.
const (
	crowdFirst = 120
	crowdUsers = 250
	villain    = 398
	victim     = 397
)

// directTLS is where the servers of the small internet take TLS from the start.
const directTLS = "5223"

// attacker is the process of an attack: what it does counts, and what is refused to it.
type attacker struct {
	s          *settings
	user, peer string // who attacks, and one who is written to
	done       atomic.Int64
	refused    atomic.Int64
	kept       []*conn // sessions that nobody reads
}

// Each returns when the attack is under way.
var attacks = map[string]func(*attacker) error{
	"downloads":      downloads,
	"silent":         silent,
	"halves":         halves,
	"bodies":         bodies,
	"handshakes":     handshakes,
	"registrations":  registrations,
	"flood-small":    messages(1, 1000),
	"flood-large":    messages(1, 200000),
	"flood-sessions": messages(8, 1000),
	"flood-app":      asks("POST", "/dialogs/{dialog}/messages", `{"clientId":"{i}","content":{"type":"text","text":"a flood"}}`),
	"room-messages":  rooms(4, "<message type='groupchat' to='{room}'><body>a flood</body></message>"),
	"room-nicks":     rooms(4, "<presence to='{room}/n{i}'/>"),
	"room-presence":  rooms(4, "<presence to='{room}/{nick}'><status>{i}</status></presence>"),
	// Nobody is told that one of several sessions has left.
	"room-entrances": rooms(1, "<presence type='unavailable' to='{room}/{nick}'/><presence to='{room}/{nick}'><x xmlns='http://jabber.org/protocol/muc'/></presence>"),
	"deaf":           deaf,
}

func attackOf(kind string) func(*attacker) error {
	if begin := attacks[kind]; begin != nil {
		return begin
	}
	return operations[kind]
}

func runAttack(s *settings, _ *report) error {
	begin := attackOf(s.kinds)
	if begin == nil {
		return fmt.Errorf("there is no attack %q", s.kinds)
	}
	a := &attacker{s: s, user: s.prefix + strconv.Itoa(villain), peer: s.prefix + strconv.Itoa(victim)}
	if operations[s.kinds] != nil {
		a.user, a.peer = s.user, s.peers+"0"
	}
	if err := begin(a); err != nil {
		return err
	}
	fmt.Println("under way")
	io.Copy(io.Discard, os.Stdin)
	fmt.Println(a.done.Load(), a.refused.Load())
	return nil
}

var errRefused = errors.New("refused")

// goOn has goroutines do something over and over. Where it is refused they wait for a moment, as a program that wants to harm does not lose
// its own processor.
func (a *attacker) goOn(goroutines int, do func(goroutine, i int) error) {
	for k := 0; k < goroutines; k++ {
		go func(k int) {
			for i := 0; ; i++ {
				if do(k, i) == nil {
					a.done.Add(1)
					continue
				}
				a.refused.Add(1)
				time.Sleep(time.Millisecond)
			}
		}(k)
	}
}

// api is a connection for HTTP from the attacker's address.
func (a *attacker) api() *api {
	x := newAPI(a.s.http)
	x.http.Transport = &http.Transport{DialContext: a.s.dialer().DialContext, MaxIdleConnsPerHost: 1, MaxConnsPerHost: 1}
	return x
}

func (a *attacker) signIn() (*api, error) {
	x := a.api()
	return x, x.signIn(a.s, a.user, "attack")
}

func (a *attacker) session(resource string) (*conn, error) {
	c, err := login(&a.s.options, a.user, resource)
	if err == nil {
		err = goOnline(&a.s.options)(c)
	}
	return c, err
}

// read reads a session, and counts the answers to its requests.
func (a *attacker) read(c *conn) {
	for {
		st, err := c.read()
		if err != nil {
			return
		}
		c.account(st)
		switch kind := string(attr(st, "type")); {
		case kind == "error":
			a.refused.Add(1)
		case kind == "result" && is(st, "iq"):
			a.done.Add(1)
		}
	}
}

// write sends what the server takes. Requests are counted when they are answered.
func (a *attacker) write(c *conn, stanzas func(i int) string) {
	for i := 0; ; i++ {
		text := stanzas(i)
		if c.writeString(text) != nil {
			return
		}
		if !strings.HasPrefix(text, "<iq") {
			a.done.Add(1)
		}
	}
}

// numbered puts a number into a pattern that has a place for one.
func numbered(pattern string) func(int) string {
	return func(i int) string { return strings.ReplaceAll(pattern, "{i}", strconv.Itoa(i)) }
}

// held are the connections that an attack keeps open: the latest so many.
type held struct {
	mu    sync.Mutex
	conns []net.Conn
	next  int
}

func newHeld(count int) *held { return &held{conns: make([]net.Conn, count)} }

func (h *held) keep(nc net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if oldest := h.conns[h.next]; oldest != nil {
		oldest.Close()
	}
	h.conns[h.next] = nc
	h.next = (h.next + 1) % len(h.conns)
}

// opening keeps so many connections to an address open, of which each begins with this.
func (a *attacker) opening(address string, count int, begin []byte) {
	open := newHeld(count)
	a.goOn(8, func(int, int) error {
		nc, err := a.s.dialer().Dial("tcp", address)
		if err != nil {
			return err
		}
		// One that the server does not read any more is left to itself.
		nc.SetDeadline(time.Now().Add(time.Second))
		if _, err = nc.Write(begin); err != nil {
			nc.Close()
			return err
		}
		open.keep(nc)
		return nil
	})
}

// MARK: Connections

// downloads requests a file of 5 MB again and again, and reads the beginning of each answer.
func downloads(a *attacker) error {
	x, err := a.signIn()
	if err != nil {
		return err
	}
	data := make([]byte, 5<<20)
	var slot struct {
		UploadURL string `json:"uploadUrl"`
		URL       string `json:"url"`
	}
	if err = x.call("POST", "/attachments", map[string]interface{}{"name": "film", "mediaType": "application/octet-stream", "size": len(data)}, &slot); err != nil {
		return err
	}
	up, err := url.Parse(slot.UploadURL)
	if err != nil {
		return err
	}
	down, err := url.Parse(slot.URL)
	if err != nil {
		return err
	}
	q, err := http.NewRequest("PUT", "http://"+a.s.http+up.RequestURI(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	p, err := x.http.Do(q)
	if err != nil {
		return err
	}
	p.Body.Close()
	if p.StatusCode != http.StatusCreated {
		return fmt.Errorf("no file: %s", p.Status)
	}
	open := newHeld(3000)
	a.goOn(8, func(int, int) error {
		nc, err := a.s.dialer().Dial("tcp", a.s.http)
		if err != nil {
			return err
		}
		nc.SetDeadline(time.Now().Add(a.s.timeout))
		head := make([]byte, len("HTTP/1.1 200"))
		if _, err = fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", down.RequestURI(), a.s.http); err == nil {
			_, err = io.ReadFull(nc, head)
		}
		if err == nil && string(head) != "HTTP/1.1 200" {
			err = errRefused
		}
		if err != nil {
			nc.Close()
			return err
		}
		open.keep(nc)
		return nil
	})
	return nil
}

func silent(a *attacker) error {
	a.opening(a.s.addr, 5000, nil)
	a.opening(a.s.http, 5000, nil)
	return nil
}

func halves(a *attacker) error {
	a.opening(a.s.addr, 9000, []byte("<?xml version='1.0'?><stream:stream to='"+a.s.domain+
		"' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'><message>"+strings.Repeat("<a/>", 3800)))
	return nil
}

func bodies(a *attacker) error {
	a.opening(a.s.http, 5000, []byte("POST /v1/sessions HTTP/1.1\r\nHost: "+a.s.http+
		"\r\nContent-Type: application/json\r\nContent-Length: 65000\r\n\r\n"+strings.Repeat(" ", 64000)))
	return nil
}

// handshakes begins handshakes of TLS and leaves them.
func handshakes(a *attacker) error {
	host, _, err := net.SplitHostPort(a.s.addr)
	if err != nil {
		return err
	}
	here, there := net.Pipe()
	go tls.Client(here, &tls.Config{ServerName: a.s.domain}).Handshake()
	hello := make([]byte, 16384)
	n, err := there.Read(hello)
	there.Close()
	if err != nil {
		return err
	}
	address, begin := net.JoinHostPort(host, directTLS), hello[:n]
	a.goOn(8, func(int, int) error {
		nc, err := a.s.dialer().Dial("tcp", address)
		if err != nil {
			return err
		}
		defer nc.Close()
		_, err = nc.Write(begin)
		return err
	})
	return nil
}

func registrations(a *attacker) error {
	run := unique()
	apis := make([]*api, 8)
	for k := range apis {
		apis[k] = a.api()
	}
	a.goOn(len(apis), func(k, i int) error {
		body, err := json.Marshal(map[string]string{"username": fmt.Sprintf("robot-%s-%d-%d", run, k, i), "password": "wherefore-art-thou"})
		if err != nil {
			return err
		}
		status, _, err := apis[k].raw("POST", "/users", body)
		if err == nil && status != http.StatusCreated {
			err = errRefused
		}
		return err
	})
	return nil
}

// MARK: What one account sends

// messages has sessions of one user write messages of this size.
func messages(sessions, size int) func(*attacker) error {
	return func(a *attacker) error {
		text := "<message type='chat' to='" + a.peer + "@" + a.s.domain + "'><body>" + strings.Repeat("x", size) + "</body></message>"
		return a.writes(sessions, func(int) func(int) string { return numbered(text) })
	}
}

// writes has sessions of the user write, each its own stanzas.
func (a *attacker) writes(sessions int, stanzas func(session int) func(int) string) error {
	for k := 0; k < sessions; k++ {
		c, err := a.session("attack" + strconv.Itoa(k))
		if err != nil {
			return err
		}
		go a.read(c)
		go a.write(c, stanzas(k))
	}
	return nil
}

// asks has eight connections of one user request the same over and over. {i} is a number that no other request has, {dialog} a dialog
// of the user's, {message} its last message.
func asks(method, path, body string) func(*attacker) error {
	return func(a *attacker) error {
		first, err := a.signIn()
		if err != nil {
			return err
		}
		dialog, err := first.dialog(a.peer)
		if err != nil {
			return err
		}
		message := ""
		if strings.Contains(path, "{message}") {
			var page struct {
				Items []struct {
					ID string `json:"id"`
				} `json:"items"`
			}
			if err = first.call("GET", "/dialogs/"+dialog+"/messages?limit=1", nil, &page); err != nil {
				return err
			}
			if len(page.Items) == 0 {
				return fmt.Errorf("%s has no message", a.user)
			}
			message = page.Items[0].ID
		}
		apis := make([]*api, 8)
		for k := range apis {
			apis[k] = a.api()
			apis[k].token = first.token
		}
		fill := strings.NewReplacer("{dialog}", dialog, "{message}", message)
		run, path, body := unique(), fill.Replace(path), fill.Replace(body)
		a.goOn(len(apis), func(k, i int) error {
			number := strings.NewReplacer("{i}", fmt.Sprintf("%s-%d-%d", run, k, i))
			var sent []byte
			if body != "" {
				sent = []byte(number.Replace(body))
			}
			status, _, err := apis[k].raw(method, number.Replace(path), sent)
			if err == nil && status >= 300 {
				err = errRefused
			}
			return err
		})
		return nil
	}
}

// MARK: Rooms

// crowd fills a room with --occupants sessions of at most crowdUsers users; the owner, who is in it, attacks.
func (a *attacker) crowd(reads bool) (owner *conn, room string, err error) {
	s := a.s
	room = "crowd-" + unique() + "@" + s.muc
	if owner, err = a.session("attack"); err != nil {
		return
	}
	if err = join(s, owner, room, true); err != nil {
		return
	}
	go a.read(owner)
	for k := 0; k*crowdUsers < s.present; k++ {
		users := userRange(s.prefix, crowdFirst, crowdUsers)
		if left := s.present - k*crowdUsers; left < crowdUsers {
			users = users[:left]
		}
		conns, err := loginAll(&s.options, users, "room"+strconv.Itoa(k), s.parallel, nil, func(c *conn) error {
			if err := goOnline(&s.options)(c); err != nil {
				return err
			}
			if err := join(s, c, room, false); err != nil {
				return err
			}
			if reads {
				c.drain()
			}
			return nil
		})
		a.kept = append(a.kept, conns...)
		if err != nil {
			return owner, room, err
		}
	}
	return owner, room, nil
}

// rooms has sessions of the owner, whom a room of any size shows to everybody, write the same over and over.
func rooms(sessions int, stanza string) func(*attacker) error {
	return func(a *attacker) error {
		owner, room, err := a.crowd(true)
		if err != nil {
			return err
		}
		owners := []*conn{owner}
		for len(owners) < sessions {
			c, err := a.session("attack" + strconv.Itoa(len(owners)))
			if err != nil {
				return err
			}
			if err = join(a.s, c, room, false); err != nil {
				return err
			}
			go a.read(c)
			owners = append(owners, c)
		}
		text := strings.NewReplacer("{room}", room, "{nick}", owner.user).Replace(stanza)
		for _, c := range owners {
			go a.write(c, numbered(text))
		}
		return nil
	}
}

// deaf fills a room with sessions that read nothing, and floods it with what is in no log.
func deaf(a *attacker) error {
	owner, room, err := a.crowd(false)
	if err != nil {
		return err
	}
	go a.write(owner, numbered("<presence to='"+room+"/"+owner.user+"'><status>{i}"+strings.Repeat("x", 4000)+"</status></presence>"))
	return nil
}
