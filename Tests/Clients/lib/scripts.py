"""The scripts of `run`, in the order in which they are listed, and what each needs of the machine."""
import dataclasses

# What only one program of a machine can have.
PORT_5222, IRC_PORT = "port 5222", "port 6667"


@dataclasses.dataclass(frozen=True)
class Script:
    """`seconds` and `cores` say what a script takes that takes long, for a first run: later the last run says it. `alone`, with the reason,
    keeps all others away; `once`, with the reason, forbids a repetition; `often` is for `make check`. A script with `parts` runs once for
    each, beside each other."""
    name: str
    seconds: float = 15
    cores: float = 0.5
    alone: str = ""
    once: str = ""
    often: bool = False
    holds: tuple = ()
    parts: tuple = ()

    @property
    def labels(self):
        return [f"{self.name}.{part}" for part in self.parts] or [self.name]


SCRIPTS = [
    Script("contract", often=True),
    Script("slixmpp_client", often=True),
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
    Script("gajim_client"),
    Script("dino_client", holds=(PORT_5222,)),
    Script("profiles_slixmpp"),
    Script("rooms_slixmpp", once="random choices from a seed"),
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
    Script("moving"),
    Script("imports"),
    Script("fast"),
    Script("accounts"),
    Script("service_slixmpp"),
    Script("calls"),
    Script("calls_jingle"),
    Script("calls_dino", holds=(PORT_5222,)),
    Script("inbox", often=True),
    Script("uploads", often=True),
    Script("push", often=True),
    Script("app_properties"),
    Script("security", once="what it finds is an attack that succeeds"),
    Script("secrecy", once="what it finds is leaked"),
    Script("web"),
    Script("sdk_js"),
    Script("admin_page"),
    Script("web_client", often=True),
    Script("web_messages"),
    Script("web_people"),
    Script("web_robustness"),
    Script("web_screens"),
    Script("web_lists"),
    Script("web_calls"),
    Script("web_signin"),
    Script("web_terms"),
    Script("web_phone"),
    Script("web_push"),
    Script("web_engines"),
    Script("web_notifications"),
    Script("sdk_swift"),
    Script("compliance"),
    Script("lag", once="what it finds is lost, doubled or out of order"),
    Script("vanishing"),
    Script("arrivals", seconds=40, cores=2, once="what it finds is lost, doubled or out of order"),
    Script("faults", once="it decides how the server ends"),
    Script("operating"),
    Script("retention"),
    Script("restore", once="what it finds is lost data"),
    Script("remote"),
    Script("signin_tokens"),
    Script("signin_oauth"),
    Script("push_services"),
    Script("accounts_mail"),
    Script("uploads_parts"),
    Script("uploads_pictures"),
    Script("uploads_scan"),
    Script("uploads_s3"),
    Script("backups_s3", once="what it finds is lost data"),
    Script("replication", once="what it finds is lost data"),
    Script("backend"),
    Script("app_qiscus"),
    Script("app_mtchat"),
    Script("app_chatsdk"),
    Script("leaving"),
    Script("app_qmunicate"),
    Script("app_firebase"),
    Script("trace", once="what it finds is told before it is stored"),
    Script("costs"),
    Script("metrics"),
    Script("tracing"),
    Script("installation"),
    Script("container"),
    Script("deployments"),
    Script("acme"),
    Script("docs"),
    Script("architecture"),
    Script("suite", once="it says what is repeated"),
    Script("federation_lab"),
    Script("federation", seconds=80, parts=("prosody", "ejabberd", "parley2")),
    Script("federation_check"),
    Script("network_check"),
    Script("federation_components"),
    Script("federation_calls"),
    Script("federation_faults", once="random choices from a seed"),
    Script("federation_guide"),
    Script("production_guide"),
    Script("kill", once="what it finds is lost, doubled or out of order"),
]
