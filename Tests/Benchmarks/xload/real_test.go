package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"net"
	"strings"
	"testing"
)

// pipe returns a session and the server's end of it.
func pipe(t *testing.T) (*conn, *bufio.Reader) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	return &conn{nc: here}, bufio.NewReader(there)
}

func TestServerRequestsAreAnswered(t *testing.T) {
	for _, x := range []struct{ in, out string }{
		{"<iq from='localhost' id='a1' type='get'><ping xmlns='urn:xmpp:ping'/></iq>",
			"<iq id='a1' to='localhost' type='result'/>"},
		{"<iq id=\"it's\" type=\"get\"><ping xmlns=\"urn:xmpp:ping\"/></iq>",
			"<iq id='it&apos;s' type='result'/>"},
		{"<iq id='p' type='set'><query xmlns='jabber:iq:roster'><item jid='a@b'/></query></iq>",
			"<iq id='p' type='result'/>"},
		{"<iq id='v' type='get'><query xmlns='jabber:iq:version'/></iq>",
			"<iq id='v' type='error'><error type='cancel'><service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"},
	} {
		c, server := pipe(t)
		go c.account([]byte(x.in))
		got := make([]byte, len(x.out))
		if n, err := server.Read(got); err != nil || string(got[:n]) != x.out {
			t.Errorf("%s: got %s (%v)", x.in, got[:n], err)
		}
	}
}

func TestAcknowledgementsAreChecked(t *testing.T) {
	c := &conn{sm: true}
	c.sent.Store(5)
	for _, h := range []string{"3", "5", "4", "6", "x"} {
		c.account([]byte("<a xmlns='urn:xmpp:sm:3' h='" + h + "'/>"))
	}
	if c.acked.Load() != 5 || c.badAcks.Load() != 3 {
		t.Fatal(c.acked.Load(), c.badAcks.Load())
	}
}

// realPair is a chat-real run of one pair, as the receiving side sees it.
func realPair() (*traffic, *receiver, string) {
	s := &settings{body: 50}
	t := newTraffic(s)
	t.real = &real{run: "abc"}
	for i := 0; i < 2; i++ {
		t.addStream(nil, 1)
		t.real.peers = append(t.real.peers, peer{
			[]byte(fmt.Sprintf("k%d@localhost", i)), []byte(fmt.Sprintf("k%d@localhost", 1-i)), []byte(t.padding() + "</body>")})
	}
	t.addReceiver(nil, t.streams[0])
	r := t.rx[0]
	r.polite = &polite{receipts: map[int]*expect{1: {}}, markers: map[int]*expect{1: {}}}
	var stamp [stampLen]byte
	putStamp(&stamp, 0, 0, 7)
	return t, r, "<message from='k0@localhost/phone' to='k1@localhost/phone' type='chat' id='abc" + string(stamp[:]) +
		"'><body>" + string(stamp[:]) + t.padding() + "</body><origin-id xmlns='urn:xmpp:sid:0' id='abc" + string(stamp[:]) +
		"'/><request xmlns='urn:xmpp:receipts'/><markable xmlns='urn:xmpp:chat-markers:0'/></message>"
}

func TestRealMessageIsAnsweredOnce(t *testing.T) {
	tr, r, m := realPair()
	if !tr.real.read(tr, r, []byte(m), 0, 0, 7) || tr.wrong != 0 || r.polite.count != 2 {
		t.Fatal(tr.wrong, r.polite.count)
	}
	for _, want := range []string{
		"<message type='chat' to='k0@localhost/phone' id='r-abc#", "<received xmlns='urn:xmpp:receipts' id='abc#",
		"<displayed xmlns='urn:xmpp:chat-markers:0' id='abc#",
	} {
		if !strings.Contains(string(r.polite.answers), want) {
			t.Errorf("%s not in %s", want, r.polite.answers)
		}
	}
}

