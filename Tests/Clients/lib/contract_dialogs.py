"""This part of `app_contract.py` walks through dialogs: messages, groups, blocks and calls."""
import hashlib
import time
import urllib.parse
import urllib.request
import uuid

from lib.contract import INSECURE
from lib.harness import expect


def opening(juliet, romeo, js, rs):
    """A private dialog is opened."""
    juliet.call("POST", "/v1/dialogs", {"type": "channel", "userId": romeo.name}, 400, "dialog-type-unknown")
    juliet.call("POST", "/v1/dialogs", {"type": "private"}, 400, "input-malformed")
    juliet.call("POST", "/v1/dialogs", {"type": "private", "userId": "nobody-at-all"}, 404)
    juliet.call("POST", "/v1/dialogs", {"type": "private", "userId": "x@elsewhere.example"}, 422)
    dialog = juliet.call("POST", "/v1/dialogs", {"type": "private", "userId": romeo.name}, 201)
    expect(dialog["user"]["id"] == romeo.name and dialog["me"]["unreadCount"] == 0, f"opened {dialog}")
    created = rs.event("dialog.created", lambda data: data["dialog"]["id"] == dialog["id"])
    expect(sorted(created["data"]["dialog"]["memberIds"]) == sorted([juliet.name, romeo.name]), f"created {created}")
    js.event("dialog.created")
    again = romeo.call("POST", "/v1/dialogs", {"type": "private", "userId": juliet.name}, 200)
    expect(again["id"] == dialog["id"], "the pair has two dialogs")
    path = f"/v1/dialogs/{dialog['id']}"
    return dialog, path


def first_message(juliet, js, rs, dialog, path):
    """Typing, and the first message."""
    # Typing goes first and ends with the message.
    juliet.call("POST", path + "/typing", {"on": True}, 204)
    typing = rs.event("typing.updated")
    expect(typing["data"] == {"dialogId": dialog["id"], "userIds": [juliet.name]}, f"typing is {typing}")
    js.command("typing", {"dialogId": dialog["id"], "on": True})
    js.command("typing", {"dialogId": dialog["id"]}, "input-malformed")

    body = {"clientId": str(uuid.uuid4()), "content": {"type": "text", "text": "Wherefore art thou \"Romeo\"? \U0001f339\n"}}
    first = juliet.call("POST", path + "/messages", body, 201)
    expect(first["seq"] == 1 and first["content"] == body["content"] and first["senderId"] == juliet.name, f"sent {first}")
    expect(juliet.call("POST", path + "/messages", body, 200) == first, "a repeat is another message")
    other = dict(body, content={"type": "text", "text": "Something else"})
    juliet.call("POST", path + "/messages", other, 409, "client-id-reused")
    expect(rs.event("typing.updated")["data"]["userIds"] == [], "typing did not end with the message")
    told = rs.event("message.created")
    expect(told["data"]["message"] == first, f"romeo was told {told}")
    expect(js.event("message.created")["data"]["message"] == first, "juliet was told something else")
    expect([f for f in rs.settled() if f["type"] == "message.created"] == [], "the repeat was told")
    unread = rs.event("unread.updated")
    expect(unread["data"] == {"dialogId": dialog["id"], "unreadCount": 1, "mentionCount": 0, "totalUnread": unread["data"]["totalUnread"], "totalMentions": 0}, f"{unread}")
    return first


def kinds_of_content(juliet, romeo, js, rs, dialog, path):
    """Answers, and content of other kinds."""
    reply = rs.command("message.send", {"dialogId": dialog["id"], "clientId": "r1", "content": {"type": "text", "text": "I take thee at thy word"}})
    expect(reply["data"]["seq"] == 2 and reply["data"]["senderId"] == romeo.name, f"answered {reply}")
    expect(js.event("message.created", lambda data: data["message"]["seq"] == 2)["data"]["message"] == reply["data"], "not the same message")
    rs.command("message.send", {"dialogId": dialog["id"], "clientId": "r1", "content": {"type": "text", "text": "Other"}}, "client-id-reused")
    rs.command("message.send", {"dialogId": "none", "clientId": "r2", "content": {"type": "text", "text": "x"}}, "dialog-unknown")

    for content, kept in [
            ({"type": "location", "lat": 45.4384, "lng": 10.9917, "name": "Verona"}, None),
            ({"type": "custom", "kind": "dagger", "payload": {"sharp": [True, None, 1.50]}, "text": "A dagger"}, None),
            ({"type": "sticker", "text": "[rose]", "pack": "flora"}, None), ({"type": "contact", "text": "Nurse", "phone": "1"}, None)]:
        sent = juliet.call("POST", path + "/messages", {"clientId": str(uuid.uuid4()), "content": content, "metadata": {"k": "v"}}, 201)
        expect({**content, "text": sent["content"]["text"]} == sent["content"] and sent["metadata"] == {"k": "v"}, f"sent {content}, kept {sent}")
    for bad, status, code in [
            ({"content": {"type": "text", "text": "x"}}, 400, "input-malformed"),
            ({"clientId": "", "content": {"type": "text", "text": "x"}}, 400, "client-id-malformed"),
            ({"clientId": "b", "content": {"type": "text", "text": ""}}, 400, "text-missing"),
            ({"clientId": "b", "content": {"type": "text", "text": "x" * 10_001}}, 413, "text-too-long"),
            ({"clientId": "b", "content": {"type": "text", "text": "x"}, "metadata": {"m": "x" * 5_000}}, 413, "metadata-too-long"),
            ({"clientId": "b", "content": {"type": "image", "text": "x"}}, 400, "attachments-missing"),
            ({"clientId": "b", "content": {"type": "system", "text": "x"}}, 403, "content-type-reserved")]:
        juliet.call("POST", path + "/messages", bad, status, code)
    juliet.call("POST", path + "/messages", data=b'{"clientId":"b","content":' + b" " * 66_000 + b"{}}", status=413, code="body-too-large")


