"""The workloads: each with its xload arguments, figures, peers and targets."""
import re
from collections import namedtuple

# A figure of a result, and whether more (+1) or less (-1) of it is better.
Metric = namedtuple("Metric", "name sign")

# A target for Parley. `against` is "durable" or "volatile" (the best peer with,
# or without, an archive that is synced before delivery), "any",
# "self" (Parley's own figure in `of`), or None for an absolute figure; `factor`
# multiplies that median. `of` is the other's workload where it is another one.
Bar = namedtuple("Bar", "metric against factor of", defaults=(None,))

# peers: the variants that run by default. fresh: needs a server process that
# has done nothing yet, since it measures memory. warm: accounts whose SCRAM
# keys the generator derives beforehand, as (prefix, first, number). prefill:
# the store gets a past first. partner: the servers federate, with this one (see federation.py).
# retained: measured once more while messages go by their age (see retention.py). backup: a large database is copied again and
# again meanwhile.
Workload = namedtuple(
    "Workload", "name args metrics peers bars fresh warm prefill partner retained beside", defaults=(None, False, None))

VOLATILE = ("p-none", "e-none")
DURABLE = ("e-sqlite", "e-pgsql")
DURABLE_FEDERATED = ("p-sqlite",) + DURABLE

LATENCY = [Metric("p50_ms", -1), Metric("p95_ms", -1), Metric("p99_ms", -1)]
TAIL = LATENCY + [Metric("p999_ms", -1), Metric("max_ms", -1), Metric("server_cpu_pct", -1)]
MEMORY = [Metric("kib_per_session", -1), Metric("rss_before_mib", -1), Metric("rss_after_mib", -1),
          Metric("server_cpu_pct", -1)]

REACH = [Metric("reach_p50_ms", -1), Metric("reach_p99_ms", -1)]
# slow_: beside an occupant who reads nothing.
ROOM = [Metric("members_per_s", 1), Metric("members_per_cpu_s", 1), Metric("joins_per_s", 1), Metric("joins_per_cpu_s", 1),
        Metric("join_p50_ms", -1), Metric("join_p99_ms", -1), Metric("shown_per_join", -1),
        Metric("rss_before_mib", -1), Metric("rss_joined_mib", -1), Metric("kib_per_occupant", -1),
        Metric("lists_per_s", 1), Metric("lists_per_cpu_s", 1),
        Metric("deliveries_per_s", 1), Metric("deliveries_per_cpu_s", 1), *LATENCY, *REACH,
        *(Metric("slow_" + m.name, m.sign) for m in LATENCY + REACH),
        Metric("slow_catch_up_ms", -1), Metric("rss_after_mib", -1), Metric("leaves_per_s", 1), Metric("leaves_per_cpu_s", 1)]


TRIPS = [Metric("round_trips", -1), Metric("round_trips_behind_features", -1)]
# Pages of one dialog and of all; the last is what a page of all costs the server at most, by what one of a dialog costs.
PAGES = [*(Metric(place + figure, sign) for place in (
    "dialog_first", "dialog_middle", "dialog_last", "first", "middle", "last")
    for figure, sign in (("_pages_per_cpu_s", 1), ("_p50_ms", -1), ("_p99_ms", -1))), Metric("whole_to_dialog", -1)]


def rate(unit, *more):
    return [Metric(unit + "_per_s", 1), Metric(unit + "_per_cpu_s", 1), *more, *LATENCY]


def workload(name, args, metrics, peers=VOLATILE, bars=(), fresh=False, warm=(("u", 0, 100),), prefill=False, partner=None, retained=False, beside=None):
    return name, Workload(name, args, metrics, peers, bars, fresh, warm, prefill, partner, retained, beside)


def federated(name, args, metrics, bars=(), partner="remote", fresh=False):
    return workload(name, args + " --tls", metrics, DURABLE_FEDERATED, bars, fresh, (("u", 0, 400),), False, partner)


