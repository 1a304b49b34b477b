package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Sessions of the app protocol: a login over HTTP, then a WebSocket (RFC 6455)
// whose text frames are JSON. A session is a conn like an XMPP one: what it
// reads and writes are frames instead of stanzas.

// ackEvery events are acknowledged together.
const ackEvery = 64

// frame wraps a command as a client does. The mask is zero, which is a mask
// like any other and leaves the text as it is.
func frame(payload []byte) []byte {
	b := append(frameHead(len(payload)), payload...)
	return b
}

func frameHead(length int) []byte {
	b := []byte{0x81}
	switch {
	case length < 126:
		b = append(b, 0x80|byte(length))
	case length < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(length))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(length))
	}
	return append(b, 0, 0, 0, 0)
}

// nextFrame returns the payload of one text frame, or ok=false when more data
// is needed. Pings are answered on the way.
func (c *conn) nextFrame() (payload []byte, ok bool, err error) {
	for {
		b := c.buf[c.pos:c.w]
		if len(b) < 2 {
			return nil, false, nil
		}
		head, length := 2, int(b[1]&0x7f)
		switch length {
		case 126:
			if head = 4; len(b) < head {
				return nil, false, nil
			}
			length = int(binary.BigEndian.Uint16(b[2:]))
		case 127:
			if head = 10; len(b) < head {
				return nil, false, nil
			}
			length = int(binary.BigEndian.Uint64(b[2:]))
		}
		if len(b) < head+length {
			return nil, false, nil
		}
		c.start, c.pos = c.pos+head+length, c.pos+head+length
		payload = b[head : head+length]
		switch b[0] {
		case 0x81:
			return payload, true, nil
		case 0x89:
			pong := frame(payload)
			pong[0] = 0x8a
			if err := c.write(pong, 0); err != nil {
				return nil, false, err
			}
		case 0x8a:
		case 0x88:
			return nil, false, fmt.Errorf("closed by the server: %q", payload)
		default:
			return nil, false, fmt.Errorf("a frame begins with %#x", b[0])
		}
	}
}

var eventHead = []byte(`"type":"message.created"`)
var cursorHead = []byte(`"cursor":"`)
var errorHead = []byte(`"error":{`)

// isMessage tells whether a frame is a message's event. The type stands at its
// beginning.
func isMessage(b []byte) bool {
	if len(b) > 64 {
		b = b[:64]
	}
	return bytes.Contains(b, eventHead)
}

// isRefusal tells whether a frame answers a command with a problem.
func isRefusal(b []byte) bool {
	return bytes.HasPrefix(b, []byte(`{"re":`)) && bytes.Contains(b, errorHead)
}

// acknowledge tells the server, now and then, how far the session has read.
func (c *conn) acknowledge(b []byte) {
	if !isMessage(b) {
		return
	}
	c.handled++
	if c.handled%ackEvery != 0 {
		return
	}
	i := bytes.Index(b, cursorHead)
	if i < 0 {
		return
	}
	cursor := b[i+len(cursorHead):]
	if j := bytes.IndexByte(cursor, '"'); j >= 0 {
		c.write(frame([]byte(`{"id":"a","type":"ack","data":{"cursor":"`+string(cursor[:j])+`"}}`)), 0)
	}
}

// api is the app protocol over HTTP, with one connection of its own.
type api struct {
	base  string
	http  *http.Client
	token string
}

func newAPI(address string) *api {
	return &api{base: "http://" + address + "/v1", http: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 1, MaxConnsPerHost: 1},
	}}
}

// call asks, again where the server asks to wait, and decodes the answer.
func (a *api) call(method, path string, in, out interface{}) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	for {
		status, answer, err := a.raw(method, path, body)
		if err != nil {
			return err
		}
		if status == http.StatusTooManyRequests {
			time.Sleep(200 * time.Millisecond)
			continue
		}
		if status >= 300 {
			return fmt.Errorf("%s %s: %d %s", method, path, status, answer)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(answer, out)
	}
}