def attachments(juliet, path):
    """Files, and what they take."""
    # A file: a slot, its bytes to an address that is no operation, a message that brings it.
    slot = juliet.call("POST", "/v1/attachments", {"name": "a.png", "mediaType": "image/png", "size": 3, "width": 1}, 201)
    juliet.call("GET", "/v1/attachments/" + slot["id"], status=404, code="attachment-unknown")
    juliet.call("POST", "/v1/attachments", {"name": "a", "mediaType": "a", "size": 3}, 400, "media-type-malformed")
    place = urllib.parse.urlsplit(slot["uploadUrl"])
    put = urllib.request.Request(f"{juliet.base}{place.path}?{place.query}", b"abc", {"Content-Type": "image/png"}, method="PUT")
    with urllib.request.urlopen(put, context=INSECURE if juliet.base.startswith("https") else None) as answer:
        expect(answer.status == 201, f"the file was answered with {answer.status}")
    file = juliet.call("GET", "/v1/attachments/" + slot["id"])
    content = {"type": "image", "attachments": [file["id"]]}
    sent = juliet.call("POST", path + "/messages", {"clientId": str(uuid.uuid4()), "content": content}, 201)["content"]
    expect(sent["attachments"] == [{name: file[name] for name in file if name not in ("purpose", "expiresAt")}], f"sent {sent}")

    juliet.call("POST", "/v1/attachments", {"name": "a", "mediaType": "a/b", "size": 3, "sha256": "ab"}, 400, "sha256-malformed")
    had = juliet.call("GET", "/v1/users/me/storage")
    parts = juliet.call("POST", "/v1/attachments", {"name": "a", "mediaType": "a/b", "size": 3, "sha256": "Ab" * 32, "resumable": True}, 201)
    expect(parts["sha256"] == "ab" * 32, f"the slot is {parts}")
    used = juliet.call("GET", "/v1/users/me/storage")
    more = [used[name] - had[name] for name in ("bytes", "files", "slots", "dayBytes")]
    expect(more == [3, 1, 1, 3], f"used is {used}, was {had}")


def history_pages(juliet, romeo, dialog, path, first):
    """The history, by pages."""
    # History by pages, both ways, newest first.
    everything = romeo.call("GET", path + "/messages?limit=100")["items"]
    expect([m["seq"] for m in everything] == list(range(len(everything), 0, -1)), f"history has {[m['seq'] for m in everything]}")
    pages, cursor = [], ""
    while True:
        page = romeo.call("GET", path + "/messages?limit=2" + cursor)
        pages += page["items"]
        if "nextCursor" not in page:
            break
        cursor = "&before=" + page["nextCursor"]
    expect(pages == everything, "pages are not the history")
    newer = romeo.call("GET", path + f"/messages?limit=2&after={first['id']}")
    expect([m["seq"] for m in newer["items"]] == [3, 2] and "nextCursor" in newer, f"after the first come {newer}")
    oldest = romeo.call("GET", path + "/messages?limit=2&after=")
    expect([m["seq"] for m in oldest["items"]] == [2, 1] and "nextCursor" in oldest, f"from the beginning come {oldest}")
    romeo.call("GET", path + "/messages?before=x", status=400, code="cursor-unknown")
    opened = romeo.call("GET", path + "/messages?limit=2&include=dialog,members,pins,markers,users")
    expect(opened["dialog"]["id"] == dialog["id"] and opened["dialog"]["user"]["id"] == juliet.name, f"opened {opened}")
    expect([user["id"] for user in opened["users"]["items"]].count(juliet.name) == 1, f"opened {opened}")
    romeo.call("GET", path + "/messages?include=all", status=400, code="include-unknown")
    romeo.call("GET", path + f"/messages?before={first['id']}&after={first['id']}", status=400)
    return everything


