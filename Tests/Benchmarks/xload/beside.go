package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Attacks, and what others notice: witnesses write to each other and log in, alone, beside an attack, and behind it. An attack is a process
// of its own (`xload attack`), which gives way to the witnesses where both want the processor, and connects from an address of its own.

const (
	recovery = 10 * time.Second // from the end of an attack until all is as before
	phases   = 3
	// The accounts that log in meanwhile, by both doors, one after the other: one account begins 20 sessions at once, and then one a second.
	newcomersFirst, newcomers = 370, 30
)

// arrived is the number of logins so far.
var arrived atomic.Int64

func (s *settings) newcomer() string {
	return s.prefix + strconv.Itoa(newcomersFirst+int(arrived.Add(1))%newcomers)
}

func runBeside(s *settings, r *report) error {
	if s.http == "" {
		return errNoHTTP
	}
	if s.rate <= 0 || s.first+phases*s.users > crowdFirst {
		return fmt.Errorf("beside needs --rate, and at most %d --users", crowdFirst/phases)
	}
	s.from = "" // is the attackers'
	filled := false
	for _, kind := range strings.Split(s.kinds, ",") {
		if attackOf(kind) == nil {
			return fmt.Errorf("there is no attack %q", kind)
		}
		if operations[kind] != nil && !filled {
			if err := furnish(s); err != nil {
				return err
			}
			filled = true
		}
		if err := s.beside(kind, strings.ReplaceAll(kind, "-", "_")+"_", r); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// beside measures one attack.
func (s *settings) beside(kind, prefix string, r *report) error {
	quiet, err := s.witness(0)
	if err != nil {
		return err
	}
	before := treeRSS(s.pids)
	peak := peakOf(s.pids)
	x, err := startAttack(kind)
	if err != nil {
		peak()
		return err
	}
	during, err := s.witness(1)
	done, refused, wrong := x.end()
	most := peak()
	if err == nil {
		err = wrong
	}
	if err == nil && done+refused == 0 {
		err = errors.New("the attack has done nothing")
	}
	if err != nil {
		return err
	}
	time.Sleep(recovery)
	after, err := s.witness(2)
	if err != nil {
		return err
	}
	for _, phase := range []struct {
		name string
		*witnessed
	}{{"quiet_", quiet}, {"", during}, {"after_", after}} {
		r.put(prefix+phase.name+"p50_ms", phase.chat.value("p50_ms"), "ms")
		r.put(prefix+phase.name+"p99_ms", phase.chat.value("p99_ms"), "ms")
		r.put(prefix+phase.name+"login_p99_ms", float64(phase.logins.quantile(0.99))/1e6, "ms")
	}
	r.put(prefix+"p99_added_ms", during.chat.value("p99_ms")-quiet.chat.value("p99_ms"), "ms")
	r.put(prefix+"p99_left_ms", after.chat.value("p99_ms")-quiet.chat.value("p99_ms"), "ms")
	r.put(prefix+"logins_refused", quiet.refused+during.refused+after.refused, "")
	r.put(prefix+"mib_added", float64(most-before)/(1<<20), "MiB")
	r.put(prefix+"mib_left", float64(treeRSS(s.pids)-before)/(1<<20), "MiB")
	r.put(prefix+"attacks", done, "")
	r.put(prefix+"attacks_refused", refused, "")
	for _, phase := range []*witnessed{quiet, during, after} {
		if phase.why != nil {
			fmt.Fprintf(os.Stderr, "xload: %s: a login was refused: %v\n", kind, phase.why)
		}
	}
	return nil
}

// witnessed is what the witnesses of a phase have noticed.
type witnessed struct {
	chat    *report
	logins  hist
	refused int
	why     error
}

// witness has pairs of an app and an XMPP client write to each other, and somebody log in by both doors again and again. Each phase has
// accounts of its own.
func (s *settings) witness(phase int) (*witnessed, error) {
	own := *s
	own.first, own.mixed = s.first+phase*s.users, true
	t, end, err := pairUp(&own)
	defer end()
	if err != nil {
		return nil, err
	}
	w := &witnessed{chat: &report{}}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			w.note(s.logInByXMPP)
			w.note(s.logInByApp)
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	err = t.run(w.chat, "messages")
	close(stop)
	<-done
	return w, err
}

func (w *witnessed) note(logIn func() error) {
	began := time.Now()
	if err := logIn(); err != nil {
		w.refused++
		w.why = err
		return
	}
	w.logins.add(int64(time.Since(began)))
}

func (s *settings) logInByXMPP() error {
	c, err := login(&s.options, s.newcomer(), "late")
	if err != nil {
		return err
	}
	defer c.close()
	return goOnline(&s.options)(c)
}

func (s *settings) logInByApp() error {
	a := newAPI(s.http)
	defer a.close()
	user := s.newcomer()
	body, err := json.Marshal(map[string]string{"grant": "password", "username": user, "password": s.password, "deviceId": "late"})
	if err != nil {
		return err
	}
	status, answer, err := a.raw("POST", "/sessions", body)
	if err != nil {
		return err
	}
	if status != http.StatusCreated {
		return fmt.Errorf("login %s: %d %s", user, status, answer)
	}
	var session struct {
		AccessToken string `json:"accessToken"`
	}
	if err = json.Unmarshal(answer, &session); err != nil {
		return err
	}
	c, err := openSocket(s, user, session.AccessToken)
	if err == nil {
		c.nc.Close()
	}
	return err
}

// attackProcess is an attack under way. It ends with its input, and says then what it has done.
type attackProcess struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startAttack(kind string) (*attackProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arguments := append([]string{"-n", "10", self, "attack"}, os.Args[2:]...)
	x := &attackProcess{command: exec.Command("nice", append(arguments, "--kinds", kind)...)}
	x.command.Stderr = os.Stderr
	if x.in, err = x.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := x.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	x.out = bufio.NewReader(out)
	if err = x.command.Start(); err != nil {
		return nil, err
	}
	if _, err = x.out.ReadString('\n'); err != nil {
		x.in.Close()
		return nil, fmt.Errorf("the attack has not begun: %v", x.command.Wait())
	}
	return x, nil
}

func (x *attackProcess) end() (done, refused int64, err error) {
	x.in.Close()
	_, err = fmt.Fscan(x.out, &done, &refused)
	if ended := x.command.Wait(); err == nil {
		err = ended
	}
	return
}

// peakOf looks at the memory of processes until the function that it returns is called, which returns the most that was seen.
func peakOf(pids []int) func() int64 {
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		var peak int64
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			if now := treeRSS(pids); now > peak {
				peak = now
			}
			select {
			case <-stop:
				most <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-most
	}
}
