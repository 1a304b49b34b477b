"""The scripts of `run`, in the order in which they are listed, and what each needs of the machine."""
import dataclasses

# What only one program of a machine can have.
PORT_5222, IRC_PORT = "port 5222", "port 6667"


@dataclasses.dataclass(frozen=True)
class Script:
    """`seconds` and `cores` say what a script takes that takes long, for a first run; later the last run says it. `least` is the number of
    processors below which it fails: sound and pictures in real time do, beside others. `alone`, with the reason, keeps all others away;
    `once`, with the reason, forbids a repetition. A script with `parts` runs once for each, beside each other."""
    name: str
    seconds: float = 15
    cores: float = 0.5
    least: float = 0
    alone: str = ""
    once: str = ""
    holds: tuple = ()
    parts: tuple = ()

    @property
    def labels(self):
        return [f"{self.name}.{part}" for part in self.parts] or [self.name]


SCRIPTS = [
    Script("contract"),
    Script("offered", seconds=35, cores=0.3),
    Script("slixmpp_client"),
    Script("contact_groups"),
    Script("habits", once="what it finds is lost, doubled or out of order"),
    Script("sync_slixmpp"),
    Script("bookmarks_slixmpp"),
    Script("profanity_client"),
    Script("profanity_account"),
    Script("mcabber_client"),
    Script("bitlbee_client", holds=(PORT_5222,)),
    Script("aioxmpp_client"),
    Script("netxmpp_client"),
    Script("finch_client"),
    Script("go_sendxmpp_client"),
    Script("gajim_client", seconds=25, cores=0.3),
    Script("dino_client", holds=(PORT_5222,)),
    Script("profiles_slixmpp"),
    Script("rooms_slixmpp", seconds=30, cores=0.6, once="random choices from a seed"),
    Script("rooms_profanity"),
    Script("pubsub_slixmpp"),
    Script("omemo_slixmpp"),
    Script("omemo_profanity"),
    Script("archive_slixmpp"),
    Script("components"),
    Script("components_rooms"),
    Script("privileges"),
    Script("gateway_biboumi", holds=(IRC_PORT,)),
    Script("gateway_slidge"),
    Script("sasl2"),
    Script("scram"),
    Script("moving", seconds=60, cores=0.5),
    Script("imports", seconds=45, cores=0.6),
    Script("fast"),
    Script("accounts"),
    Script("registration", seconds=20, cores=0.6),
    Script("service_slixmpp"),
    Script("calls"),
    Script("calls_jingle", seconds=30, least=1),
    Script("calls_dino", seconds=25, least=1.5, holds=(PORT_5222,)),
    Script("inbox", seconds=25, cores=0.6),
    Script("uploads"),
    Script("downloads"),
    Script("push", seconds=40, cores=0.1),
    Script("app_properties", seconds=110, cores=0.7),
    Script("security", once="what it finds is an attack that succeeds"),
    Script("networks", seconds=60, cores=1, alone="a busy machine completes fewer handshakes in a second than a network may begin", once="what it finds is an attack that succeeds"),
    Script("proxies"),
    Script("memory", once="what it finds is an attack that succeeds"),
    Script("secrecy", once="what it finds is leaked"),
    Script("web"),
    Script("sdk_js", seconds=70, cores=0.5),
    Script("admin_page", seconds=25, cores=0.8),
    Script("web_client", seconds=35, cores=0.9),
    Script("web_everyday", seconds=25, cores=0.7),
    Script("web_messages", seconds=35, cores=0.7),
    Script("web_people", seconds=30, cores=0.9),
    Script("web_robustness", seconds=45, cores=1),
    Script("web_screens", seconds=30, cores=0.7),
    Script("web_lists", seconds=35, cores=0.6),
    Script("web_calls", least=1),
    Script("web_signin", seconds=25, cores=0.7),
    Script("web_terms"),
    Script("web_phone"),
    Script("web_push"),
    Script("web_engines", seconds=45, least=1),
    Script("web_notifications"),
    Script("sdk_swift", seconds=100, cores=0.4),
    Script("compliance"),
    Script("attacks", seconds=25, cores=0.7, once="what it finds is an attack that succeeds"),
    Script("vulnerabilities", seconds=15, cores=0.6, once="what it finds is an attack that succeeds"),
    Script("mutations", seconds=15, cores=0.5, once="random choices from a seed"),
    Script("lag", seconds=40, cores=0.6, once="what it finds is lost, doubled or out of order"),
    Script("stops", seconds=20, cores=0.6, once="what it finds is lost, doubled or out of order"),
    Script("sending", seconds=22, cores=0.6),
    Script("vanishing"),
    Script("arrivals", seconds=70, cores=2, alone="it keeps both processors busy, and its clients give up after a minute of silence", once="what it finds is lost, doubled or out of order"),
    Script("faults", seconds=35, cores=0.2, once="it decides how the server ends"),
    Script("operating"),
    Script("retention", seconds=25, cores=0.4),
    Script("restore", once="what it finds is lost data"),
    Script("remote", seconds=35, cores=0.7),
    Script("signin_tokens"),
    Script("signin_oauth"),
    Script("push_services", seconds=52, cores=0.1),
    Script("accounts_mail"),
    Script("uploads_parts"),
    Script("uploads_pictures"),
    Script("uploads_scan"),
    Script("uploads_s3"),
    Script("backups_s3", seconds=40, cores=0.4, once="what it finds is lost data"),
    Script("replication", seconds=25, cores=0.7, once="what it finds is lost data"),
    Script("backend"),
    Script("app_qiscus"),
    Script("app_mtchat"),
    Script("app_chatsdk"),
    Script("leaving"),
    Script("app_qmunicate"),
    Script("app_firebase"),
    Script("trace", once="what it finds is sent before it is stored"),
    Script("costs", seconds=50, alone="it counts instructions, to which a busy machine adds some hundredths"),
    Script("metrics"),
    Script("tracing"),
    Script("installation", seconds=60, cores=0.8),
    Script("container"),
    Script("dist"),
    Script("deployments", seconds=30, cores=0.5),
    Script("acme", seconds=40, cores=0.3),
    Script("docs", seconds=75, cores=1),
    Script("architecture"),
    Script("generated", seconds=5),
    Script("published"),
    Script("suite", once="it says what is repeated"),
    Script("federation_lab", seconds=25, cores=0.7),
    Script("federation", seconds=75, cores=0.4, parts=("prosody", "ejabberd", "parley2")),
    Script("federation_check", seconds=25, cores=0.2),
    Script("network_check"),
    Script("federation_components"),
    Script("federation_calls", seconds=30, least=1),
    Script("federation_faults", seconds=40, least=1.5, once="random choices from a seed"),
    Script("federation_guide"),
    Script("production_guide"),
    Script("kill", seconds=30, cores=0.8, once="what it finds is lost, doubled or out of order"),
]

# Of `make check`: both doors, what both share, federation and the web client.
OFTEN = [
    "contract", "slixmpp_client", "habits", "inbox", "uploads", "sasl2", "app_qiscus", "federation.parley2", "web_client", "app_chatsdk"]
