package main

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// scraper asks for the server's metrics --scrapes times a second, as Prometheus does every few seconds.
type scraper struct {
	lat   hist
	bytes int64
	stop  chan struct{}
	done  chan error
}

func startScraper(s *settings) *scraper {
	x := &scraper{stop: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		client := &http.Client{Timeout: s.timeout}
		defer client.CloseIdleConnections()
		tick := time.NewTicker(time.Duration(float64(time.Second) / s.scrapes))
		defer tick.Stop()
		for {
			select {
			case <-x.stop:
				x.done <- nil
				return
			case <-tick.C:
			}
			if err := x.once(client, s.metrics); err != nil {
				x.done <- err
				return
			}
		}
	}()
	return x
}

func (x *scraper) once(client *http.Client, address string) error {
	began := time.Now()
	answer, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("a scrape has status %d", answer.StatusCode)
	}
	x.lat.add(int64(time.Since(began)))
	x.bytes = n
	return err
}

func (x *scraper) end() error {
	close(x.stop)
	return <-x.done
}

// runScrape holds WebSockets of --users on --devices each, has --senders other accounts (--peers) chat, alone and beside
// scrapes of the metrics, and tells what the scrapes took and what they did to the chat.
func runScrape(s *settings, r *report) error {
	if s.metrics == "" || s.scrapes <= 0 {
		return fmt.Errorf("scrape needs --metrics and --scrapes")
	}
	if s.users > 0 && s.http == "" {
		return errNoHTTP
	}
	sessions, err := signInAll(s, userRange(s.prefix, s.first, s.users), func(session appSession) {
		session.conn.drain()
		session.api.close()
	})
	defer closeSessions(sessions)
	if err != nil {
		return err
	}
	users := userRange(s.peers, 0, s.senders/2*2)
	r.put("sessions", len(sessions), "")
	if err := s.chatBeside(users, "quiet_", r); err != nil {
		return err
	}
	x := startScraper(s)
	err = s.chatBeside(users, "beside_", r)
	if wrong := x.end(); err == nil {
		err = wrong
	}
	if err != nil {
		return err
	}
	r.put("scrapes", int(x.lat.n), "")
	r.put("scrape_kib", float64(x.bytes)/1024, "KiB")
	r.latency("scrape_", &x.lat)
	r.put("p99_added_ms", r.value("beside_p99_ms")-r.value("quiet_p99_ms"), "ms")
	quiet, beside := r.value("quiet_messages_per_cpu_s"), r.value("beside_messages_per_cpu_s")
	r.put("cost_pct", 100*(1-beside/quiet), "%")
	return nil
}