func TestRealMessageAlteredIsWrong(t *testing.T) {
	_, _, whole := realPair()
	for _, x := range [][2]string{
		{"k0@localhost/", "k3@localhost/"}, {"xxx</body>", "xx</body>"}, {" id='abc#", " id='abd#"},
		{"<markable xmlns='urn:xmpp:chat-markers:0'/>", ""}, {"<origin-id", "<origin"}, {"<request ", "<requested "},
	} {
		tr, r, _ := realPair()
		m := strings.Replace(whole, x[0], x[1], 1)
		if m == whole {
			t.Fatal("nothing replaced:", x[0])
		}
		counted := tr.real.read(tr, r, []byte(m), 0, 0, 7)
		if counted || tr.wrong != 1 {
			t.Errorf("%q accepted", x[1])
		}
	}
}

func TestRealAnswersAreCounted(t *testing.T) {
	tr, r, _ := realPair()
	var stamp [stampLen]byte
	putStamp(&stamp, 1, 0, 9)
	receipt := []byte("<message from='k0@localhost/phone' id='r-abc" + string(stamp[:]) +
		"'><received xmlns='urn:xmpp:receipts' id='abc" + string(stamp[:]) + "'/></message>")
	tr.real.read(tr, r, receipt, 1, 0, 9)
	tr.real.read(tr, r, receipt, 1, 0, 9)
	if tr.real.receipts != 1 || tr.dup != 1 || tr.wrong != 0 {
		t.Fatal(tr.real.receipts, tr.dup, tr.wrong)
	}
	tr.real.read(tr, r, receipt, 0, 0, 9) // nothing of that stream was sent from here
	if tr.wrong != 1 {
		t.Fatal("foreign receipt accepted")
	}
}

func TestPairsStayInTheirGroups(t *testing.T) {
	got := pairs(&settings{prefix: "k", users: 8, group: 5})
	want := "k0 k1 k2 k3 k5 k6 k7 k8"
	if strings.Join(got, " ") != want {
		t.Fatal(got)
	}
}

func TestStreamLimit(t *testing.T) {
	c, server := pipe(t)
	tr := newTraffic(&settings{body: 0})
	st := tr.addStream(c, 1, "<presence a='", "'/>")
	st.limit = 3
	read := make(chan int)
	go func() {
		n := 0
		for {
			if _, err := server.ReadString('>'); err != nil {
				read <- n
				return
			}
			n++
		}
	}()
	for i := 0; i < 4; i++ {
		if err := st.send(2, 0); err != nil {
			t.Fatal(err)
		}
	}
	c.nc.Close()
	if n := <-read; n != 3 || st.sent != 3 {
		t.Fatal(n, st.sent)
	}
}

func TestRandomWindows(t *testing.T) {
	var index []archived
	for i := 0; i < 100; i++ {
		index = append(index, archived{fmt.Sprint("id", i), fmt.Sprint("t", i/4)})
	}
	random := rand.New(rand.NewSource(1))
	for n := 0; n < 300; n++ {
		w, first, count := randomWindow(random, n, index, 10)
		if first < 0 || first+count > 100 || count > 10 {
			t.Fatal(w, first, count)
		}
		switch {
		case w.after != "":
			if first != 100 && index[first-1].id != w.after {
				t.Fatal(w, first)
			}
		case w.before != "":
			if index[first+count].id != w.before {
				t.Fatal(w, first, count)
			}
		default:
			if index[first].time != w.start || (first > 0 && index[first-1].time == w.start) {
				t.Fatal(w, first)
			}
		}
	}
}

func TestArchiveFields(t *testing.T) {
	m := []byte("<message to='a@b/c' id='outer'><result xmlns='urn:xmpp:mam:2' queryid='p1' id='28482-98726'>" +
		"<forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='2010-07-10T23:08:25Z'/>" +
		"<message id='in'><body>random-000041 xxx</body></message></forwarded></result></message>")
	if string(idOf(m)) != "28482-98726" || string(timeOf(m)) != "2010-07-10T23:08:25Z" || string(numberAfter(m, "random-")) != "000041" {
		t.Fatal(string(idOf(m)), string(timeOf(m)), string(numberAfter(m, "random-")))
	}
}
