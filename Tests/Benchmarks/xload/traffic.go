package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The traffic modes (chat, chat-real, fill, muc, presence) share one shape: a
// stream is one sender whose stanzas each reach the same set of receivers.
// Stanzas carry "#<stream>,<sequence>,<send time>#", all in fixed-width hex.

const stampLen = 1 + 6 + 1 + 8 + 1 + 16 + 1

type stream struct {
	id        int
	from      *conn
	parts     [][]byte // the stanza's text, with a stamp between any two parts
	receivers int
	limit     uint32 // stanzas to send at most; 0: no limit
	request   bool   // ask for an acknowledgement behind each write

	mu     sync.Mutex
	buf    []byte
	sent   uint32
	window int
	// got counts receipts per stanza in flight, for streams with more than
	// one receiver: the window moves when everyone has a stanza.
	got []int32
}

type traffic struct {
	s        *settings
	start    time.Time
	streams  []*stream
	rx       []*receiver
	lat      hist
	reach    hist  // until the last of several receivers had a stanza
	measured int64 // receipts of stanzas while measuring
	state    int32 // 0 warm-up, 1 measuring, 2 stopping
	from     int64 // stanzas sent before this are not in the histogram
	received int64
	dup      int64
	reorder  int64
	foreign  int64 // errors and bounces
	wrong    int64 // stanzas that arrived with other content than was sent
	broken   int64 // sessions that ended early
	real     *real // what chat-real adds; nil in the other modes
	note     atomic.Value
	pumps    sync.WaitGroup
}

// receiver is one reading session and what it expects from each stream.
type receiver struct {
	c    *conn
	want map[int]*expect
	// order tells apart the orders in which two receivers got the same stanzas.
	order uint64

	credit map[*stream]int // stanzas that may now be sent
	moved  []*stream       // streams with credit
	polite *polite         // what chat-real keeps for the session
}

type expect struct {
	next    uint32
	missing map[uint32]bool
}

func putHex(b []byte, v uint64) {
	const digits = "0123456789abcdef"
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = digits[v&15]
		v >>= 4
	}
}

func getHex(b []byte) (v uint64, ok bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

func newTraffic(s *settings) *traffic {
	return &traffic{s: s, start: time.Now()}
}

func (t *traffic) now() int64 { return int64(time.Since(t.start)) }

// padding fills a body of the wanted length behind its stamp.
func (t *traffic) padding() string {
	if t.s.body <= stampLen {
		return ""
	}
	return strings.Repeat("x", t.s.body-stampLen)
}

// addStream registers a sender. Its stanzas are the parts with a stamp between
// any two of them.
func (t *traffic) addStream(from *conn, receivers int, parts ...string) *stream {
	st := &stream{
		id: len(t.streams), from: from, receivers: receivers, window: t.s.window,
		got: make([]int32, 4096),
	}
	for _, p := range parts {
		st.parts = append(st.parts, []byte(p))
	}
	t.streams = append(t.streams, st)
	return st
}

func (t *traffic) addReceiver(c *conn, streams ...*stream) {
	r := &receiver{c: c, want: map[int]*expect{}, credit: map[*stream]int{}}
	for _, st := range streams {
		r.want[st.id] = &expect{}
	}
	t.rx = append(t.rx, r)
}

const ackRequest = "<r xmlns='urn:xmpp:sm:3'/>"

// send emits n stanzas in one write, or as many as the limit leaves.
func (st *stream) send(n int, at int64) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.limit > 0 && uint32(n) > st.limit-st.sent {
		n = int(st.limit - st.sent)
	}
	if n == 0 {
		return nil
	}
	b := st.buf[:0]
	var stamp [stampLen]byte
	for i := 0; i < n; i++ {
		putStamp(&stamp, st.id, st.sent, at)
		for k, p := range st.parts {
			if k > 0 {
				b = append(b, stamp[:]...)
			}
			b = append(b, p...)
		}
		st.sent++
	}
	if st.request {
		b = append(b, ackRequest...)
	}
	st.buf = b
	return st.from.write(b, n)
}

func putStamp(stamp *[stampLen]byte, stream int, seq uint32, at int64) {
	stamp[0], stamp[7], stamp[16], stamp[stampLen-1] = '#', ',', ',', '#'
	putHex(stamp[1:7], uint64(stream))
	putHex(stamp[8:16], uint64(seq))
	putHex(stamp[17:33], uint64(at))
}

