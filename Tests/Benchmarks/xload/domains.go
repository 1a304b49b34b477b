package main

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// Many domains of the remote server, each with a stream of its own.

func (s *settings) subdomain(prefix string, i int) string {
	return prefix + strconv.Itoa(i) + "." + s.partnerDomain
}

// opened sends a first message to each of these domains, `window` of them under way at a time, and waits until the remote server
// has them. It reports how long each took.
func opened(s *settings, conns []*conn, domains []string, window int, lat *hist) (*remoteServer, error) {
	sent := make(map[string]*atomic.Int64, len(domains))
	for _, d := range domains {
		sent[d] = &atomic.Int64{}
	}
	done := make(chan struct{}, len(domains))
	start := time.Now()
	p, err := newRemoteServer(s, func(c *conn, st []byte) bool {
		if !is(st, "message") || !bytes.Contains(st, []byte(priming)) {
			return true
		}
		_, domain, _ := bytes.Cut(attr(st, "to"), []byte("@"))
		at := sent[string(domain)]
		if at == nil {
			return true
		}
		if began := at.Swap(0); began != 0 { // once
			lat.add(int64(time.Since(start)) - began)
			done <- struct{}{}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	limit := time.After(4 * s.timeout)
	arrived := 0
	wait := func() error {
		select {
		case <-done:
			arrived++
			return nil
		case <-limit:
			return fmt.Errorf("%d of %d domains were reached%s", arrived, len(domains), p.failure())
		}
	}
	for i, d := range domains {
		if i >= window {
			if err := wait(); err != nil {
				return p, err
			}
		}
		sent[d].Store(int64(time.Since(start)))
		if err := conns[i%len(conns)].writeString("<message type='chat' id='" + unique() + "' to='v@" + d + "'><body>" + priming + "</body></message>"); err != nil {
			return p, err
		}
	}
	for arrived < len(domains) {
		if err := wait(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// opens has each of these domains open a stream to the server, --parallel of them at a time.
func opens(s *settings, p *remoteServer, domains []string, lat *hist) (err error) {
	work, errs := make(chan string), make(chan error, s.parallel)
	for i := 0; i < s.parallel; i++ {
		go func() {
			var failed error
			for d := range work {
				began := time.Now()
				c, err := p.open(d)
				if err != nil {
					failed = err
					continue
				}
				c.drain()
				lat.add(int64(time.Since(began)))
			}
			errs <- failed
		}()
	}
	for _, d := range domains {
		work <- d
	}
	close(work)
	for i := 0; i < s.parallel; i++ {
		if e := <-errs; e != nil {
			err = e
		}
	}
	return err
}

// runFirst sends first messages to --domains domains, one after the other.
func runFirst(s *settings, r *report) error {
	conns, err := online(s)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	// Of the domains that there are, others in each run.
	first := int(time.Now().UnixNano()/1e9) * s.domains % 2000
	domains := make([]string, s.domains)
	for i := range domains {
		domains[i] = s.subdomain("first", (first+i)%2000)
	}
	var lat hist
	a := readUsage(s.pids)
	p, err := opened(s, conns, domains, 1, &lat)
	b := readUsage(s.pids)
	if p != nil {
		defer p.close()
	}
	r.put("domains", len(domains), "")
	r.latency("", &lat)
	r.cpu(s.pids, a, b, float64(lat.n), "domains")
	return err
}

// runDomains sends first messages to --domains domains at once, with --into has those domains open streams, or with --both
// does one and then the other, and then holds the streams.
func runDomains(s *settings, r *report) error {
	conns, err := online(s)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	before := treeRSS(s.pids)
	domains := make([]string, s.domains)
	for i := range domains {
		domains[i] = s.subdomain("d", i)
	}
	var lat hist
	a := readUsage(s.pids)
	var p *remoteServer
	if s.into {
		p, err = newRemoteServer(s, func(*conn, []byte) bool { return true })
	} else {
		p, err = opened(s, conns, domains, len(domains), &lat)
	}
	if err == nil && (s.into || s.both) {
		err = opens(s, p, domains, &lat)
	}
	b := readUsage(s.pids)
	if p != nil {
		defer p.close()
	}
	r.put("domains", len(domains), "")
	r.put("reached", lat.n, "")
	r.put("domains_per_s", float64(lat.n)/b.at.Sub(a.at).Seconds(), "/s")
	r.latency("", &lat)
	r.cpu(s.pids, a, b, float64(lat.n), "domains")
	if err != nil {
		return err
	}
	if !s.into {
		r.put("opening_at_once", p.openingMax.Load(), "")
	}
	peak := treeRSS(s.pids)
	time.Sleep(s.duration)
	after := treeRSS(s.pids)
	r.put("rss_before_mib", float64(before)/(1<<20), "MiB")
	r.put("rss_peak_mib", float64(peak)/(1<<20), "MiB")
	r.put("rss_after_mib", float64(after)/(1<<20), "MiB")
	r.put("kib_per_link", float64(after-before)/1024/float64(len(domains)), "KiB")
	return nil
}

// online logs --users accounts in and reads what they are sent.
func online(s *settings) ([]*conn, error) {
	ready := goOnline(&s.options)
	return loginAll(&s.options, userRange(s.prefix, s.first, s.users), "x", s.parallel, nil, func(c *conn) error {
		err := ready(c)
		if err == nil {
			c.drain()
		}
		return err
	})
}