def markers(juliet, romeo, js, rs, dialog, path, first, everything):
    """Markers: forward only; the reader's own messages do not count."""
    # Markers: forward only; the reader's own messages do not count.
    latest = everything[0]
    before = romeo.call("GET", path)["me"]["unreadCount"]
    expect(before == sum(m["senderId"] == juliet.name for m in everything), f"{before} are unread")
    delivered = romeo.call("PUT", path + "/marker", {"delivered": first["id"]})
    expect(delivered == {"dialogId": dialog["id"], "userId": romeo.name, "delivered": first["id"]}, f"marker {delivered}")
    js.event("marker.updated", lambda data: data["marker"].get("delivered") == first["id"])
    read = rs.command("marker.set", {"dialogId": dialog["id"], "read": latest["id"]})["data"]
    expect(read["read"] == latest["id"] and read["delivered"] == latest["id"], f"marker {read}")
    js.event("marker.updated", lambda data: data["marker"].get("read") == latest["id"])
    rs.event("unread.updated", lambda data: data["unreadCount"] == 0)
    expect(romeo.call("GET", path)["me"] == {"unreadCount": 0, "mentionCount": 0, "readMessageId": latest["id"], "deliveredMessageId": latest["id"],
                                              "pinned": False, "archived": False, "markedUnread": False}, "me is wrong")
    wished = romeo.call("PATCH", path + "/me", {"notify": "mentions", "mutedUntil": "2999-01-01T00:00:00.000Z", "pinned": True, "markedUnread": True})
    expect(rs.event("settings.updated", lambda data: data["settings"]["dialogId"] == dialog["id"])["data"]["settings"] == wished, "the settings are told otherwise than answered")
    expect({**romeo.call("GET", path)["me"], "dialogId": dialog["id"]}.items() >= wished.items(), "me is not as it was set")
    romeo.call("PATCH", path + "/me", {"notify": None, "mutedUntil": None, "pinned": False, "markedUnread": False})
    expect(romeo.call("PUT", path + "/marker", {"read": first["id"]})["read"] == latest["id"], "a marker went back")
    expect(rs.command("marker.set", {"dialogId": dialog["id"], "read": first["id"]})["data"]["read"] == latest["id"], "a marker went back")
    expect(js.settled() == [] or all(f["type"] != "marker.updated" for f in js.waiting), "a marker that moved nothing was told")
    romeo.call("PUT", path + "/marker", {}, 400, "marker-empty")
    romeo.call("PUT", path + "/marker", {"read": "x"}, 404, "message-unknown")
    rs.command("marker.set", {"dialogId": dialog["id"], "read": "x"}, "message-unknown")
    # A private read is for the reader's own devices.
    last = juliet.call("POST", path + "/messages", {"clientId": "last", "content": {"type": "text", "text": "Good night"}}, 201)
    rs.event("message.created", lambda data: data["message"]["id"] == last["id"])
    romeo.call("PUT", path + "/marker", {"read": last["id"], "private": True})
    rs.event("marker.updated", lambda data: data["marker"].get("read") == last["id"])
    expect([f for f in js.settled() if f["type"] == "marker.updated" and f["data"]["marker"].get("read") == last["id"]] == [], "a private read was told")
    return last


def changes(juliet, romeo, js, rs, dialog, path, last):
    """What becomes of a message."""
    # What becomes of a message.
    one = f"{path}/messages/{last['id']}"
    edited = juliet.call("PATCH", one, {"text": "Good night, good night"})
    expect(edited == {**last, "content": {"type": "text", "text": "Good night, good night"}, "editedAt": edited["editedAt"], "version": 1}, f"edited {edited}")
    expect(rs.event("message.updated")["data"]["message"] == edited, "romeo was told something else")
    expect(romeo.call("GET", one) == edited, "romeo reads something else")
    expect(juliet.call("PATCH", one, {"content": edited["content"]}) == edited, "an edit that changes nothing changed something")
    reacted = romeo.call("PUT", one + "/reactions", {"emoji": ["🌙", "👍"]})
    expect(reacted["reactions"] == {"🌙": [romeo.name], "👍": [romeo.name]} and reacted["version"] == 2, f"reacted {reacted}")
    expect(js.event("message.updated", lambda data: data["message"]["version"] == 2)["data"]["message"] == reacted, "juliet was told something else")
    answer = romeo.call("POST", path + "/messages", {"clientId": "answer", "content": {"type": "text", "text": "Sleep well"}, "replyTo": last["id"]}, 201)
    expect(answer["replyTo"] == last["id"], f"answered {answer}")
    romeo.call("PATCH", one, {"text": "x"}, 403, "message-foreign")
    romeo.call("DELETE", one + "?for=everyone", status=403, code="message-foreign")
    juliet.call("DELETE", one, status=400)
    juliet.call("PATCH", one, {"text": "x" * 10_001}, 413, "text-too-long")
    juliet.call("PUT", one + "/reactions", {"emoji": [str(n) for n in range(21)]}, 413, "too-many-emoji")
    for _ in range(2):
        juliet.call("DELETE", one + "?for=everyone&reason=late", status=204)
    gone = romeo.call("GET", path + "/messages?limit=2")["items"][1]
    expect(rs.event("message.deleted")["data"] == {"dialogId": dialog["id"], "messageId": last["id"], "by": juliet.name, "for": "everyone", "reason": "late", "message": gone}, "deleted")
    expect(gone["id"] == last["id"] and gone["content"] == {"type": "deleted", "text": gone["content"]["text"], "reason": "late"}, f"left is {gone}")
    expect("Good night" not in str(gone) and gone["version"] == 3 and gone["deletedBy"] == juliet.name, f"left is {gone}")
    return answer


def list_of_dialogs(juliet, dialog, answer):
    """The list of dialogs."""
    listed = juliet.call("GET", "/v1/dialogs?limit=1")
    expect(listed["items"][0]["id"] == dialog["id"] and listed["items"][0]["lastMessage"]["id"] == answer["id"], f"dialogs {listed}")
    note = juliet.call("POST", "/v1/dialogs", {"type": "private", "userId": juliet.name}, 200)  # where profile and contacts are kept
    juliet.call("POST", f"/v1/dialogs/{note['id']}/messages", {"clientId": "n", "content": {"type": "text", "text": "Note"}}, 201)
    page = juliet.call("GET", "/v1/dialogs?limit=1")
    expect("nextCursor" in page and page["items"][0]["id"] == note["id"], f"dialogs {page}")
    rest = juliet.call("GET", "/v1/dialogs?cursor=" + page["nextCursor"])
    expect(rest["items"][0]["id"] == dialog["id"], f"dialogs {rest}")