// stamped finds the stamp in a stanza.
func stamped(b []byte) (stream int, seq uint32, at int64, ok bool) {
	for {
		i := bytes.IndexByte(b, '#')
		if i < 0 || len(b) < i+stampLen {
			return
		}
		b = b[i:]
		if b[7] == ',' && b[16] == ',' && b[stampLen-1] == '#' {
			x, ok1 := getHex(b[1:7])
			y, ok2 := getHex(b[8:16])
			z, ok3 := getHex(b[17:33])
			if ok1 && ok2 && ok3 {
				return int(x), uint32(y), int64(z), true
			}
		}
		b = b[1:]
	}
}

// inOrder adds a stanza to what tells orders apart (FNV-1a over words).
func inOrder(order uint64, stream int, seq uint32) uint64 {
	return (order ^ (uint64(stream)<<32 | uint64(seq))) * 1099511628211
}

// see checks order and uniqueness; it tells whether this receipt is new.
func (t *traffic) see(e *expect, seq uint32) bool {
	switch {
	case seq == e.next:
		e.next++
		return true
	case seq > e.next:
		if e.missing == nil {
			e.missing = map[uint32]bool{}
		}
		for q := e.next; q < seq; q++ {
			e.missing[q] = true
		}
		e.next = seq + 1
		return true
	case e.missing[seq]:
		delete(e.missing, seq)
		atomic.AddInt64(&t.reorder, 1)
		return true
	}
	atomic.AddInt64(&t.dup, 1)
	return false
}

// absorb works through the stanzas a session has buffered. In closed loop it
// also sends what the receipts allow, once per batch of stanzas read.
func (t *traffic) absorb(r *receiver) error {
	c := r.c
	now := t.now()
	state := atomic.LoadInt32(&t.state)
	from := atomic.LoadInt64(&t.from)
	n := int64(0)
	for {
		b, ok, err := c.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		c.account(b)
		if c.socket {
			if isRefusal(b) {
				atomic.AddInt64(&t.foreign, 1)
				t.note.Store(string(b))
				continue
			}
			if !isMessage(b) {
				continue
			}
		} else if !is(b, "message") && !is(b, "presence") {
			continue
		}
		id, seq, at, ok := stamped(b)
		if !ok {
			continue
		}
		if !c.socket && string(attr(b, "type")) == "error" {
			atomic.AddInt64(&t.foreign, 1)
			t.note.Store(string(b))
			continue
		}
		if t.real != nil && !t.real.read(t, r, b, id, seq, at) {
			continue
		}
		e := r.want[id]
		if e == nil {
			continue
		}
		if !t.see(e, seq) {
			continue
		}
		n++
		if at >= from && state == 1 {
			t.lat.add(now - at)
		}
		r.order = inOrder(r.order, id, seq)
		st := t.streams[id]
		if st.receivers > 1 {
			slot := &st.got[seq%uint32(len(st.got))]
			if int(atomic.AddInt32(slot, 1)) < st.receivers {
				continue
			}
			atomic.StoreInt32(slot, 0)
			if at >= from && state == 1 {
				t.reach.add(now - at)
			}
		}
		if t.s.rate > 0 {
			continue
		}
		if r.credit[st] == 0 {
			r.moved = append(r.moved, st)
		}
		r.credit[st]++
	}
	if n > 0 {
		atomic.AddInt64(&t.received, n)
		if state == 1 {
			atomic.AddInt64(&t.measured, n)
		}
	}
	if r.polite != nil {
		if err := r.polite.flush(r.c); err != nil {
			return err
		}
	}
	for _, st := range r.moved {
		k := r.credit[st]
		r.credit[st] = 0
		if atomic.LoadInt32(&t.state) < 2 {
			if err := st.send(k, t.now()); err != nil {
				return err
			}
		}
	}
	r.moved = r.moved[:0]
	return nil
}

// pump reads one session until it ends.
func (t *traffic) pump(r *receiver) {
	for {
		err := t.absorb(r)
		if err == nil {
			err = r.c.fill()
		}
		if err != nil {
			t.sessionEnded(err)
			return
		}
	}
}

func (t *traffic) sessionEnded(err error) {
	if atomic.LoadInt32(&t.state) < 3 {
		atomic.AddInt64(&t.broken, 1)
		t.note.Store(err.Error())
	}
}

// pace sends at a fixed rate over all streams, whatever the server does.
// Latency counts from the scheduled time, so a stall cannot hide.
func (t *traffic) pace(done <-chan struct{}) {
	alarm, err := newAlarm()
	if err != nil {
		t.sessionEnded(err)
		return
	}
	defer alarm.close()
	begin := t.now()
	var k int64
	for {
		select {
		case <-done:
			return
		default:
		}
		scheduled := func(k int64) int64 { return begin + int64(float64(k)/t.s.rate*1e9) }
		for ; scheduled(k) <= t.now(); k++ {
			if err := t.streams[k%int64(len(t.streams))].send(1, scheduled(k)); err != nil {
				t.sessionEnded(err)
				return
			}
		}
		if err := alarm.sleep(time.Duration(scheduled(k) - t.now())); err != nil {
			t.sessionEnded(err)
			return
		}
	}
}

