package main

import (
	"bytes"
	"fmt"
	"strconv"
	"syscall"
	"time"
)

// runCrash sends numbered messages and kills the server with SIGKILL the
// moment the last one is confirmed.
func runCrash(s *settings, r *report) error {
	if len(s.pids) == 0 || s.tag == "" {
		return fmt.Errorf("crash needs --pid and --tag")
	}
	s.sm = true
	users := userRange(s.prefix, s.first, 2)
	conns, err := loginAll(&s.options, users, "x", 2, nil, goOnline(&s.options))
	defer closeAll(conns)
	if err != nil {
		return err
	}
	tx, rx := conns[0], conns[1]
	to := users[1] + "@" + s.domain
	pad := string(bytes.Repeat([]byte("x"), s.body))
	// Stanzas sent since stream management began: presence and ping.
	tx.writeString(ackRequest)
	if _, err = tx.await(s.timeout, named("a")); err != nil {
		return err
	}
	base := tx.acked.Load()
	go func() {
		for i := 0; i < s.messages; i++ {
			m := fmt.Sprintf("<message type='chat' to='%s'><body>%s-%06d %s</body></message>", to, s.tag, i, pad)
			if i == s.messages-1 {
				m += ackRequest
			}
			tx.writeString(m)
		}
	}()
	begin := time.Now()
	delivered := 0
	switch s.sigkill {
	case "acked":
		rx.drain()
		_, err = tx.await(s.timeout, func([]byte) bool { return int(tx.acked.Load()-base) >= s.messages })
	case "delivered":
		tx.drain()
		_, err = rx.await(s.timeout, func(st []byte) bool {
			if is(st, "message") && bytes.Contains(st, []byte(s.tag)) {
				delivered++
			}
			return delivered == s.messages
		})
	default:
		return fmt.Errorf("--kill-on must be acked or delivered")
	}
	if err != nil {
		return err
	}
	took := time.Since(begin)
	for pid := range tree(s.pids) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	r.put("messages", s.messages, "")
	r.put("kill_on", s.sigkill, "")
	r.put("confirmed_after_ms", float64(took)/1e6, "ms")
	return nil
}

// runSurvived counts the messages of a crash run in both users' archives.
func runSurvived(s *settings, r *report) error {
	users := userRange(s.prefix, s.first, 2)
	conns, err := loginAll(&s.options, users, "y", 2, nil, nil)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	r.put("messages", s.messages, "")
	for i, c := range conns {
		seen := make([]int, s.messages)
		w := window{
			with:  users[i^1] + "@" + s.domain,
			start: time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339),
			max:   s.page,
		}
		for n, done := 0, false; !done; n++ {
			w.after, done, err = c.page(s, "p"+strconv.Itoa(n), w, func(st []byte) {
				k, e := strconv.Atoi(string(numberAfter(st, s.tag+"-")))
				if e == nil && k < len(seen) {
					seen[k]++
				}
			})
			if err != nil {
				return err
			}
		}
		lost, twice := 0, 0
		for _, k := range seen {
			if k == 0 {
				lost++
			} else if k > 1 {
				twice++
			}
		}
		who := []string{"sender", "receiver"}[i]
		r.put(who+"_archive_lost", lost, "")
		r.put(who+"_archive_twice", twice, "")
	}
	return nil
}