# What the attacks of a workload do to others (xload's `beside`), each by figures of its own. Those of a bar: what they add to the 99th percentile of
# witnesses, and what is left of it ten seconds behind the attack.
NOTICED = [Metric("quiet_p50_ms", -1), Metric("quiet_p99_ms", -1), Metric("p50_ms", -1), Metric("p99_ms", -1), Metric("after_p50_ms", -1),
           Metric("after_p99_ms", -1), Metric("p99_added_ms", -1), Metric("p99_left_ms", -1), Metric("login_p99_ms", -1),
           Metric("logins_refused", -1), Metric("mib_added", -1), Metric("mib_left", -1)]
BOUNDS = {"p99_added_ms": 20, "p99_left_ms": 20, "logins_refused": 0, "mib_added": 256}


def beside(name, kinds, args, figures, warm=()):
    """Parley alone, with its default bounds: other servers have none, or need settings for them."""
    own = [Metric("%s_%s" % (kind.replace("-", "_"), m.name), m.sign) for kind in kinds for m in NOTICED if m.name in figures]
    bars = [Bar("%s_%s" % (kind.replace("-", "_"), figure), None, most) for kind in kinds for figure, most in BOUNDS.items() if figure in figures]
    return workload(name, "beside --kinds %s %s --users 40 --rate 100 --from 10.77.0.150 --tls" % (",".join(kinds), args), own, (), bars, True,
                    (("u", 0, 400), *warm), False, "remote", beside="bounds")


# In no whole `run`: `make attacks` measures them.
ATTACKS = {
    "attacks-doors": ["downloads", "silent", "halves", "bodies", "handshakes", "registrations"],
    "attacks-sending": ["flood-small", "flood-large", "flood-sessions", "flood-app"],
    "attacks-rooms": ["room-messages", "room-nicks", "room-presence", "room-entrances", "deaf"],
    "attacks-room5000": ["room-messages", "room-nicks", "room-presence", "room-entrances"],
}
OPERATIONS = {
    "fairness-app": ["search", "search-candidates", "dialogs", "public-dialogs", "history", "users", "sync", "posts", "reactions", "groups", "slots",
                     "profile", "exports"],
    "fairness-xmpp": ["archive", "full-text", "inbox", "room-search", "user-search", "room-list", "roster", "contacts", "items", "presence",
                      "entrances", "messages", "messages-large"],
}

ALL_USERS = (("u", 0, 5000),)
LOGIN = "login --users 2000 --parallel 16"
ACROSS = "across --users 50 --window 8 --duration 4s --warmup 1s"
ORDER = [Metric("all_ms", -1), Metric("messages_per_cpu_s", 1)]
CHAT = "chat --users 100 --window 8 --duration 4s --warmup 1s"

