// Command xload measures XMPP servers on the local machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are all the knobs; each mode uses some of them.
type settings struct {
	options
	name     string
	pids     []int
	json     string
	prefix   string
	first    int
	users    int
	parallel int
	duration time.Duration
	warmup   time.Duration
	window   int
	rate     float64
	asks     float64
	body     int
	rooms    int
	members  int
	present  int
	senders  int
	contacts int
	messages int
	page     int
	muc      string
	user     string
	peers    string
	http     string
	metrics  string
	scrapes  float64
	mixed    bool
	sigkill  string
	tag      string
	fullJID  bool
	ids      bool
	devices  int
	group    int
	groups   int
	partners int
	kinds    string

	// Federation.
	partner       string
	partnerDomain string
	listen        string
	servers       string
	chain         string
	key           string
	into          bool
	both          bool
	domains       int
	streams       int
}

type mode struct {
	run  func(*settings, *report) error
	help string
}

var modes = map[string]mode{
	"login":      {runLogin, "connect, authenticate, bind and send presence with --users accounts; logins/s"},
	"idle":       {runIdle, "hold --users sessions for --duration; server memory per session"},
	"chat":       {runChat, "--users/2 pairs exchange messages, closed loop (--window) or open loop (--rate)"},
	"muc":        {runMUC, "--rooms rooms of --members occupants, --senders of them talking"},
	"room":       {runRoom, "one room of --members members, --occupants of them there; one more reads nothing"},
	"presence":   {runPresence, "--senders users change presence, each seen by --contacts online contacts"},
	"mam":        {runMAM, "store --messages messages, then page through the archive"},
	"mam-random": {runMAMRandom, "keep an archive of --messages messages, read pages at random places in it"},
	"archive":    {runArchive, "pages of --user's archive of --messages messages in --contacts dialogs: all of it, and one dialog"},
	"inbox":      {runInbox, "fetch the inbox (XEP-0430) of --user, whose archive is filled as by archive, over and over"},
	"pep":        {runPEP, "--user publishes what --contacts online contacts are interested in"},
	"chat-real":  {runChatReal, "chat over TLS with stream management, carbons, ids, receipts and markers"},
	"fill":       {runFill, "store --messages messages in each of groups x group x partners dialogs"},
	"roster":     {runRoster, "fetch the roster of --user over and over"},
	"app-chat":   {runAppChat, "chat over WebSockets of the app protocol; with --mixed half of the users are XMPP clients"},
	"app-idle":   {runAppIdle, "hold WebSocket sessions of --users on --devices each; server memory per session"},
	"rest":       {runREST, "--users users each send one message after the other over HTTP"},
	"scrape":     {runScrape, "chat of --senders accounts (--peers), alone and beside --scrapes scrapes/s of --metrics, with --users x --devices WebSockets held"},
	"dialogs":    {runDialogs, "fetch the first page of --user's dialogs, whose archive is filled as by archive, over and over"},
	"across":     {runAcross, "clients of --domain write to users of --partner-domain, or with --into the other way round"},
	"order":      {runOrder, "--messages messages at once from one client to one of --partner, or with --into the other way round"},
	"first":      {runFirst, "first messages to --domains domains of the remote server, one after the other"},
	"domains":    {runDomains, "first messages to --domains domains of the remote server at once, with --into streams from them, with --both both; server memory per link"},
	"half-open":  {runHalfOpen, "logins beside --streams streams of servers that are begun and go no further"},
	"strangers":  {runStrangers, "chat of --users at --rate, alone and beside --messages strangers of the remote server who write to --user"},
	"beside":     {runBeside, "chat and logins of --users by both doors at --rate, before, during and after each attack of --kinds"},
	"attack":     {runAttack, "one of --kinds, at full rate, until its input ends; of beside"},
	"crash":      {runCrash, "send --messages messages, kill -9 the server once they are confirmed (--kill-on)"},
	"survived":   {runSurvived, "after a restart, count which messages of a crash run (--tag) the archive holds"},
}

var modeOrder = []string{
	"login", "idle", "chat", "chat-real", "fill", "muc", "room", "presence", "pep", "mam", "mam-random", "archive", "inbox", "roster", "app-chat", "app-idle", "rest", "scrape", "dialogs", "across", "order", "first", "domains", "half-open", "strangers", "beside", "attack", "crash", "survived",
}