func (a *api) raw(method, path string, body []byte) (int, []byte, error) {
	q, err := http.NewRequest(method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		q.Header.Set("Authorization", "Bearer "+a.token)
	}
	p, err := a.http.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer p.Body.Close()
	answer, err := io.ReadAll(p.Body)
	return p.StatusCode, answer, err
}

// signIn logs a user in on a device.
func (a *api) signIn(o *settings, user, device string) error {
	var session struct {
		AccessToken string `json:"accessToken"`
	}
	err := a.call("POST", "/sessions", map[string]string{
		"grant": "password", "username": user, "password": o.password, "deviceId": device}, &session)
	a.token = session.AccessToken
	return err
}

// dialog opens the private dialog with another user.
func (a *api) dialog(user string) (id string, err error) {
	var dialog struct {
		ID string `json:"id"`
	}
	err = a.call("POST", "/dialogs", map[string]string{"type": "private", "userId": user}, &dialog)
	return dialog.ID, err
}

func (a *api) close() { a.http.CloseIdleConnections() }

// openSocket opens the WebSocket of a session that is signed in, and says hello.
func openSocket(s *settings, user, token string) (*conn, error) {
	nc, err := net.DialTimeout("tcp", s.http, s.timeout)
	if err != nil {
		return nil, err
	}
	c := &conn{nc: nc, user: user, socket: true}
	nc.SetDeadline(time.Now().Add(s.timeout))
	_, err = io.WriteString(nc, "GET /v1/ws HTTP/1.1\r\nHost: "+s.http+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: parley.v1\r\n\r\n")
	if err != nil {
		nc.Close()
		return nil, err
	}
	// The answer is read a byte at a time: what follows it are frames.
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if _, err = io.ReadFull(nc, one); err != nil || len(head) > 8192 {
			nc.Close()
			return nil, fmt.Errorf("no upgrade: %q %v", head, err)
		}
		head = append(head, one[0])
	}
	if !strings.HasPrefix(string(head), "HTTP/1.1 101 ") {
		nc.Close()
		return nil, fmt.Errorf("no upgrade: %q", head)
	}
	nc.SetDeadline(time.Time{})
	hello := `{"id":"1","type":"hello","data":{"token":"` + token + `"}}`
	if err = c.write(frame([]byte(hello)), 0); err != nil {
		nc.Close()
		return nil, err
	}
	if _, err = c.await(s.timeout, func(b []byte) bool { return bytes.Contains(b, []byte(`"type":"caught_up"`)) }); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// appSession is a signed-in session: its socket, and the API under its token.
type appSession struct {
	*conn
	api *api
}

// signInAll signs users in, --parallel at a time, each on --devices devices. The sessions of a user stand
// beside each other.
func signInAll(s *settings, users []string, then func(appSession)) ([]appSession, error) {
	sessions := make([]appSession, len(users)*s.devices)
	errs := make(chan error, len(sessions))
	slots := make(chan struct{}, s.parallel)
	var group sync.WaitGroup
	for i := range sessions {
		group.Add(1)
		slots <- struct{}{}
		go func(i int) {
			defer func() { <-slots; group.Done() }()
			user := users[i/s.devices]
			a := newAPI(s.http)
			err := a.signIn(s, user, "x"+strconv.Itoa(i%s.devices))
			if err == nil {
				var c *conn
				if c, err = openSocket(s, user, a.token); err == nil {
					sessions[i] = appSession{c, a}
					if then != nil {
						then(sessions[i])
					}
				}
			}
			if err != nil {
				errs <- fmt.Errorf("%s: %w", user, err)
			}
		}(i)
	}
	group.Wait()
	select {
	case err := <-errs:
		return sessions, err
	default:
		return sessions, nil
	}
}

func closeSessions(sessions []appSession) {
	for _, s := range sessions {
		if s.conn != nil {
			s.conn.nc.Close()
		}
		if s.api != nil {
			s.api.close()
		}
	}
}

var errNoHTTP = errors.New("--http names where the server takes HTTP")