WORKLOADS = dict([
    workload("login", LOGIN, rate("logins"), warm=ALL_USERS, bars=[Bar("logins_per_cpu_s", "any", 2)]),
    workload("login-tls", LOGIN + " --tls", rate("logins", *TRIPS), warm=ALL_USERS,
             bars=[Bar("logins_per_cpu_s", "any", 1)]),
    # Parley alone: the modules for both that are packaged with this Prosody want a later one, ejabberd has none.
    workload("login-sasl2", LOGIN + " --tls --sasl2", rate("logins", *TRIPS), peers=(), warm=ALL_USERS,
             bars=[Bar("logins_per_cpu_s", "any", 1, of="login-tls")]),
    workload("login-fast", LOGIN + " --tls --sasl2 --fast", rate("logins", *TRIPS), peers=(), warm=ALL_USERS,
             bars=[Bar("logins_per_cpu_s", "any", 3, of="login-tls"), Bar("round_trips_behind_features", None, 1)]),
    workload("chat", CHAT, rate("messages"), peers=VOLATILE + DURABLE,
             bars=[Bar("messages_per_cpu_s", "durable", 15), Bar("messages_per_cpu_s", "volatile", 1.5)]),
    workload("chat-tls", CHAT + " --tls", rate("messages"), peers=VOLATILE + DURABLE),
    workload("chat-sm", CHAT + " --sm", rate("messages")),
    workload("chat-w1", "chat --users 100 --window 1 --duration 4s --warmup 1s", rate("messages"),
             peers=VOLATILE + DURABLE),
    workload("chat-300", "chat --users 100 --rate 300 --duration 60s --warmup 2s", TAIL, peers=VOLATILE + DURABLE,
             bars=[Bar("p99_ms", None, 1.5)]),
    workload("chat-300-retention", "chat --users 100 --rate 300 --duration 60s --warmup 2s",
             [*LATENCY, Metric("quiet_p50_ms", -1), Metric("quiet_p99_ms", -1), Metric("p99_added_ms", -1), Metric("removed_per_s", 1)],
             peers=(), warm=(("u", 0, 600),), prefill=True, retained=True, bars=[Bar("p99_added_ms", None, 0.1)]),
    # Five first loads of the web client each second, by a hundred users' chat.
    workload("chat-300-visits", "chat --users 100 --rate 300 --duration 60s --warmup 2s",
             TAIL + [Metric("visits", 1), Metric("visit_p50_ms", -1), Metric("visit_kib", -1)], peers=(), beside="visits",
             bars=[Bar("p99_ms", "self", 0.8, of="chat-300")]),
    # The last that is measured, since its database stays large. A factor of two for the 99th percentile.
    workload("chat-300-backup", "chat --users 100 --rate 300 --duration 60s --warmup 2s",
             TAIL + [Metric("backup_s", -1), Metric("backup_gb", 1)], peers=(), beside="backups",
             bars=[Bar("p99_ms", "self", 0.5, of="chat-300")]),
    workload("chat-2000", "chat --users 100 --rate 2000 --duration 10s --warmup 1s", TAIL),
    workload("muc200", "muc --rooms 1 --members 200 --senders 4 --window 2 --duration 4s --warmup 1s",
             rate("deliveries", Metric("joins_per_s", 1)), warm=(("u", 0, 400),),
             bars=[Bar("deliveries_per_cpu_s", "volatile", 1.5)]),
    workload("muc20x20", "muc --rooms 20 --members 20 --senders 2 --window 2 --duration 4s --warmup 1s",
             rate("deliveries", Metric("joins_per_s", 1)), warm=(("u", 0, 400),),
             bars=[Bar("deliveries_per_cpu_s", "volatile", 2)]),
    # By hand also with peers (--only): they need many minutes for 2,000 to join, since each is shown to all.
    workload("room5000", "room --members 5000 --occupants 2000 --senders 4 --window 2 --rate 10 --duration 6s --warmup 1s",
             ROOM, peers=(), fresh=True, warm=ALL_USERS),
    workload("presence", "presence --senders 10 --contacts 100 --window 2 --duration 4s --warmup 1s",
             rate("updates"), warm=(("c", 0, 100), ("b", 0, 10)), bars=[Bar("updates_per_cpu_s", "any", 1.5)]),
    workload("pep500", "pep --user r1000 --contacts 500 --window 2 --duration 4s --warmup 1s", rate("deliveries"),
             warm=(("c", 0, 500),), bars=[Bar("deliveries_per_cpu_s", "any", 1.5)]),
    workload("roster100", "roster --user r100 --duration 4s --warmup 1s", rate("gets"), warm=()),
    workload("roster1000", "roster --user r1000 --duration 4s --warmup 1s", rate("gets"), warm=(),
             bars=[Bar("gets_per_cpu_s", "any", 3)]),
    workload("mam", "mam --first 4000 --users 8 --messages 500 --duration 3s",
             rate("pages", Metric("results_per_s", 1), Metric("stores_per_s", 1)), peers=DURABLE,
             warm=(("u", 4000, 8),), bars=[Bar("pages_per_cpu_s", "any", 4)]),
    workload("mam-random", "mam-random --first 4200 --users 8 --messages 5000 --duration 4s",
             rate("pages", Metric("results_per_s", 1)), peers=DURABLE, warm=(("u", 4200, 8),)),
    # The first on a small archive, since a peer needs an hour to store a million messages.
    workload("archive-10k", "archive --user r100 --contacts 100 --messages 10000 --duration 9s", PAGES, peers=DURABLE,
             warm=(("c", 0, 100),), bars=[Bar("whole_to_dialog", None, 2)]),
    workload("archive", "archive --user r1000 --contacts 1000 --messages 1000000 --duration 9s", PAGES, peers=(),
             warm=(("c", 0, 1000),), bars=[Bar("whole_to_dialog", None, 2)]),
    workload("inbox", "inbox --user r1000 --contacts 1000 --messages 1000000 --duration 4s --warmup 1s", rate("inboxes"),
             peers=(), warm=(("c", 0, 1000),), bars=[Bar("p99_ms", None, 20)]),
    workload("chat-real", "chat-real --prefix k --group 51 --users 100 --window 8 --duration 6s --warmup 2s",
             rate("messages"), peers=DURABLE, warm=(("k", 0, 1020),), prefill=True,
             bars=[Bar("messages_per_cpu_s", "durable", 10)]),
    workload("chat-carbons", "chat-real --devices 2 --prefix k --group 51 --users 100 --window 8 --duration 6s --warmup 2s",
             rate("messages"), peers=DURABLE, warm=(("k", 0, 1020),), prefill=True),
    workload("idle2000", "idle --users 2000 --duration 15s", MEMORY, fresh=True, warm=ALL_USERS),
    workload("idle2000-tls", "idle --users 2000 --duration 15s --tls", MEMORY, fresh=True, warm=ALL_USERS,
             bars=[Bar("kib_per_session", None, 24)]),
    workload("idle5000", "idle --users 5000 --duration 15s", MEMORY, fresh=True, warm=ALL_USERS,
             bars=[Bar("kib_per_session", None, 9)]),
    # The app protocol. Many users, since each may send 200 messages a second. Its messages have ids by which repeats are
    # known; `chat-ids` shows what that costs between XMPP clients, the bar is against the cheapest message there is.
    workload("chat-400", "chat --users 400 --window 2 --duration 4s --warmup 1s", rate("messages"), peers=(),
             warm=(("u", 0, 400),)),
    workload("chat-ids", "chat --ids --users 400 --window 2 --duration 4s --warmup 1s", rate("messages"), peers=(), warm=()),
    # Users of its own: what nobody has confirmed is said again to who logs in by XMPP.
    workload("app-chat", "app-chat --first 800 --users 400 --window 2 --duration 4s --warmup 1s", rate("messages"), peers=(),
             warm=(("u", 800, 400),),
             bars=[Bar("messages_per_cpu_s", "self", 0.67, of="chat-400")]),
    workload("app-mixed", "app-chat --mixed --first 400 --users 400 --window 2 --duration 4s --warmup 1s", rate("messages"), peers=(),
             warm=(("u", 400, 400),), bars=[Bar("messages_per_cpu_s", "self", 0.67, of="chat-400")]),
    workload("rest", "rest --users 64 --duration 4s --warmup 1s", rate("messages"), peers=(), warm=()),
    workload("app-idle10k", "app-idle --users 5000 --devices 2 --duration 3s", MEMORY, peers=(), fresh=True, warm=()),
    # Metrics: what a scrape takes with 10,000 sessions and does to their deliveries, and what a scrape a second costs chat.
    workload("scrape10k", "scrape --users 5000 --devices 2 --senders 100 --rate 300 --scrapes 5 --duration 20s --warmup 2s", [
        *(Metric("scrape_" + m.name, -1) for m in LATENCY), Metric("scrape_max_ms", -1), Metric("quiet_p99_ms", -1),
        Metric("beside_p99_ms", -1), Metric("quiet_max_ms", -1), Metric("beside_max_ms", -1), Metric("p99_added_ms", -1)],
        peers=(), warm=(("c", 0, 100),), bars=[Bar("scrape_p99_ms", None, 10), Bar("p99_added_ms", None, 1)]),
    workload("chat-scraped", "scrape --users 0 --senders 100 --window 8 --scrapes 1 --duration 8s --warmup 1s", [
        Metric("quiet_messages_per_cpu_s", 1), Metric("beside_messages_per_cpu_s", 1), Metric("cost_pct", -1)],
        peers=(), warm=(("c", 0, 100),), bars=[Bar("cost_pct", None, 2)]),
    # A user may ask a hundred times a second, and wait beyond that.
    workload("dialogs", "dialogs --user b9 --peers u --contacts 5000 --messages 1000000 --asks 100 --duration 4s --warmup 1s",
             rate("pages"), peers=(), warm=ALL_USERS, bars=[Bar("p99_ms", None, 10)]),
    workload("idle-contacts", "idle --prefix k --users 1020 --duration 3s", MEMORY, fresh=True,
             warm=(("k", 0, 1020),)),
    # Federation: `remote` is xload's own server, `partner` a Prosody.
    federated("fed-out", ACROSS, rate("messages"), bars=[Bar("messages_per_cpu_s", "durable", 5)]),
    federated("fed-in", ACROSS + " --into", rate("messages"), bars=[Bar("messages_per_cpu_s", "durable", 5)]),
    federated("fed-out-prosody", ACROSS, rate("messages"), bars=[Bar("messages_per_cpu_s", "durable", 5)], partner="partner"),
    federated("fed-in-prosody", ACROSS + " --into", rate("messages"), bars=[Bar("messages_per_cpu_s", "durable", 5)],
              partner="partner"),
    federated("fed-order-out", "order --messages 500", ORDER, bars=[Bar("all_ms", None, 3000)], partner="partner"),
    federated("fed-order-in", "order --messages 500 --into", ORDER, bars=[Bar("all_ms", None, 3000)], partner="partner"),
    federated("fed-first", "first --users 50 --domains 50", [*LATENCY, Metric("domains_per_cpu_s", 1)],
              bars=[Bar("p50_ms", None, 500)]),
    federated("fed-domains", "domains --users 400 --domains 2000 --duration 12s", [
        Metric("domains_per_s", 1), Metric("domains_per_cpu_s", 1), *LATENCY, Metric("opening_at_once", -1),
        Metric("rss_before_mib", -1), Metric("rss_peak_mib", -1), Metric("rss_after_mib", -1), Metric("kib_per_link", -1)],
        bars=[Bar("kib_per_link", None, 60), Bar("opening_at_once", None, 64)], fresh=True),
    federated("fed-domains-in", "domains --into --users 1 --domains 2000 --duration 12s", [
        Metric("domains_per_s", 1), Metric("domains_per_cpu_s", 1), *LATENCY, Metric("rss_before_mib", -1),
        Metric("rss_after_mib", -1), Metric("kib_per_link", -1)], bars=[Bar("kib_per_link", None, 60)], fresh=True),
    federated("fed-domains-both", "domains --both --users 400 --domains 2000 --duration 12s", [
        Metric("rss_before_mib", -1), Metric("rss_after_mib", -1), Metric("kib_per_link", -1)], bars=[Bar("kib_per_link", None, 60)], fresh=True),
    federated("fed-half-open", "half-open --users 10 --messages 150 --streams 1000", [
        Metric("quiet_p99_ms", -1), Metric("opening_p99_ms", -1), Metric("held_p50_ms", -1), Metric("held_p99_ms", -1),
        Metric("p99_added_ms", -1), Metric("p99_added_while_opening_ms", -1), Metric("half_open_first", 1), Metric("half_open_last", 1)],
        bars=[Bar("p99_added_ms", None, 50), Bar("p99_added_while_opening_ms", None, 50)], fresh=True),
    federated("fed-strangers", "strangers --users 40 --rate 200 --messages 5000 --duration 8s --warmup 1s --user u399", [
        Metric("quiet_p99_ms", -1), Metric("beside_p50_ms", -1), Metric("beside_p99_ms", -1), Metric("p99_added_ms", -1),
        Metric("strangers_heard", -1), Metric("strangers_refused", 1)],
        bars=[Bar("strangers_heard", None, 30), Bar("p99_added_ms", None, 50)], fresh=True),
    *(beside(name, kinds, "--occupants 1000 --duration 6s --warmup 1s", [m.name for m in NOTICED])
      for name, kinds in ATTACKS.items() if name != "attacks-room5000"),
    # The sessions of the room take memory by themselves, which has no target.
    beside("attacks-room5000", ATTACKS["attacks-room5000"], "--occupants 5000 --duration 6s --warmup 1s",
           [m.name for m in NOTICED if m.name not in ("mib_added", "mib_left")]),
    *(beside(name, kinds, "--user r100 --contacts 100 --messages 6000 --duration 4s --warmup 1s",
             ["quiet_p99_ms", "p99_ms", "p99_added_ms", "logins_refused"], (("c", 0, 100),)) for name, kinds in OPERATIONS.items()),
])

