"""What the screenshots show: some people, their dialogs, and a browser that looks at them."""
import math
import struct
import zlib

from lib.apps import App
from lib.files import Put, upload

PEOPLE = {
    "juliet": "Juliet Capulet", "romeo": "Romeo Montague", "nurse": "Angelica", "mercutio": "Mercutio", "benvolio": "Benvolio",
    "laurence": "Friar Laurence", "rosaline": "Rosaline", "tybalt": "Tybalt",
}


def picture(width, height, low, high):
    """A PNG of an evening: a gradient with hills, drawn here, so that no picture has to be in the repository."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            share = y / height
            hill = 0.62 + 0.1 * math.sin(x / width * 5.2 + 0.6) + 0.03 * math.sin(x / width * 17)
            near = 0.78 + 0.07 * math.sin(x / width * 3.1 + 2.4)
            sun = math.hypot(x - width * 0.68, (y - height * 0.44)) < height * 0.1
            color = [round(a + (b - a) * share) for a, b in zip(low, high)]
            if sun:
                color = [255, 236, 200]
            if share > hill:
                color = [round(c * 0.55) for c in color]
            if share > near:
                color = [round(c * 0.32) for c in low]
            rows += bytes(max(0, min(255, c)) for c in color)
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(rows), 9)) + chunk(b"IEND", b"")


class Scene:
    """The people of a server, each with a client of the app protocol."""

    def __init__(self, server):
        self.server = server
        for user in PEOPLE:
            server.add_users(user)
        for user in PEOPLE:
            if user not in ("juliet", "tybalt"):
                server.befriend("juliet", user)
        self.apps = {user: App(server, user, "seed") for user in PEOPLE}
        for user, name in PEOPLE.items():
            self.apps[user].call("PATCH", "/v1/users/me", {"name": name})
        self.count = 0

    def private(self, one, other):
        return self.apps[one].call("POST", "/v1/dialogs", {"type": "private", "userId": other})[1]["id"]

    def group(self, owner, name, members, **more):
        return self.apps[owner].call("POST", "/v1/dialogs", {"type": "group", "name": name, "memberIds": members, **more})[1]["id"]

    def say(self, user, dialog, text=None, **more):
        self.count += 1
        body = {"clientId": f"scene-{self.count}", **more}
        if text is not None:
            body["content"] = {"type": "text", "text": text}
        return self.apps[user].call("POST", f"/v1/dialogs/{dialog}/messages", body)[1]

    def react(self, user, message, *emoji):
        self.apps[user].call("PUT", f"/v1/dialogs/{message['dialogId']}/messages/{message['id']}/reactions", {"emoji": list(emoji)})

    def read(self, user, message):
        self.apps[user].call("PUT", f"/v1/dialogs/{message['dialogId']}/marker", {"read": message["id"]})

    def avatar(self, user, colors):
        from lib.apps import exchange
        app = self.apps[user]
        exchange("PUT", self.server.base + "/v1/users/me/avatar", picture(160, 160, *colors), {"Authorization": "Bearer " + app.token})

    def play(self):
        """Fills the dialogs. Returns that of Juliet and Romeo, and the group's."""
        self.avatar("romeo", ((38, 70, 83), (233, 160, 110)))
        self.avatar("nurse", ((120, 60, 90), (240, 190, 160)))
        say, react = self.say, self.react
        for user, text in [("rosaline", "Are you coming to the feast tonight?"), ("laurence", "Wisely and slow; they stumble that run fast."),
                           ("mercutio", "If love be rough with you, be rough with love 😏"), ("benvolio", "I aimed so near when I supposed you loved.")]:
            say(user, self.private(user, "juliet"), text)
        garden = self.group("juliet", "Orchard party 🌹", ["romeo", "nurse", "mercutio", "benvolio"], about="Saturday, after sunset")
        say("mercutio", garden, "Who brings the music?")
        first = say("benvolio", garden, "I have a lute, and half a singer")
        react("mercutio", first, "😂")
        react("romeo", first, "😂", "🎵")
        say("nurse", garden, "And who brings the sense to leave before midnight?")
        plan = say("juliet", garden, "Plan: meet at the old wall at eight, bring a lantern.")
        self.apps["juliet"].call("PUT", f"/v1/dialogs/{garden}/messages/{plan['id']}/pin")
        say("romeo", garden, "@Juliet Capulet I know that wall rather well", mentions=[{"userId": "juliet", "begin": 0, "end": 15}])
        talk = self.private("juliet", "romeo")
        say("romeo", talk, "But soft, what light through yonder window breaks?")
        say("juliet", talk, "You are early. And loud.")
        asked = say("romeo", talk, "It is the east, and Juliet is the sun.")
        react("juliet", asked, "❤️")
        say("juliet", talk, "The orchard walls are high and hard to climb — how did you get in?", replyTo=asked["id"])
        say("romeo", talk, "With love’s light wings. Also there is a ladder behind the fig tree:\nhttps://verona.example/orchard")
        file = upload(self.server, self.apps["romeo"], picture(1280, 800, (52, 46, 92), (244, 162, 97)), "evening.png", "image/png")
        view = say("romeo", talk, content={"type": "image", "attachments": [file["id"]], "text": "The view from up here"})
        react("juliet", view, "😍")
        say("romeo", talk, content={"type": "location", "lat": 45.44195, "lng": 10.99867, "name": "The balcony, Via Cappello"})
        wave = [round(60 + 150 * abs(math.sin(i / 3.1) * math.cos(i / 11))) for i in range(60)]
        data = b"OggS" + bytes(4000)
        voice = self.apps["romeo"].call("POST", "/v1/attachments", {"name": "recording.ogg", "mediaType": "audio/ogg", "size": len(data), "durationMs": 14_000})[1]
        Put(self.server, voice["uploadUrl"], len(data), "audio/ogg").send(data).answer()
        last = say("romeo", talk, content={"type": "audio", "attachments": [voice["id"]], "waveform": wave})
        self.read("juliet", last)
        own = say("juliet", talk, "Good night, good night! Parting is such sweet sorrow, that I shall say good night till it be morrow. 🌙")
        self.read("romeo", own)
        self.apps["juliet"].call("PATCH", f"/v1/dialogs/{garden}/me", {"pinned": True})
        return talk, garden

    def complain(self):
        """tybalt is reported, for what he has said to some."""
        for user, text, reason, words in [
            ("mercutio", "Buy the finest rapiers of Verona: only today, only from me!", "spam", "He says that to everybody."),
            ("benvolio", "Turn thee, Benvolio, look upon thy death.", "abuse", "I did but keep the peace."),
        ]:
            said = self.say("tybalt", self.private("tybalt", user), text)
            path = f"/v1/dialogs/{said['dialogId']}/messages/{said['id']}/flags"
            self.apps[user].call("POST", path, {"reason": reason, "text": words})
