"""`Across` is a server with Romeo, who uses the client that is tested, and Juliet, who uses the app, and a public room that the
app made. The checks of small clients differ in how those are told to do things, and in little else.
"""
from lib.apps import App
from lib.harness import Server, expect, free_port


class Across(Server):
    """`ports`: those that the client allows for XMPP, of which a free one is taken."""

    def __init__(self, ports=None, **settings):
        super().__init__(**settings)
        if ports:
            self.xmpp = self.settings["xmpp__port"] = free_port(ports)

    def __enter__(self):
        super().__enter__()
        self.start()
        self.add_users("romeo", "juliet", "paris")
        self.befriend("romeo", "juliet")
        self.juliet = App(self, "juliet", "phone").connect()
        self.dialog = self.juliet.dialog("romeo")
        status, room = self.juliet.call("POST", "/v1/dialogs", {"type": "public", "name": "Verona", "topic": "The feud"})
        expect(status == 201, f"no room: {status} {room}")
        self.room, self.room_jid = room["id"], room["jid"]
        return self

    def __exit__(self, *error):
        self.juliet.close()
        super().__exit__(*error)

    def online(self, is_online=True, **more):
        """Until the app sees Romeo so."""
        self.juliet.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and d["presence"]["online"] == is_online and all(
            d["presence"].get(name) == value for name, value in more.items()))

    def hears(self, text, dialog=None):
        """The message that Romeo's client sent, as the app gets it."""
        message = self.juliet.message(text)
        expect((message["senderId"], message["dialogId"]) == ("romeo", dialog or self.dialog), f"{message}")
        return message

    def stranger_asks(self):
        """Paris, in the app, asks Romeo to be his contact; his client."""
        paris = App(self, "paris", "phone").connect()
        status, _ = paris.call("PUT", "/v1/contacts/romeo", {})
        expect(status in (200, 201), f"asking was answered {status}")
        return paris
