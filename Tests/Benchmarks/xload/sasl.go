package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
)

const (
	saslNS  = "urn:ietf:params:xml:ns:xmpp-sasl"
	sasl2NS = "urn:xmpp:sasl:2"
	bind2NS = "urn:xmpp:bind:0"
	fastNS  = "urn:xmpp:fast:0"
	// Of the mechanisms for tokens the one without channel binding: every server here has it.
	hashedToken = "HT-SHA-256-NONE"
)

// tokens are what accounts may log in with the next time.
type tokens struct {
	mu     sync.Mutex
	byUser map[string]string
}

func newTokens() *tokens { return &tokens{byUser: map[string]string{}} }

func (t *tokens) of(user string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byUser[user]
}

func (t *tokens) put(user, token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byUser[user] = token
}

// agent is a user's device: the same in every run.
func agent(user string) string {
	h := fnv.New64a()
	h.Write([]byte(user))
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", h.Sum64()>>32, h.Sum64()&0xffffffffffff)
}

// authenticateAndBind takes the steps of RFC 6120: SASL, a new stream, a resource.
func (c *conn) authenticateAndBind(o *options, resource string, feat []byte, open func() ([]byte, error)) error {
	if !bytes.Contains(feat, []byte(">"+o.mech+"<")) {
		return fmt.Errorf("%s not offered in %s", o.mech, feat)
	}
	fin, err := c.exchange(o, saslNS, func(initial string) string {
		return "<auth xmlns='" + saslNS + "' mechanism='" + o.mech + "'>" + initial + "</auth>"
	})
	if err != nil {
		return err
	}
	if err := fin.proved(text(fin.success, ">")); err != nil {
		return err
	}
	if _, err = open(); err != nil {
		return err
	}
	if err = c.writeString("<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>" +
		resource + "</resource></bind></iq>"); err != nil {
		return err
	}
	st, err := c.await(o.timeout, withID("bind"))
	if err != nil {
		return err
	}
	return c.bound(text(st, "<jid>"), st)
}

// authenticate2 takes all steps in one (XEP-0388, XEP-0386), by a token where
// there is one (XEP-0484).
func (c *conn) authenticate2(o *options, resource string, feat []byte) error {
	// XEP-0388 wants SASL2's mechanisms in its own element, behind RFC 6120's.
	i := bytes.Index(feat, []byte(sasl2NS))
	if i < 0 || !bytes.Contains(feat[i:], []byte(bind2NS)) {
		return fmt.Errorf("no SASL2 with Bind 2 in %s", feat)
	}
	feat = feat[i:]
	token, request := "", ""
	if o.tokens != nil {
		if token = o.tokens.of(c.user); token == "" {
			request = "<request-token xmlns='" + fastNS + "' mechanism='" + hashedToken + "'/>"
		}
	}
	mech := o.mech
	if token != "" {
		mech = hashedToken
		request = "<fast xmlns='" + fastNS + "'/>"
	}
	if !bytes.Contains(feat, []byte(">"+mech+"<")) {
		return fmt.Errorf("%s not offered in %s", mech, feat)
	}
	start := func(initial string) string {
		return "<authenticate xmlns='" + sasl2NS + "' mechanism='" + mech + "'><initial-response>" + initial +
			"</initial-response><user-agent id='" + agent(c.user) + "'><software>xload</software></user-agent>" +
			"<bind xmlns='" + bind2NS + "'><tag>" + resource + "</tag></bind>" + request + "</authenticate>"
	}
	var fin outcome
	var err error
	if token == "" {
		fin, err = c.exchange(o, sasl2NS, start)
	} else {
		fin.expected = hashed("Responder", token)
		c.writeString(start(base64.StdEncoding.EncodeToString([]byte(c.user + "\x00" + hashed("Initiator", token)))))
		fin.success, err = c.await(o.timeout, named("success", "failure"))
	}
	if err != nil {
		return err
	}
	if !is(fin.success, "success") {
		return fmt.Errorf("refused: %s", fin.success)
	}
	if err := fin.proved(text(fin.success, "<additional-data>")); err != nil {
		return err
	}
	if i := bytes.Index(fin.success, []byte("<token ")); i >= 0 && o.tokens != nil {
		o.tokens.put(c.user, string(attr(fin.success[i:], "token")))
	}
	if !bytes.Contains(fin.success, []byte("<bound")) {
		return fmt.Errorf("not bound: %s", fin.success)
	}
	return c.bound(text(fin.success, "<authorization-identifier>"), fin.success)
}

func (c *conn) bound(jid, st []byte) error {
	if c.jid = string(jid); c.jid == "" {
		return fmt.Errorf("no jid in %s", st)
	}
	return nil
}

func hashed(side, token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte(side))
	return string(m.Sum(nil))
}

// outcome is a success, and what the server must have said in it to prove that
// it knows the account's keys.
type outcome struct {
	success  []byte
	expected string
}

func (o outcome) proved(data []byte) error {
	if o.expected == "" {
		return nil
	}
	got, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil || string(got) != o.expected {
		return fmt.Errorf("the server does not prove that it knows the account: %s", o.success)
	}
	return nil
}

// exchange logs in by a password. start makes the first element of the initial
// response; those behind it are the same in both namespaces.
func (c *conn) exchange(o *options, ns string, start func(string) string) (fin outcome, err error) {
	if o.mech == "PLAIN" {
		if !o.tls {
			return fin, errors.New("PLAIN needs --tls")
		}
		c.writeString(start(base64.StdEncoding.EncodeToString([]byte("\x00" + c.user + "\x00" + o.password))))
	} else if fin.expected, err = c.scram(o, ns, start); err != nil {
		return fin, err
	}
	fin.success, err = c.await(o.timeout, named("success", "failure"))
	if err == nil && !is(fin.success, "success") {
		err = fmt.Errorf("refused: %s", fin.success)
	}
	return fin, err
}

// scram goes as far as the client's proof (RFC 5802), and returns the server's.
func (c *conn) scram(o *options, ns string, start func(string) string) (string, error) {
	var raw [18]byte
	rand.Read(raw[:])
	nonce := hex.EncodeToString(raw[:])
	first := "n=" + c.user + ",r=" + nonce
	c.writeString(start(base64.StdEncoding.EncodeToString([]byte("n,," + first))))
	st, err := c.await(o.timeout, named("challenge", "failure"))
	if err != nil {
		return "", err
	}
	if !is(st, "challenge") {
		return "", fmt.Errorf("refused: %s", st)
	}
	dec, err := base64.StdEncoding.DecodeString(string(text(st, ">")))
	if err != nil {
		return "", err
	}
	var r, salt string
	var i int
	for _, f := range strings.Split(string(dec), ",") {
		switch {
		case strings.HasPrefix(f, "r="):
			r = f[2:]
		case strings.HasPrefix(f, "s="):
			salt = f[2:]
		case strings.HasPrefix(f, "i="):
			i, _ = strconv.Atoi(f[2:])
		}
	}
	if !strings.HasPrefix(r, nonce) || salt == "" || i < 1 {
		return "", fmt.Errorf("bad challenge %q", dec)
	}
	k := o.cache.derive(o.mech, o.password, salt, i)
	bare := "c=biws,r=" + r
	proof, server := k.proofs(o.mech, first+","+string(dec)+","+bare)
	c.writeString("<response xmlns='" + ns + "'>" +
		base64.StdEncoding.EncodeToString([]byte(bare+",p="+proof)) + "</response>")
	return "v=" + server, nil
}