def conversation(juliet, romeo, js, rs):
    dialog, path = opening(juliet, romeo, js, rs)
    first = first_message(juliet, js, rs, dialog, path)
    kinds_of_content(juliet, romeo, js, rs, dialog, path)
    attachments(juliet, path)
    everything = history_pages(juliet, romeo, dialog, path, first)
    last = markers(juliet, romeo, js, rs, dialog, path, first, everything)
    answer = changes(juliet, romeo, js, rs, dialog, path, last)
    list_of_dialogs(juliet, dialog, answer)
    # A dialog is its members' only.
    return dialog, last


def messages(juliet, romeo, js, rs):
    path = f"/v1/dialogs/{juliet.call('POST', '/v1/dialogs', {'type': 'private', 'userId': romeo.name})['id']}"
    said = romeo.call("POST", path + "/messages", {"clientId": "m1", "content": {"type": "text", "text": "Good nigth"}}, 201)
    one = path + "/messages/" + said["id"]
    romeo.call("PATCH", one, {"text": "Good night"})
    expect([edit["text"] for edit in romeo.call("GET", one + "/edits")["items"]] == ["Good nigth", "Good night"], "the edits")
    juliet.call("GET", one + "/edits", status=403, code="message-foreign")
    romeo.call("GET", one + "/edits?cursor=x", status=400, code="cursor-unknown")
    again = juliet.call("POST", path + "/messages", {
        "clientId": "m2", "forwardFrom": {"dialogId": said["dialogId"], "messageId": said["id"]}}, 201)
    expect(again["content"]["text"] == "Good night" and again["forwardedFrom"]["sentAt"] == said["sentAt"], f"forwarded {again}")
    js.command("message.send", {"dialogId": said["dialogId"], "clientId": "m3", "forwardFrom": {
        "dialogId": said["dialogId"], "messageId": said["id"]}})
    juliet.call("PUT", path + "/marker", {"read": said["id"]})
    receipt, = romeo.call("GET", one + "/receipts")["items"]
    expect(receipt["userId"] == juliet.name and receipt["read"] and "readAt" in receipt, f"the receipt is {receipt}")
    expect(romeo.call("PUT", one + "/pin")["pinnedBy"] == romeo.name, "not pinned")
    expect([m["id"] for m in juliet.call("GET", path + "/pins")["items"]] == [said["id"]], "the pins")
    expect("pinnedAt" not in juliet.call("DELETE", one + "/pin"), "still pinned")
    juliet.call("PUT", path + "/messages/none/pin", status=404, code="message-unknown")
    juliet.call("PUT", one + "/star", status=204)
    expect(js.event("message.starred")["data"]["starred"], "the star was not told")
    expect([m["id"] for m in juliet.call("GET", "/v1/stars")["items"]] == [said["id"]], "the stars")
    juliet.call("DELETE", one + "/star", status=204)
    juliet.call("GET", "/v1/stars?cursor=x", status=400, code="cursor-unknown")
    juliet.call("POST", one + "/flags", {"reason": "spam", "text": "Too late"}, 204)
    juliet.call("POST", one + "/flags", {"reason": "abuse"}, 204)
    juliet.call("POST", one + "/flags", {"reason": "dull"}, 400, "reason-unknown")
    romeo.call("POST", one + "/flags", {"reason": "spam"}, 403, "message-own")
    juliet.call("DELETE", one + "?for=me", status=204)
    juliet.call("DELETE", one + "?for=me", status=204)
    deleted = js.event("message.deleted", lambda data: data["for"] == "me")
    expect(deleted["data"]["messageId"] == said["id"], f"deleted {deleted}")
    expect(said["id"] not in [m["id"] for m in juliet.call("GET", path + "/messages")["items"]], "still there")
    expect(said["id"] in [m["id"] for m in romeo.call("GET", path + "/messages")["items"]], "gone for both")
    juliet.call("DELETE", path + "/messages?for=me", status=204)
    expect(js.event("dialog.cleared")["data"]["dialogId"] == said["dialogId"], "not told that it is cleared")
    expect(juliet.call("GET", path + "/messages")["items"] == [], "not cleared")
    juliet.call("DELETE", path + "/messages?for=everyone", status=400, code="for-unknown")
    juliet.call("DELETE", path + "?for=me", status=204)
    js.event("dialog.deleted", lambda data: data["for"] == "me")
    expect(said["dialogId"] not in [d["id"] for d in juliet.call("GET", "/v1/dialogs")["items"]], "still in the list")
    romeo.call("POST", path + "/messages", {"clientId": "m4", "content": {"type": "text", "text": "Sleep well"}}, 201)
    expect(juliet.call("GET", "/v1/dialogs")["items"][0]["me"]["unreadCount"] == 1, "not back")
    rs.settled()
    js.settled()


