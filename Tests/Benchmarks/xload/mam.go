package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"strconv"
	"sync"
	"time"
)

// tally collects what the paging sessions did.
type tally struct {
	mu                           sync.Mutex
	pages, results, walks, wrong int
	lat                          hist
}

func (y *tally) add(pages, results, walks, wrong int) {
	y.mu.Lock()
	y.pages += pages
	y.results += results
	y.walks += walks
	y.wrong += wrong
	y.mu.Unlock()
}

func (y *tally) report(s *settings, r *report, a, b usage) error {
	wall := b.at.Sub(a.at).Seconds()
	r.put("pages_per_s", float64(y.pages)/wall, "/s")
	r.put("results_per_s", float64(y.results)/wall, "/s")
	r.latency("", &y.lat)
	r.cpu(s.pids, a, b, float64(y.pages), "pages")
	r.put("full_walks", y.walks, "")
	r.put("wrong_results", y.wrong, "")
	if y.wrong > 0 {
		return fmt.Errorf("archive not right: %d wrong results", y.wrong)
	}
	return nil
}

// runMAM fills the archives of --users accounts (in pairs), then every account
// pages through its archive from beginning to end, over and over.
func runMAM(s *settings, r *report) error {
	users := userRange(s.prefix, s.first, s.users/2*2)
	conns, err := loginAll(&s.options, users, "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	start := time.Now().UTC().Add(-time.Second).Truncate(time.Second).Format(time.RFC3339)
	run := strconv.FormatInt(time.Now().UnixNano()/1e6, 36)
	tag := func(i int) string { return fmt.Sprintf("%s-%06d ", run, i) }

	a := readUsage(s.pids)
	if err := eachConn(conns, func(i int, c *conn) error {
		if i%2 == 0 {
			return nil
		}
		return store(s, conns[i-1], c, users[i], run, 0, s.messages, tag)
	}); err != nil {
		return err
	}
	stored := readUsage(s.pids)
	time.Sleep(500 * time.Millisecond)

	var y tally
	b := readUsage(s.pids)
	end := time.Now().Add(s.duration)
	if err := eachConn(conns, func(i int, c *conn) error {
		w := window{with: users[i^1] + "@" + s.domain, start: start, max: s.page}
		n := 0
		for time.Now().Before(end) {
			next, bad := 0, 0
			w.after = ""
			for done := false; !done && time.Now().Before(end); {
				n++
				t := time.Now()
				var err error
				if w.after, done, err = c.page(s, "p"+strconv.Itoa(n), w, func(st []byte) {
					if !bytes.Contains(st, []byte(tag(next))) {
						bad++
					}
					next++
				}); err != nil {
					return err
				}
				y.lat.add(int64(time.Since(t)))
				y.add(1, 0, 0, 0)
				if done {
					if next != s.messages {
						bad += s.messages - next
					}
					y.add(0, 0, 1, 0)
				}
			}
			y.add(0, next, 0, bad)
		}
		return nil
	}); err != nil {
		return err
	}
	e := readUsage(s.pids)
	r.put("users", len(conns), "")
	r.put("messages", s.messages, "")
	r.put("page", s.page, "")
	r.put("stores_per_s", float64(s.messages*len(conns)/2)/stored.at.Sub(a.at).Seconds(), "/s")
	return y.report(s, r, b, e)
}

// archived is one message of an archive as the server shows it.
type archived struct{ id, time string }

// runMAMRandom reads pages at random places of a large archive. The
// --users accounts, in pairs, store --messages messages per pair, once: a later
// run finds them and goes on from there. Each account learns its archive's ids and
// times in one unmeasured walk; then it asks for the page after a random id,
// before a random id, or from a random time on.
func runMAMRandom(s *settings, r *report) error {
	const mark = "random-"
	users := userRange(s.prefix, s.first, s.users/2*2)
	conns, err := loginAll(&s.options, users, "x", s.parallel, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	tag := func(i int) string { return fmt.Sprintf("%s%06d ", mark, i) }
	index := make([][]archived, len(conns))
	a := readUsage(s.pids)
	if err := eachConn(conns, func(i int, c *conn) error {
		if i%2 == 0 {
			return nil
		}
		have := 0
		_, _, err := c.page(s, "last", window{with: users[i-1] + "@" + s.domain, last: true, max: 1}, func(st []byte) {
			if n, err := strconv.Atoi(string(numberAfter(st, mark))); err == nil {
				have = n + 1
			}
		})
		if err != nil || have >= s.messages {
			return err
		}
		return store(s, conns[i-1], c, users[i], mark, have, s.messages-have, tag)
	}); err != nil {
		return err
	}
	stored := readUsage(s.pids)

	if err := eachConn(conns, func(i int, c *conn) error {
		w := window{with: users[i^1] + "@" + s.domain, max: s.page}
		for n, done := 0, false; !done; n++ {
			var err error
			bad := 0
			if w.after, done, err = c.page(s, "i"+strconv.Itoa(n), w, func(st []byte) {
				if !bytes.Contains(st, []byte(tag(len(index[i])))) {
					bad++
				}
				index[i] = append(index[i], archived{string(idOf(st)), string(timeOf(st))})
			}); err != nil {
				return err
			}
			if bad > 0 {
				return fmt.Errorf("%s: %d messages out of order in the archive", users[i], bad)
			}
		}
		if len(index[i]) < s.messages {
			return fmt.Errorf("%s: %d of %d messages in the archive", users[i], len(index[i]), s.messages)
		}
		return nil
	}); err != nil {
		return err
	}

	var y tally
	b := readUsage(s.pids)
	end := time.Now().Add(s.duration)
	if err := eachConn(conns, func(i int, c *conn) error {
		// A fixed seed: every server is asked for the same places.
		random := rand.New(rand.NewSource(int64(i) + 1))
		for n := 0; time.Now().Before(end); n++ {
			w, first, count := randomWindow(random, n, index[i], s.page)
			w.with = users[i^1] + "@" + s.domain
			next, bad := first, 0
			t := time.Now()
			if _, _, err := c.page(s, "p"+strconv.Itoa(n), w, func(st []byte) {
				if !bytes.Contains(st, []byte(tag(next))) {
					bad++
				}
				next++
			}); err != nil {
				return err
			}
			y.lat.add(int64(time.Since(t)))
			if got := next - first; got != count {
				bad++
			}
			y.add(1, next-first, 0, bad)
		}
		return nil
	}); err != nil {
		return err
	}
	e := readUsage(s.pids)
	r.put("users", len(conns), "")
	r.put("messages", s.messages, "")
	r.put("page", s.page, "")
	r.put("fill_s", stored.at.Sub(a.at).Seconds(), "s")
	return y.report(s, r, b, e)
}

// randomWindow picks the n-th query, and says which messages must answer it.
func randomWindow(random *rand.Rand, n int, index []archived, page int) (w window, first, count int) {
	w.max = page
	at := random.Intn(len(index))
	switch n % 3 {
	case 0:
		w.after, first = index[at].id, at+1
	case 1:
		w.before = index[at].id
		first = at - page
		if first < 0 {
			first = 0
		}
		return w, first, at - first
	default:
		// Several messages may bear one time; the query has them all.
		for at > 0 && index[at-1].time == index[at].time {
			at--
		}
		w.start, first = index[at].time, at
	}
	count = len(index) - first
	if count > page {
		count = page
	}
	return w, first, count
}

// idOf is the archive's id of one result.
func idOf(st []byte) []byte {
	if i := bytes.Index(st, []byte("<result ")); i >= 0 {
		return attr(st[i:], "id")
	}
	return nil
}

// timeOf is the time one result bears.
func timeOf(st []byte) []byte {
	if i := bytes.Index(st, []byte("<delay ")); i >= 0 {
		return attr(st[i:], "stamp")
	}
	return nil
}

// numberAfter is the six digits behind a mark.
func numberAfter(st []byte, mark string) []byte {
	i := bytes.Index(st, []byte(mark))
	if i < 0 || len(st) < i+len(mark)+6 {
		return nil
	}
	return st[i+len(mark) : i+len(mark)+6]
}