// run drives the whole measurement and fills the report.
func (t *traffic) run(r *report, unit string) error {
	s := t.s
	for _, x := range t.rx {
		x := x
		t.pumps.Add(1)
		go func() {
			defer t.pumps.Done()
			t.pump(x)
		}()
	}
	done := make(chan struct{})
	if s.rate > 0 {
		go t.pace(done)
	} else {
		for _, st := range t.streams {
			if err := st.send(st.window, t.now()); err != nil {
				return err
			}
		}
	}
	time.Sleep(s.warmup)
	atomic.StoreInt64(&t.from, t.now())
	a := readUsage(s.pids)
	atomic.StoreInt32(&t.state, 1)
	time.Sleep(s.duration)
	atomic.StoreInt32(&t.state, 2)
	b := readUsage(s.pids)
	close(done)

	lost := t.settle()
	if t.real != nil {
		t.real.settle(t)
	}
	atomic.StoreInt32(&t.state, 3)

	wall := b.at.Sub(a.at).Seconds()
	n := float64(atomic.LoadInt64(&t.measured))
	if s.rate > 0 {
		r.put("offered_per_s", s.rate, "/s")
	} else {
		r.put("window", s.window, "")
	}
	r.put(unit+"_per_s", n/wall, "/s")
	r.latency("", &t.lat)
	r.latency("reach_", &t.reach)
	r.cpu(s.pids, a, b, n, unit)
	r.put("rss_mib", float64(treeRSS(s.pids))/(1<<20), "MiB")
	err := t.verdict(r, lost)
	if err == nil && n == 0 {
		err = fmt.Errorf("nothing arrived in the measured time")
	}
	return err
}

// settle waits for everything under way and returns how much did not arrive.
func (t *traffic) settle() (lost int64) {
	var want int64
	for _, st := range t.streams {
		st.mu.Lock()
		want += int64(st.sent) * int64(st.receivers)
		st.mu.Unlock()
	}
	until(func() int64 { return atomic.LoadInt64(&t.received) }, want)
	time.Sleep(100 * time.Millisecond) // duplicates would come now
	return want - atomic.LoadInt64(&t.received)
}

// until waits for a count to reach want, and gives up when it has not moved
// for 20 seconds: a disk that others use can hold a syncing server up for some.
func until(count func() int64, want int64) {
	last, quiet := int64(-1), 0
	for quiet < 200 {
		got := count()
		if got >= want {
			return
		}
		if got == last {
			quiet++
		} else {
			last, quiet = got, 0
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// verdict reports what went wrong, and is an error if anything did.
func (t *traffic) verdict(r *report, lost int64) error {
	type fault struct {
		name  string
		count int64
	}
	wrong := atomic.LoadInt64(&t.wrong)
	for _, x := range t.rx {
		wrong += x.c.badAcks.Load()
	}
	faults := []fault{
		{"lost", lost},
		{"duplicated", atomic.LoadInt64(&t.dup)},
		{"reordered", atomic.LoadInt64(&t.reorder)},
		{"errors", atomic.LoadInt64(&t.foreign)},
		{"wrong_results", wrong},
		{"sessions_broken", atomic.LoadInt64(&t.broken)},
	}
	if t.real != nil {
		faults = append(faults,
			fault{"receipts_lost", t.real.receiptsLost},
			fault{"markers_lost", t.real.markersLost},
			fault{"carbons_lost", t.real.carbonsLost},
			fault{"acks_missing", t.real.acksMissing})
	}
	var bad []string
	for _, f := range faults {
		r.put(f.name, f.count, "")
		if f.count != 0 {
			bad = append(bad, f.name+" "+strconv.FormatInt(f.count, 10))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	err := fmt.Errorf("not clean: %s", strings.Join(bad, ", "))
	if note, ok := t.note.Load().(string); ok {
		err = fmt.Errorf("%w (last: %s)", err, note)
	}
	return err
}

// chatBeside has pairs of clients chat, and puts what was measured into the report under a prefix.
func (s *settings) chatBeside(users []string, prefix string, r *report) error {
	conns, err := loginAll(&s.options, users, "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	t := newTraffic(s)
	for i, c := range conns {
		t.addReceiver(conns[i^1], t.addChat(c, users[i^1]+"@"+s.domain))
	}
	part := &report{}
	err = t.run(part, "messages")
	for _, x := range part.rows {
		r.rows = append(r.rows, row{prefix + x.key, x.val, x.unit})
	}
	return err
}