def making_a_group(juliet, romeo, js, rs):
    """A group is made, with its members."""
    js.settled()
    rs.settled()
    suffix = uuid.uuid4().hex[:8]
    for bad, status, code in [
            ({"type": "group", "userId": romeo.name}, 400, "user-id-misplaced"),
            ({"type": "group", "memberIds": [romeo.name, romeo.name]}, 400, "member-twice"),
            ({"type": "group", "memberIds": ["nobody-at-all"]}, 404, "user-unknown"),
            ({"type": "group", "members": [{"userId": romeo.name, "role": "banned"}]}, 400, "role-unknown"),
            ({"type": "group", "members": [{"userId": romeo.name, "role": "king"}]}, 400, "role-unknown"),
            ({"type": "group", "historyVisibility": "none"}, 400, "history-visibility-unknown"),
            ({"type": "group", "metadata": {"m": "x" * 5_000}}, 413, "metadata-too-long"),
            ({"type": "group", "name": "n" * 300}, 413, "name-too-long")]:
        juliet.call("POST", "/v1/dialogs", bad, status, code)
    wanted = {"type": "group", "name": "Balcony", "about": "After dark", "topic": "The moon", "metadata": {"k": [1.50]},
              "historyVisibility": "sinceJoin", "externalId": "e-" + suffix, "members": [{"userId": romeo.name, "role": "admin"}]}
    group = juliet.call("POST", "/v1/dialogs", wanted, 201)
    for name in ["type", "name", "about", "topic", "metadata", "historyVisibility", "externalId"]:
        expect(group[name] == wanted[name], f"{name} became {group[name]}")
    expect(group["ownerId"] == juliet.name and group["memberCount"] == 2 and group["me"]["role"] == "owner", f"made {group}")
    expect(juliet.call("POST", "/v1/dialogs", wanted, 200)["id"] == group["id"], "an externalId made two dialogs")
    path = f"/v1/dialogs/{group['id']}"
    # The id is the creator's: a member neither sees nor gets the dialog by it, and may call one of their own so.
    expect("externalId" not in romeo.call("GET", path), "a member sees the creator's id")
    other = romeo.call("POST", "/v1/dialogs", {"type": "group", "externalId": wanted["externalId"]}, 201)
    expect(other["id"] != group["id"] and other["externalId"] == wanted["externalId"], f"his own is {other}")
    expect(rs.event("dialog.created", lambda data: data["dialog"]["id"] == other["id"])["data"]["dialog"].get("externalId") is None, "an event has it")
    expect(juliet.call("POST", "/v1/dialogs", wanted, 200)["id"] == group["id"], "another's dialog took the place of hers")
    romeo.call("DELETE", f"/v1/dialogs/{other['id']}?for=everyone", status=204)
    rs.event("dialog.deleted", lambda data: data["dialogId"] == other["id"])
    expect(js.event("dialog.created")["data"]["dialog"]["id"] == group["id"], "the group was not told")
    added = rs.event("member.updated", lambda data: data["dialogId"] == group["id"])["data"]
    expect(added["member"]["role"] == "admin" and added["dialog"]["name"] == "Balcony", f"added {added}")
    invited = rs.event("dialog.invited")["data"]
    expect(invited["dialogId"] == group["id"] and invited["inviterId"] == juliet.name, f"invited {invited}")
    return suffix, group, path


def talking_in_a_group(juliet, romeo, js, rs, suffix, group, path):
    """Typing, messages and mentions in a group."""
    rs.command("typing", {"dialogId": group["id"], "on": True})
    js.event("typing.updated", lambda data: data == {"dialogId": group["id"], "userIds": [romeo.name]})
    said = rs.command("message.send", {"dialogId": group["id"], "clientId": "g1", "content": {"type": "text", "text": "It is my lady"}})["data"]
    expect(js.event("message.created", lambda data: data["message"]["id"] == said["id"])["data"]["message"] == said, "not the same message")
    js.event("unread.updated", lambda data: data["dialogId"] == group["id"] and data["unreadCount"] == 1)
    juliet.call("POST", path + "/messages", {"clientId": "g1", "content": {"type": "text", "text": "Ay me"}}, 201)
    juliet.call("POST", path + "/messages", {"clientId": "g1", "content": {"type": "text", "text": "Ay me"}}, 200)
    named = {"clientId": "g3", "content": {"type": "text", "text": "🌹 Romeo"}, "mentions": [{"userId": romeo.name, "begin": 2, "end": 7}]}
    told = juliet.call("POST", path + "/messages", named, 201)
    expect(told["mentions"] == named["mentions"], f"mentions {told}")
    counts = rs.event("unread.updated", lambda data: data["dialogId"] == group["id"] and data["mentionCount"] == 1)["data"]
    expect(counts["totalMentions"] == 1 and romeo.call("GET", path)["me"]["mentionCount"] == 1, f"counted {counts}")
    expect(romeo.call("GET", "/v1/dialogs")["totalMentions"] == 1, "no mention in all")
    plain = juliet.call("PATCH", f"{path}/messages/{told['id']}", {"text": "A rose", "mentions": []})
    expect("mentions" not in plain and romeo.call("GET", path)["me"]["mentionCount"] == 0, f"mentions {plain}")
    for mentions, status, code in [([{"userId": "nobody-" + suffix}], 400, "mention-unknown"), ([{"userId": romeo.name, "begin": 0, "end": 99}], 400, "mention-misplaced"),
                                   ([{"userId": romeo.name}] * 51, 413, "too-many-mentions"), ({"userId": romeo.name}, 400, "input-malformed")]:
        juliet.call("POST", path + "/messages", {"clientId": "g4", "content": {"type": "text", "text": "x"}, "mentions": mentions}, status, code)
    juliet.call("POST", path + "/messages", {"clientId": "g2", "content": {"type": "system", "kind": "left", "text": "x"}}, 403, "content-type-reserved")
    read = js.command("marker.set", {"dialogId": group["id"], "read": said["id"]})["data"]
    expect(read["read"] == said["id"], f"marker {read}")
    rs.event("marker.updated", lambda data: data["marker"]["dialogId"] == group["id"] and data["marker"].get("read") == said["id"])
    juliet.call("POST", path + "/typing", {"on": False}, 204)
    history = juliet.call("GET", path + "/messages?limit=100")["items"]
    expect([m["seq"] for m in history] == list(range(len(history), 0, -1)), f"history has {[m['seq'] for m in history]}")
    expect([m["content"].get("kind") for m in history][-3:] == ["topic", "added", "created"], f"notices {history}")