# What `run` measures without further words. Not in it: what varies only in a
# detail.
DEFAULT = ["login", "login-tls", "login-sasl2", "login-fast", "roster1000", "presence", "pep500", "muc200", "muc20x20", "room5000", "chat", "chat-tls", "chat-300", "mam", "mam-random", "chat-real",
           "archive-10k", "idle5000", "idle2000-tls", "idle-contacts", "chat-400", "chat-ids", "app-chat", "app-mixed", "rest", "app-idle10k", "scrape10k", "chat-scraped", "chat-300-visits", "archive", "inbox", "dialogs",
            # Last, as the store has less behind them, and then more.
            "chat-300-retention", "chat-300-backup"] + [
    name for name, load in WORKLOADS.items() if load.partner and name not in ATTACKS]

# Names of workloads in charts and in the table of targets.
TITLES = {
    "login": "logins", "login-tls": "logins over TLS", "login-sasl2": "logins by SASL2", "login-fast": "logins by token",
    "chat": "chat", "chat-real": "realistic chat", "chat-300": "chat, 300 a second", "chat-300-retention": "chat beside retention",
    "chat-300-visits": "chat beside visits", "chat-300-backup": "chat, 300 a second, during a backup", "muc200": "room of 200",
    "muc20x20": "20 rooms of 20", "presence": "presence", "pep500": "PEP to 500 contacts", "roster1000": "roster of 1,000",
    "mam": "archive pages", "idle2000-tls": "2,000 sessions, TLS", "idle5000": "5,000 sessions",
    "scrape10k": "scrapes, 10,000 sessions", "chat-scraped": "chat beside scrapes",
    "idle2000": "2,000 sessions", "idle-contacts": "1,020 with contacts", "app-idle10k": "10,000 WebSockets",
}


def title(name):
    return TITLES.get(name, name)


def quick(args):
    """The same workload, far shorter: for trying out, not for figures."""
    short = {"duration": (2, "s"), "warmup": (1, "s"), "users": (200, ""), "messages": (300, ""), "domains": (100, ""), "streams": (100, ""),
             "members": (250, ""), "occupants": (200, ""), "contacts": (20, "")}

    def cut(m):
        most, unit = short[m.group(1)]
        return "--%s %d%s" % (m.group(1), min(int(m.group(2)), most), unit)
    args = re.sub(r"--(duration|warmup|users|messages|members|occupants|contacts|domains|streams) (\d+)s?", cut, args)
    return re.sub(r"--first (\d+)", lambda m: "--first %d" % (int(m.group(1)) // 20), args)