func usageText() {
	fmt.Fprintln(os.Stderr, "usage: xload MODE [flags]\n\nmodes:")
	for _, m := range modeOrder {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", m, modes[m].help)
	}
	fmt.Fprintln(os.Stderr, "\nflags (xload MODE -h lists them with defaults)")
}

func main() {
	if len(os.Args) < 2 {
		usageText()
		os.Exit(2)
	}
	m, ok := modes[os.Args[1]]
	if !ok {
		usageText()
		os.Exit(2)
	}
	var s settings
	var cachePath, pids, helping string
	var fast bool
	fs := flag.NewFlagSet("xload "+os.Args[1], flag.ExitOnError)
	fs.StringVar(&s.addr, "addr", "127.0.0.1:5222", "server address, on this machine only")
	fs.StringVar(&s.domain, "domain", "localhost", "XMPP domain")
	fs.StringVar(&s.password, "password", "bench", "password of every account")
	fs.StringVar(&s.mech, "mech", "SCRAM-SHA-256", "SASL mechanism: SCRAM-SHA-1, SCRAM-SHA-256 or PLAIN")
	fs.BoolVar(&s.tls, "tls", false, "use STARTTLS")
	fs.BoolVar(&s.sasl2, "sasl2", false, "SASL2 and Bind 2; needs --tls")
	fs.BoolVar(&fast, "fast", false, "login: measure logins by a token (XEP-0484) that was asked for before; with --sasl2")
	fs.BoolVar(&s.sm, "sm", false, "enable stream management and answer its requests")
	fs.DurationVar(&s.timeout, "timeout", 30*time.Second, "limit for each single step")
	fs.StringVar(&cachePath, "scram-cache", "", "file that keeps derived SCRAM keys between runs")
	fs.StringVar(&s.name, "name", "server", "server name for the report")
	fs.StringVar(&pids, "pid", "", "server process ids, comma separated; descendants are included")
	fs.StringVar(&s.json, "json", "-", "append the JSON line to this file (- for standard output)")
	fs.StringVar(&s.prefix, "prefix", "u", "account name prefix")
	fs.IntVar(&s.first, "first", 0, "number of the first account")
	fs.IntVar(&s.users, "users", 100, "number of accounts")
	fs.IntVar(&s.parallel, "parallel", 16, "logins in progress at a time")
	fs.DurationVar(&s.duration, "duration", 10*time.Second, "measured time")
	fs.DurationVar(&s.warmup, "warmup", 2*time.Second, "load before measuring starts")
	fs.IntVar(&s.window, "window", 8, "closed loop: messages in flight per sender")
	fs.Float64Var(&s.asks, "asks", 0, "of what is asked one after the other: at most so many/s (0: as fast as it goes)")
	fs.Float64Var(&s.rate, "rate", 0, "open loop: messages/s over all senders (0: closed loop)")
	fs.IntVar(&s.body, "body", 100, "message body bytes")
	fs.IntVar(&s.rooms, "rooms", 1, "muc: rooms")
	fs.IntVar(&s.members, "members", 20, "muc: occupants per room; room: members")
	fs.IntVar(&s.present, "occupants", 1000, "room: occupants; beside: sessions in an attacked room")
	fs.IntVar(&s.senders, "senders", 1, "muc, room: talking occupants per room; presence: broadcasting users")
	fs.IntVar(&s.contacts, "contacts", 100, "presence, pep: online contacts of each sender; archive, inbox, dialogs: dialogs")
	fs.IntVar(&s.messages, "messages", 1000, "mam, mam-random, crash: messages to store per pair; fill: per dialog; archive, inbox: in all")
	fs.IntVar(&s.page, "page", 50, "mam, mam-random, archive: page size")
	fs.StringVar(&s.muc, "muc", "", "conference domain (default conference.DOMAIN)")
	fs.StringVar(&s.user, "user", "r100", "roster, pep, archive, inbox, dialogs: account")
	fs.StringVar(&s.peers, "peers", "c", "archive, inbox, dialogs: account name prefix of those whom --user talks with; scrape: of those who chat")
	fs.StringVar(&s.http, "http", "", "app-chat, app-idle, rest, dialogs: address of the server's HTTP, loopback only")
	fs.StringVar(&s.metrics, "metrics", "", "scrape: address of the server's metrics, loopback only")
	fs.Float64Var(&s.scrapes, "scrapes", 1, "scrape: scrapes/s")
	fs.BoolVar(&s.mixed, "mixed", false, "app-chat: half of the users are XMPP clients")
	fs.StringVar(&s.sigkill, "kill-on", "delivered", "crash: acked (stream management) or delivered")
	fs.StringVar(&s.tag, "tag", "", "crash, survived: marks the messages of one run")
	fs.BoolVar(&s.ids, "ids", false, "chat, app-chat --mixed: stanzas have ids, as clients' have")
	fs.BoolVar(&s.fullJID, "full-jid", false, "chat: address the full JID instead of the bare one")
	fs.IntVar(&s.devices, "devices", 1, "chat-real, app-idle: sessions per account; of chat-real all but the first get carbons only")
	fs.IntVar(&s.group, "group", 0, "chat-real, fill: accounts per group of contacts (chat-real: 0 for none)")
	fs.IntVar(&s.groups, "groups", 1, "fill: groups")
	fs.IntVar(&s.partners, "partners", 1, "fill: members that each member writes to")
	fs.StringVar(&s.partner, "partner", "", "across, order: address of the other server for clients")
	fs.StringVar(&s.partnerDomain, "partner-domain", "", "the other server's domain, or that of xload's own")
	fs.StringVar(&s.listen, "listen", "", "where xload's own server listens for servers")
	fs.StringVar(&s.servers, "servers", "", "address of the server under test for servers")
	fs.StringVar(&s.chain, "chain", "", "the certificate of xload's own server, PEM")
	fs.StringVar(&s.key, "key", "", "its key, PEM")
	fs.BoolVar(&s.into, "into", false, "across, order: into the server under test")
	fs.BoolVar(&s.both, "both", false, "domains: streams in both directions, as with servers that use each for one")
	fs.IntVar(&s.domains, "domains", 50, "first, domains: so many domains of xload's own server")
	fs.IntVar(&s.streams, "streams", 1000, "half-open: streams")
	fs.StringVar(&s.kinds, "kinds", "", "beside: attacks and operations, separated by commas")
	fs.StringVar(&s.from, "from", "", "beside: the address from which attackers connect")
	fs.StringVar(&helping, "helpers", "", "process ids of what a workload needs beside the server; not counted in other_cpu_pct")
	fs.Parse(os.Args[2:])

	if s.muc == "" {
		s.muc = "conference." + s.domain
	}
	s.pids, helpers = processes(pids), processes(helping)
	for i, address := range []string{s.addr, s.http, s.metrics, s.partner, s.servers} {
		if i > 0 && address == "" {
			continue
		}
		if err := localOnly(address); err != nil {
			fail(err)
		}
	}
	s.cache = loadScramCache(cachePath)
	if s.sasl2 && !s.tls || fast && !s.sasl2 {
		fail(fmt.Errorf("--fast needs --sasl2, and that --tls"))
	}
	if fast {
		s.tokens = newTokens()
	}

	// Nothing may run for ever: every mode has a bound far above its need.
	limit := s.duration + s.warmup + 10*time.Minute
	time.AfterFunc(limit, func() { fail(fmt.Errorf("gave up after %v", limit)) })

	r := &report{mode: os.Args[1]}
	err := m.run(&s, r)
	s.cache.save()
	if len(r.rows) > 0 {
		security := "plain"
		if s.tls {
			security = "tls"
		}
		params := []row{{"security", security, ""}, {"at", time.Now().UTC().Format(time.RFC3339), ""}}
		if e := r.emit(s.json, s.name, params); err == nil {
			err = e
		}
	}
	if err != nil {
		fail(err)
	}
}

// processes reads a list of process ids.
func processes(list string) (ids []int) {
	for _, p := range strings.Split(list, ",") {
		if p == "" {
			continue
		}
		n, err := strconv.Atoi(p)
		if err != nil || n < 2 {
			fail(fmt.Errorf("bad process id %q", p))
		}
		ids = append(ids, n)
	}
	return ids
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "xload:", err)
	os.Exit(1)
}