def pictures_of_a_group(juliet, romeo, js, rs, path):
    """Pictures of a group, and of a user."""
    picture = bytes.fromhex("89504e470d0a1a0a") + b"rose"
    image = {"Content-Type": "image/png"}
    romeo.call("GET", path + "/avatar", status=404, code="avatar-unknown")
    hash = juliet.call("PUT", path + "/avatar", data=picture, headers=image)["avatarHash"]
    expect(hash == hashlib.sha1(picture).hexdigest(), f"the hash is {hash}")
    told = rs.event("dialog.updated", lambda data: data["dialog"].get("avatarHash") == hash)["data"]
    expect(told["message"]["content"]["kind"] == "avatar", f"the picture was told as {told}")
    status, fields, body = romeo.raw("GET", path + "/avatar")
    expect((status, body, fields.get_content_type()) == (200, picture, "image/png"), f"the picture is {status} {fields} {body}")
    expect(fields["ETag"] == f'"{hash}"' and fields["X-Content-Type-Options"] == "nosniff", f"the picture has {fields}")
    expect(fields["Content-Disposition"] == 'inline; filename="avatar.png"' and fields["Cache-Control"] == "private, no-cache", f"{fields}")
    expect("sandbox" in fields["Content-Security-Policy"], f"the picture has {fields}")
    expect(romeo.call("GET", path + "/avatar") == picture, "another picture")
    for held in [f'"{hash}"', f'"x", W/"{hash}"', "*"]:
        romeo.call("GET", path + "/avatar", status=304, headers={"If-None-Match": held})
    expect(romeo.call("GET", path + "/avatar", headers={"If-None-Match": '"x"'}) == picture, "another ETag is the same")
    juliet.call("PUT", path + "/avatar", data=b"<svg/>", headers=image, status=415, code="avatar-type-unknown")
    juliet.call("PUT", path + "/avatar", data=picture[:8] + b"x" * 98_304, headers=image, status=413, code="avatar-too-large")
    juliet.call("PUT", path + "/avatar", data=picture + b"x" * (98_304 - len(picture)), headers=image)
    juliet.call("DELETE", path + "/avatar", status=204)
    juliet.call("DELETE", path + "/avatar", status=204)
    expect("avatarHash" not in romeo.call("GET", path), "the picture is still there")

    mine, hers = "/v1/users/me/avatar", f"/v1/users/{juliet.name}/avatar"
    juliet.call("GET", mine, status=404, code="avatar-unknown")
    romeo.call("GET", hers, status=404, code="avatar-unknown")
    expect(juliet.call("PUT", mine, data=picture, headers=image)["avatarHash"] == hash, "a user's picture has another hash")
    js.event("user.updated", lambda data: data["user"].get("avatarHash") == hash)
    expect(juliet.call("GET", mine) == picture and romeo.call("GET", hers) == picture, "another picture of the user")
    _, fields, _ = romeo.raw("GET", hers)
    expect(fields["X-Content-Type-Options"] == "nosniff" and "sandbox" in fields["Content-Security-Policy"], f"{fields}")
    romeo.call("GET", hers, status=304, headers={"If-None-Match": f'"{hash}"'})
    juliet.call("PUT", mine, data=b"<svg/>", headers=image, status=415, code="avatar-type-unknown")
    juliet.call("PUT", mine, data=picture[:8] + b"x" * 98_304, headers=image, status=413, code="avatar-too-large")
    juliet.call("DELETE", mine, status=204)
    juliet.call("DELETE", mine, status=204)
    romeo.call("GET", hers, status=404, code="avatar-unknown")


