package main

import (
	"fmt"
	"strconv"
	"time"
)

// runLogin logs every account in once, as fast as --parallel allows. Tokens, if
// any, have been asked for and used once in logins before, unmeasured: most
// logins are by a token that is in use.
func runLogin(s *settings, r *report) error {
	var lat hist
	users := userRange(s.prefix, s.first, s.users)
	mech := s.mech
	if s.tokens != nil {
		mech = hashedToken
		for i := 0; i < 2; i++ {
			conns, err := loginAll(&s.options, users, "x", s.parallel, nil, goOnline(&s.options))
			closeAll(conns)
			if err != nil {
				return err
			}
			for _, u := range users {
				if s.tokens.of(u) == "" {
					return fmt.Errorf("%s was given no token", u)
				}
			}
			time.Sleep(time.Second) // the sessions end
		}
	}
	a := readUsage(s.pids)
	conns, err := loginAll(&s.options, users, "x", s.parallel, &lat, goOnline(&s.options))
	b := readUsage(s.pids)
	defer closeAll(conns)
	ok, trips, authTrips := 0, 0, 0
	for _, c := range conns {
		if c != nil {
			ok++
			trips += c.loginTrips
			authTrips += c.authTrips
		}
	}
	wall := b.at.Sub(a.at).Seconds()
	r.put("users", s.users, "")
	r.put("parallel", s.parallel, "")
	r.put("mech", mech, "")
	r.put("round_trips", float64(trips)/float64(ok), "")
	r.put("round_trips_behind_features", float64(authTrips)/float64(ok), "")
	r.put("logged_in", ok, "")
	r.put("failed", s.users-ok, "")
	r.put("logins_per_s", float64(ok)/wall, "/s")
	r.latency("", &lat)
	r.cpu(s.pids, a, b, float64(ok), "logins")
	return err
}

// runIdle holds sessions open and reads the server's memory before and after.
func runIdle(s *settings, r *report) error {
	before := treeRSS(s.pids)
	users := userRange(s.prefix, s.first, s.users)
	online := goOnline(&s.options)
	conns, err := loginAll(&s.options, users, "x", s.parallel, nil, func(c *conn) error {
		err := online(c)
		if err == nil {
			c.drain() // presence of contacts, acknowledgement requests, pings
		}
		return err
	})
	defer closeAll(conns)
	if err != nil {
		return err
	}
	peak := treeRSS(s.pids)
	time.Sleep(2 * time.Second)
	a := readUsage(s.pids)
	time.Sleep(s.duration)
	b := readUsage(s.pids)
	after := treeRSS(s.pids)
	if after > peak {
		peak = after
	}
	r.put("users", s.users, "")
	r.put("rss_before_mib", float64(before)/(1<<20), "MiB")
	r.put("rss_after_mib", float64(after)/(1<<20), "MiB")
	r.put("rss_peak_mib", float64(peak)/(1<<20), "MiB")
	r.put("kib_per_session", float64(after-before)/1024/float64(s.users), "KiB")
	r.cpu(s.pids, a, b, 0, "")
	return nil
}

// runRoster fetches one account's roster repeatedly from one session.
func runRoster(s *settings, r *report) error {
	c, err := login(&s.options, s.user, "roster")
	if err != nil {
		return err
	}
	defer c.close()
	items := 0
	err = repeat(s, r, "gets", func(id string) error {
		if err := c.writeString("<iq type='get' id='" + id + "'><query xmlns='jabber:iq:roster'/></iq>"); err != nil {
			return err
		}
		st, err := c.await(s.timeout, withID(id))
		if err == nil {
			items = countOf(st, "<item ")
		}
		return err
	})
	if err != nil {
		return err
	}
	r.put("user", s.user, "")
	r.put("items", items, "")
	return nil
}

// repeat asks one thing after the other, each with an id of its own, for the warm-up and then for the duration, and reports
// how many a second, how long each took, and what they cost the server.
func repeat(s *settings, r *report, what string, get func(id string) error) error {
	var lat hist
	n := 0
	asked := time.Now()
	next := func() error {
		n++
		asked = time.Now()
		return get("g" + strconv.Itoa(n))
	}
	// Whoever asks more often than a server lets measures how long it has them wait.
	pause := func() {
		if s.asks > 0 {
			time.Sleep(time.Duration(float64(time.Second)/s.asks) - time.Since(asked))
		}
	}
	for end := time.Now().Add(s.warmup); time.Now().Before(end); {
		if err := next(); err != nil {
			return err
		}
		pause()
	}
	warm := n
	a := readUsage(s.pids)
	for end := a.at.Add(s.duration); time.Now().Before(end); {
		t := time.Now()
		if err := next(); err != nil {
			return err
		}
		lat.add(int64(time.Since(t)))
		pause()
	}
	b := readUsage(s.pids)
	r.put(what+"_per_s", float64(n-warm)/b.at.Sub(a.at).Seconds(), "/s")
	r.latency("", &lat)
	r.cpu(s.pids, a, b, float64(n-warm), what)
	return nil
}