def changing_a_group(juliet, romeo, js, rs, group, path):
    """What a group is called, and who is in it."""
    changed = romeo.call("PATCH", path, {"name": "Orchard", "about": None})
    expect(changed["name"] == "Orchard" and "about" not in changed, f"changed {changed}")
    told = js.event("dialog.updated", lambda data: data["dialog"].get("name") == "Orchard")["data"]
    expect(told["message"]["content"] == {"type": "system", "text": told["message"]["content"]["text"], "kind": "named", "name": "Orchard"}, f"{told}")
    romeo.call("PATCH", path, {"slowModeSeconds": 5}, 403, "not-owner")
    juliet.call("PATCH", path, {"slowModeSeconds": -1}, 400, "slow-mode-invalid")
    juliet.call("PATCH", path, {"type": "private"}, 400, "dialog-type-unknown")
    juliet.call("PATCH", path, {"name": 5}, 400, "input-malformed")
    juliet.call("PATCH", path, {"historyVisibility": "all"})
    members = romeo.call("GET", path + "/members")["items"]
    expect([(m["userId"], m["role"]) for m in members] == [(juliet.name, "owner"), (romeo.name, "admin")], f"members {members}")
    expect("nextCursor" in romeo.call("GET", path + "/members?limit=1"), "two members fit on a page of one")
    romeo.call("GET", path + "/members?role=king", status=400, code="role-unknown")
    romeo.call("GET", path + "/members?cursor=nobody-at-all", status=400, code="cursor-unknown")
    expect(juliet.call("PUT", path + "/members/me", {"nick": "Sun"})["nick"] == "Sun", "no other nick")
    romeo.call("PUT", path + "/members/me", {"nick": "Sun"}, 409, "nick-taken")
    romeo.call("PUT", path + f"/members/{juliet.name}", {"role": "member"}, 403, "outranked")
    juliet.call("PUT", path + "/members/nobody-at-all", {}, 404, "user-unknown")
    juliet.call("PUT", path + f"/members/{romeo.name}", {"role": "none"}, 400, "role-unknown")
    juliet.call("DELETE", path + "/members/me", status=409, code="last-owner")
    juliet.call("PUT", path + f"/members/{romeo.name}", {"role": "banned", "reason": "Feud"})
    banned = rs.event("member.updated", lambda data: data["member"]["role"] == "banned")["data"]
    expect(banned["message"]["content"]["reason"] == "Feud", f"banned {banned}")
    romeo.call("GET", path, status=404, code="dialog-unknown")
    rs.command("message.send", {"dialogId": group["id"], "clientId": "g3", "content": {"type": "text", "text": "x"}}, "dialog-unknown")
    juliet.call("DELETE", path + f"/members/{romeo.name}", status=204)
    juliet.call("DELETE", path + f"/members/{romeo.name}", status=404, code="member-unknown")
    juliet.call("PUT", path + f"/members/{romeo.name}")
    juliet.call("DELETE", path, status=400, code="input-malformed")
    juliet.call("DELETE", path + "?for=nobody", status=400, code="for-unknown")
    juliet.call("DELETE", path + "?for=everyone&reason=Morning", status=204)
    expect(rs.event("dialog.deleted")["data"]["dialogId"] == group["id"], "the end was not told")
    juliet.call("GET", path, status=404, code="dialog-unknown")


def public_dialog(juliet, romeo, suffix):
    """A public dialog: found, joined, left and ended."""
    square = juliet.call("POST", "/v1/dialogs", {"type": "public", "name": "Square " + suffix}, 201)
    path = f"/v1/dialogs/{square['id']}"
    found = romeo.call("GET", f"/v1/dialogs?scope=public&query={suffix}")
    expect([d["id"] for d in found["items"]] == [square["id"]] and "me" not in found["items"][0], f"found {found}")
    expect(found["items"][0]["ownerId"].startswith("occupant:"), f"a stranger sees whose it is: {found}")
    expect("me" not in romeo.call("GET", path), "a stranger has a place")
    romeo.call("GET", path + "/messages", status=403, code="dialog-not-joined")
    romeo.call("GET", path + "/members", status=403, code="dialog-not-joined")
    romeo.call("POST", path + "/messages", {"clientId": "s1", "content": {"type": "text", "text": "x"}}, 403, "dialog-not-joined")
    romeo.call("GET", "/v1/dialogs?scope=all", status=400, code="scope-unknown")
    romeo.call("GET", "/v1/dialogs?query=" + 1025 * "x", status=413, code="query-too-long")
    expect(romeo.call("PUT", path + "/members/me")["role"] == "member", "not joined")
    romeo.call("POST", path + "/messages", {"clientId": "s1", "content": {"type": "text", "text": "x"}}, 201)
    expect(romeo.call("GET", "/v1/dialogs?limit=1")["items"][0]["id"] == square["id"], "the liveliest is not first")
    romeo.call("DELETE", path + "/members/me", status=204)
    expect(square["id"] not in [d["id"] for d in romeo.call("GET", "/v1/dialogs")["items"]], "who left still has it")
    juliet.call("DELETE", path + "?for=everyone", status=204)


def groups(juliet, romeo, js, rs):
    """A group and a public dialog, from their beginning to their end."""
    suffix, group, path = making_a_group(juliet, romeo, js, rs)
    talking_in_a_group(juliet, romeo, js, rs, suffix, group, path)
    pictures_of_a_group(juliet, romeo, js, rs, path)
    changing_a_group(juliet, romeo, js, rs, group, path)
    public_dialog(juliet, romeo, suffix)
    js.settled()
    rs.settled()


def blocks(juliet, romeo, js, rs, dialog):
    path = f"/v1/dialogs/{dialog['id']}/messages"
    js.settled()
    juliet.call("PUT", f"/v1/blocks/{juliet.name}", status=403, code="block-self")
    juliet.call("PUT", f"/v1/blocks/{romeo.name}")
    expect(js.event("block.updated")["data"]["blocked"], "the block was not told")
    expect([b["userId"] for b in juliet.call("GET", "/v1/blocks")["items"]] == [romeo.name], "the block is not listed")
    juliet.call("POST", path, {"clientId": "b1", "content": {"type": "text", "text": "x"}}, 403, "you-block-this-user")
    romeo.call("POST", path, {"clientId": "b2", "content": {"type": "text", "text": "x"}}, 404, "user-unreachable")
    rs.command("message.send", {"dialogId": dialog["id"], "clientId": "b3", "content": {"type": "text", "text": "x"}}, "user-unreachable")
    expect([f for f in js.settled() if f["type"] == "message.created"] == [], "a blocked message came")
    juliet.call("DELETE", f"/v1/blocks/{romeo.name}", status=204)
    expect(not js.event("block.updated")["data"]["blocked"], "the unblock was not told")
    romeo.call("POST", path, {"clientId": "b2", "content": {"type": "text", "text": "x"}}, 201)


def drafts_and_scheduled_messages(juliet, romeo, js, rs, dialog):
    """What is written and not sent, what is found, and what is said to who is there alone."""
    path = f"/v1/dialogs/{dialog['id']}"
    juliet.call("PUT", path + "/draft", {"text": "Good morning, and"})
    expect(js.event("draft.updated", lambda data: "draft" in data)["data"]["draft"]["text"] == "Good morning, and", "another draft")
    expect(juliet.call("GET", path + "/draft")["text"] == "Good morning, and", "another draft")
    expect(juliet.call("GET", path)["me"]["draft"]["text"] == "Good morning, and", "no draft in the dialog")
    juliet.call("DELETE", path + "/draft", status=204)
    juliet.call("GET", path + "/draft", status=404)

    later = {"clientId": "later", "sendAt": "2099-01-01T00:00:00.000Z", "content": {"type": "text", "text": "It was the lark"}}
    juliet.call("POST", path + "/scheduled-messages", later, 400)
    later["sendAt"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 86_400))
    made = juliet.call("POST", path + "/scheduled-messages", later, 201)
    expect(juliet.call("POST", path + "/scheduled-messages", later, 200)["id"] == made["id"], "a repeat is another")
    expect([m["id"] for m in juliet.call("GET", "/v1/scheduled-messages")["items"]] == [made["id"]], "it is not listed")
    change = {"content": {"type": "text", "text": "It was the nightingale"}}
    juliet.call("PATCH", "/v1/scheduled-messages/" + made["id"], change)
    romeo.call("DELETE", "/v1/scheduled-messages/" + made["id"], status=404)
    juliet.call("DELETE", "/v1/scheduled-messages/" + made["id"], status=204)
    js.event("scheduled.updated")

    juliet.call("POST", path + "/messages", {"clientId": str(uuid.uuid4()), "content": {"type": "text", "text": "A pomegranate tree"}}, 201)
    found = romeo.call("GET", "/v1/messages?query=pomegranate")["items"]
    expect([m["content"]["text"] for m in found] == ["A pomegranate tree"], f"found {found}")

    juliet.call("POST", path + "/events", {"kind": "wave", "payload": {"hands": 2}}, 204)
    expect(rs.event("custom")["data"]["payload"] == {"hands": 2}, "another payload")
    rs.command("custom", {"dialogId": dialog["id"], "kind": "wave", "payload": {"hands": 1}})
    expect(js.event("custom")["data"]["payload"] == {"hands": 1}, "another payload")


def calls(juliet, romeo, js, rs, dialog):
    """Rung, answered, talked, ended."""
    asked = {"dialogId": dialog["id"], "kind": "video", "clientId": str(uuid.uuid4())}
    call = romeo.call("POST", "/v1/calls", asked, 201)
    expect(romeo.call("POST", "/v1/calls", asked, 200)["id"] == call["id"], "a repeat is another call")
    path = "/v1/calls/" + call["id"]
    expect(js.event("call.updated")["data"]["call"] == call, "another call rings")
    js.command("call.signal", {"callId": call["id"], "action": "ringing"})
    expect([c["id"] for c in juliet.call("GET", "/v1/calls")["items"]] == [call["id"]], "it is not listed")
    romeo.call("POST", path + "/signals", {"action": "offer", "sdp": "v=0"}, 409, "call-not-accepted")
    accepted = juliet.call("POST", path + "/signals", {"action": "accept"})
    expect(accepted["state"] == "accepted" and accepted["media"] == "sdp", f"accepted {accepted}")
    rs.command("call.signal", {"callId": call["id"], "action": "offer", "sdp": "v=0\r\n"})
    expect(js.event("call.signal")["data"]["sdp"] == "v=0\r\n", "another offer")
    juliet.call("POST", path + "/signals", {"action": "candidate", "candidate": {"candidate": ""}})
    expect(rs.event("call.signal")["data"]["candidate"] == {"candidate": ""}, "another candidate")
    romeo.call("DELETE", path, status=204)
    js.event("call.updated", lambda data: data["call"]["state"] == "ended")
    logged = js.event("message.created", lambda data: data["message"]["content"]["type"] == "call")["data"]["message"]
    expect(logged["content"]["callId"] == call["id"] and logged["senderId"] == romeo.name, f"logged {logged}")
    expect(juliet.call("GET", path)["reason"] == "ended", "it has not ended")
    juliet.call("GET", "/v1/calls/nonsense", status=404, code="call-unknown")
    juliet.call("POST", "/v1/calls", {"kind": "video", "clientId": "x"}, 400)
