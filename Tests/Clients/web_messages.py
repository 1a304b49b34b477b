"""What the web client does with messages and dialogs, in headless Chromium, with slixmpp as the other person: what Juliet does on her
page is seen by Romeo's client and by the API, not only on the page."""
import asyncio
import base64
import datetime
import json
import re
from xml.etree import ElementTree

from lib.apps import App
from lib.browser import DRAWN, browsing
from lib.files import png
from lib.harness import expect, free_port, on_server
from lib.peers import text
from lib.rooms import Guest

JULIET = "juliet@localhost"
# Makes a short video of a canvas, as no program that does is here.
FILM = """async () => {
  const canvas = Object.assign(document.createElement("canvas"), {width: 64, height: 48});
  const brush = canvas.getContext("2d");
  const recorder = new MediaRecorder(canvas.captureStream(), {mimeType: "video/webm;codecs=vp8"});
  const pieces = [];
  recorder.ondataavailable = ({data}) => pieces.push(data);
  const stopped = new Promise((done) => { recorder.onstop = done; });
  recorder.start(50);
  for (let frame = 0; frame < 12 || pieces.reduce((sum, {size}) => sum + size, 0) < 4000; frame += 1) {
    for (let place = 0; place < 48; place += 1) {
      brush.fillStyle = `hsl(${Math.random() * 360} 90% 50%)`;
      brush.fillRect(place % 8 * 8, Math.floor(place / 8) * 8, 8, 8);
    }
    await new Promise(requestAnimationFrame);
  }
  recorder.stop();
  await stopped;
  const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
  return btoa(String.fromCharCode(...bytes));
}"""
# Files as a drag brings them, of names and sizes.
DRAGGED = """(files) => {
  const transfer = new DataTransfer();
  for (const [name, size] of files) transfer.items.add(new File([new Uint8Array(size).fill(65)], name, {type: "text/plain"}));
  return transfer;
}"""
# Puts a picture into the clipboard, as another program would.
COPY = """async (data) => {
  const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
  await navigator.clipboard.write([new ClipboardItem({"image/png": new Blob([bytes], {type: "image/png"})})]);
}"""

# The widths of the pictures in the clipboard, by their types.
PASTED = """async () => {
  const found = {};
  for (const each of await navigator.clipboard.read()) for (const type of each.types) found[type] = (await createImageBitmap(await each.getType(type))).width;
  return found;
}"""

# Holds the timer that ends the mark of a message that was sought, so that nothing depends on how long a check takes.
HOLD_MARKS = """() => {
  const { setTimeout } = window;
  window.setTimeout = (action, delay, ...values) => setTimeout(action, delay === 2000 ? 2 ** 30 : delay, ...values);
  window.endHoldingMarks = () => { window.setTimeout = setTimeout; };
}"""
# What the browser keeps of drafts that the server may not have.
PENDING = "Object.keys(localStorage).filter((key) => key.startsWith('parley.draft/'))"


def app(body, *values):
    """A blocking client's act, beside the loop."""
    return asyncio.get_running_loop().run_in_executor(None, body, *values)


class Story:
    """Juliet at her page and, as her desk, in the API; Romeo by slixmpp and, as his phone, in the API."""

    def __init__(self, server, browser, page, romeo, desk, phone, nurse):
        self.server, self.browser, self.page, self.romeo, self.desk, self.phone, self.nurse = server, browser, page, romeo, desk, phone, nurse

    async def call(self, who, method, path, body=None, status=200):
        got, value = await app(who.call, method, path, body)
        expect(got == status, f"{method} {path}: {got} {value}")
        return value

    async def message(self, who, dialog, words):
        """What the API knows of a message: the newest with these words."""
        return next((each for each in reversed(await app(who.history, dialog)) if each["content"].get("text") == words), None)

    async def open(self, title, page=None):
        page = page or self.page
        await page.locator(f".row .title:text-is({json.dumps(title)})").click()
        await page.locator(f".head h2:has-text({json.dumps(title)})").wait_for()

    async def say(self, words, page=None):
        page = page or self.page
        await page.fill(".write", words)
        await page.keyboard.press("Enter")

    def bubble(self, words):
        """The newest message with these words, not one that quotes them."""
        return self.page.locator(f".message:has(.text:has-text({json.dumps(words)}))").last

    async def status(self, words, status):
        await self.bubble(words).locator(f".status .icon.{status}").wait_for()

    async def choose(self, words, label):
        """An entry of a message's menu."""
        entry = self.page.get_by_role("menuitem", name=label, exact=True)
        # A bubble that is drawn anew between being found and being clicked takes no click.
        for _ in range(5):
            await self.bubble(words).locator(".bubble").click(button="right")
            if await entry.count():
                break
        await entry.click()

    async def attach(self, label):
        await self.page.click("[aria-label='Attach']")
        await self.page.get_by_role("menuitem", name=label, exact=True).click()

    async def close_sheet(self):
        await self.page.keyboard.press("Escape")
        # One below another may go a moment after it.
        await self.page.wait_for_function("() => !document.querySelector('dialog')")

    async def reads(self, dialog, message):
        """Juliet has read up to this message, by the page: her desk marks nothing."""
        await app(self.desk.event, "marker.updated", lambda data: (data["marker"]["dialogId"], data["marker"]["userId"], data["marker"].get("read")) == (dialog, "juliet", message["id"]))

    async def hears(self, words):
        return await self.romeo.saw("message", text(words))

    def answer(self, words):
        """Romeo says something."""
        message = self.romeo.make_message(JULIET, words, mtype="chat")
        message.send()
        return message

    def never(self, event, test):
        return not [data for name, data in self.romeo.seen if name == event and test(data)]


# MARK: One message


async def changing(checks, story):
    page, romeo, dialog = story.page, story.romeo, story.private
    with checks.check("web messages: the other person sees that one writes, and no longer"):
        await page.type(".write", "Ay")
        await romeo.saw("chatstate_composing")
        await page.fill(".write", "")
        await romeo.saw("chatstate_paused")
        for state in ("composing", "paused"):
            message = romeo.make_message(JULIET, mtype="chat")
            message["chat_state"] = state
            message.send()
            await page.locator(".head:has-text('typing')").wait_for(state="visible" if state == "composing" else "detached")
    with checks.check("web messages: an edit is a correction, and its sheet has the earlier texts"):
        await story.say("Ay me")
        said = await story.hears("Ay me")
        for words in ("Ay me!", "Ay me! Who is there?"):
            await page.locator(".write").focus()
            await page.keyboard.press("ArrowUp")
            await page.locator(".context:has-text('Edit')").wait_for()
            await story.say(words)
            heard = await romeo.saw("message_correction", text(words))
            expect(heard["replace"]["id"] == said["id"], f"{heard}")
        await story.bubble("Who is there?").locator(".meta:has-text('edited')").wait_for()
        expect(await page.input_value(".write") == "", "the text is still in the composer")
        await story.choose("Who is there?", "Info")
        await page.click("dialog button:has-text('Earlier versions')")
        earlier = page.locator("dialog[aria-labelledby]").last.locator("p[dir=auto]")
        await earlier.first.wait_for()
        expect(sorted(await earlier.all_text_contents()) == ["Ay me", "Ay me!"], f"{await earlier.all_text_contents()}")
        await page.keyboard.press("Escape")
        await story.close_sheet()
    with checks.check("web messages: the other person's correction is shown, not what they said before"):
        first = story.answer("But soft")
        await story.bubble("But soft").wait_for()
        romeo["xep_0308"].correct_message(first, "But soft! What light")
        await story.bubble("But soft! What light").locator(".meta:has-text('edited')").wait_for()
        expect(await page.locator(".message:has-text('But soft')").count() == 1, "it is there twice")
        await story.choose("But soft! What light", "Info")
        await page.locator("dialog .item:has-text('Edited')").wait_for()
        expect(await page.locator("dialog button:has-text('Earlier versions')").count() == 0, "what only its author may see is offered")
        await story.close_sheet()
    with checks.check("web messages: who has read a message, and when"):
        await story.choose("Who is there?", "Info")
        await page.locator("dialog .item:has-text('Romeo'):has-text('Delivered')").wait_for()
        await story.close_sheet()
        romeo.displays(JULIET, said["id"])
        await story.status("Who is there?", "read")
        await story.choose("Who is there?", "Info")
        await page.locator("dialog .item:has-text('Romeo'):has-text('Read ')").wait_for()
        await story.close_sheet()
    with checks.check("web messages: reactions of both are counted, and each takes only their own back"):
        await story.bubble("What light").locator(".bubble").click(button="right")
        await page.click(".menu .emojis button:has-text('❤️')")
        heard = await romeo.saw("reactions")
        expect((heard["reactions"]["id"], [each["value"] for each in heard["reactions"]]) == (first["id"], ["❤️"]), f"{heard}")
        romeo["xep_0444"].send_reactions(JULIET, first["id"], ["❤️", "🌹"])
        hearts = story.bubble("What light").locator(".reactions button:has-text('❤️')")
        await hearts.locator("span:text-is('2')").wait_for()
        expect(await hearts.get_attribute("aria-pressed") == "true", "it is not one's own")
        await hearts.click()
        heard = await romeo.saw("reactions")
        expect(not [each["value"] for each in heard["reactions"]], f"{heard}")
        await story.bubble("What light").locator(".reactions button[aria-pressed=false]:has-text('❤️')").wait_for()
        known = await story.message(story.desk, dialog, "But soft! What light")
        expect(known["reactions"] == {"❤️": ["romeo"], "🌹": ["romeo"]}, f"{known}")
        await story.bubble("What light").locator(".reactions button:has-text('🌹')").click()
        heard = await romeo.saw("reactions")
        expect([each["value"] for each in heard["reactions"]] == ["🌹"], f"{heard}")
    with checks.check("web messages: a star is set"):
        await story.choose("What light", "Star")
        await story.bubble("What light").locator(".starred").wait_for()
        stars = await story.call(story.desk, "GET", "/v1/stars")
        expect([each["content"]["text"] for each in stars["items"]] == ["But soft! What light"], f"{stars}")
    with checks.check("web messages: deleted for oneself, it stays with the other person"):
        await story.say("O Romeo, Romeo")
        gone = await story.hears("O Romeo, Romeo")
        await story.choose("O Romeo, Romeo", "Delete for me")
        await page.locator(".message:has-text('O Romeo, Romeo')").wait_for(state="detached")
        expect(not await story.message(story.desk, dialog, "O Romeo, Romeo"), "the API still has it")
        expect(await story.message(story.phone, dialog, "O Romeo, Romeo"), "the other person has lost it")
        await story.say("Deny thy father")
        await story.hears("Deny thy father")
        expect(story.never("message_retract", lambda stanza: stanza["retract"]["id"] == gone["id"]), "it is taken back from the other person")
    with checks.check("web messages: deleted for everyone, either person's message is gone in both clients"):
        said = await app(story.phone.history, dialog)
        name = said[-1]["id"]
        await story.choose("Deny thy father", "Delete for everyone")
        await page.click("dialog button:has-text('Cancel')")
        await story.choose("Deny thy father", "Delete for everyone")
        await page.click("dialog button.danger")
        heard = await romeo.saw("message_retract")
        expect(heard["retract"]["id"] == name, f"{heard} takes back another than {name}")
        await page.locator(".message.gone").wait_for()
        romeo["xep_0424"].send_retraction(JULIET, first["id"])
        await page.locator(".message.gone >> nth=1").wait_for()
        expect(await page.locator(".message:has-text('What light')").count() == 0, "its text is still there")


async def replies_and_pins(checks, story, page, romeo, dialog, fill, far, to_end):
    """A reply and a pin lead to their message."""
    original = None
    with checks.check("web messages: a reply leads to its original, however far back, and is a reply for the other person"):
        story.answer("I take thee at thy word")
        original = await app(story.desk.message, "I take thee at thy word")
        await story.reads(dialog, original)  # what is unread would be opened at its beginning
        await app(fill)
        await story.hears("Line 129 of many")
        await page.reload()
        await story.bubble("Line 129 of many").wait_for()
        expect(await page.locator(".message:has-text('at thy word')").count() == 0, "the original is loaded without need")
        await story.call(story.desk, "POST", f"/v1/dialogs/{dialog}/messages",
                         {"clientId": "far", "content": {"type": "text", "text": "What man art thou?"}, "replyTo": original["id"]}, 201)
        quote = story.bubble("What man art thou?").locator(".quote:has-text('Romeo'):has-text('at thy word')")
        await quote.click()
        await far("I take thee at thy word")
        # It is answered from there: the window is back at the end, where the answer is.
        await story.bubble("at thy word").locator(".text").dblclick()
        await page.locator(".context:has-text('Reply to'):has-text('Romeo')").wait_for()
        await story.say("My ears have not yet drunk")
        await story.bubble("My ears have not yet drunk").locator(".quote:has-text('at thy word')").wait_for()
        heard = await romeo.saw("message_reply", lambda stanza: "My ears have not yet drunk" in str(stanza["body"]))
        expect(heard["reply"]["to"] == "romeo@localhost", f"{heard}")
        known = await story.message(story.desk, dialog, "My ears have not yet drunk")
        expect(known["replyTo"] == original["id"], f"{known}")
        reply = romeo["xep_0461"].make_reply(JULIET, known["id"], "My ears have not yet drunk", mto=JULIET, mbody="Neither, fair maid", mtype="chat")
        reply.send()
        await story.bubble("Neither, fair maid").locator(".quote:has-text('My ears have not yet drunk')").wait_for()
    with checks.check("web messages: a pinned message leads there, for both, until it is unpinned"):
        await story.bubble("My ears").locator(".quote").click()
        await far("I take thee at thy word")
        await story.choose("at thy word", "Pin")
        strip = page.locator(".strip:has-text('at thy word')")
        await strip.wait_for()
        pins = await story.call(story.phone, "GET", f"/v1/dialogs/{dialog}/pins")
        expect([each["id"] for each in pins["items"]] == [original["id"]], f"{pins}")
        await to_end()
        await strip.click()
        await far("I take thee at thy word")
        await story.choose("at thy word", "Unpin")
        await strip.wait_for(state="detached")
        pins = await story.call(story.phone, "GET", f"/v1/dialogs/{dialog}/pins")
        expect(not pins["items"], f"{pins}")
        await to_end()
    return original


async def jumps(checks, story, page, far, original):
    """Jumps that overlap, and searches."""
    cold = None
    with checks.check("web messages: of jumps that overlap the last one wins, and so does the way to the end"):
        asked, gate, place = asyncio.Event(), asyncio.Event(), re.compile(re.escape(original["id"]))

        async def hold(route):
            asked.set()
            await gate.wait()
            await route.continue_()

        async def overtaken(meanwhile):
            """A jump to the original, whose answers come after something else was done."""
            asked.clear()
            gate.clear()
            async with page.expect_response(lambda answer: answer.url.endswith(f"/messages/{original['id']}")) as answer:
                await story.bubble("My ears").locator(".quote").click()
                await asked.wait()
                await meanwhile()
                gate.set()
            await (await answer.value).finished()
            # By then the page has drawn what it makes of the answers.
            await page.evaluate(DRAWN)
            expect(await story.bubble("Line 129 of many").count() == 1 and await story.bubble("at thy word").count() == 0, "the first jump has won")

        async def nearby():
            await story.bubble("Neither, fair maid").locator(".quote").click()
            await page.locator(".message.found:has(.text:has-text('My ears'))").wait_for()

        async def end():
            await story.bubble("Neither, fair maid").focus()
            await page.keyboard.press("End")

        await page.route(place, hold)
        await overtaken(nearby)
        await overtaken(end)
        await page.unroute(place)
    with checks.check("web messages: a search in the dialog leads to the message, one in all dialogs to the dialog, too"):
        await page.click("[aria-label='Search in this chat']")
        await page.fill(".panel input[type=search]", "Line 17")
        await page.locator(".panel .row:has(mark:text-is('Line 17'))").click()
        await far("Line 17 of many")
        await page.click(".panel [aria-label=Close]")
        cold = await app(story.nurse.say, story.kitchen, "Come before it is cold")
        await page.fill(".side input[type=search]", "cold")
        await page.evaluate(HOLD_MARKS)
        await page.locator(".side .row:has(mark:text-is('cold'))").click()
        await page.locator(".head h2:has-text('Nurse')").wait_for()
        await page.locator(".message.found:has-text('cold'), .message:focus:has-text('cold')").first.wait_for()
        await page.evaluate("() => endHoldingMarks()")
        await story.reads(story.kitchen, cold)
        await page.fill(".side input[type=search]", "")
        await page.locator(".filters").wait_for()
    return cold


async def sought_messages(checks, story, page, dialog, in_sight, cold):
    """Messages that were sought or are linked."""
    with checks.check("web messages: a message that was sought stays marked, and keeps the focus, when it is drawn anew"):
        await story.open("Romeo")
        await page.evaluate(HOLD_MARKS)
        found = page.locator(".message.found:has(.text:has-text('cold'))")

        async def react(emoji):
            await story.call(story.nurse, "PUT", f"/v1/dialogs/{story.kitchen}/messages/{cold['id']}/reactions", {"emoji": [emoji]})
            await story.bubble("cold").locator(f".reactions:has-text('{emoji}')").wait_for()

        async def seek():
            await page.evaluate("(address) => { location.hash = address; }", f"#/dialog/{story.kitchen}/{cold['id']}")

        await seek()  # the dialog opens
        await found.wait_for()
        await react("🥣")
        expect(await found.count() == 1, "the message that is drawn anew is not marked")
        # A jump within the dialog that is open gives the message the focus.
        await page.evaluate("(address) => { location.hash = address; }", f"#/dialog/{story.kitchen}")
        await seek()
        await page.locator(".message:focus:has(.text:has-text('cold'))").wait_for()
        await react("🔥")
        expect(await page.evaluate("() => document.activeElement.matches('.message.found')"), "the message that is drawn anew has lost the focus")
        await page.evaluate("() => endHoldingMarks()")
    with checks.check("web messages: a link to a message that was kept shows it, also where the newest messages are without it"):
        sought = await story.message(story.desk, dialog, "My ears have not yet drunk")
        gate, over = asyncio.Event(), asyncio.Event()
        place, earlier = re.compile(f"{re.escape(dialog)}/messages\\?.*include="), re.compile(f"before=(?!{re.escape(sought['id'])})")

        async def shorten(route):
            await gate.wait()
            await route.continue_(url=re.sub(r"limit=\d+", "limit=1", route.request.url))

        async def hold_earlier(route):
            """The page before the newest message would happen to have what is sought."""
            await over.wait()
            await route.continue_()

        await page.route(place, shorten)
        await page.route(earlier, hold_earlier)
        async with page.expect_response(place) as answer:
            await page.evaluate("(address) => { location.hash = address; }", f"#/dialog/{dialog}/{sought['id']}")
            await page.locator(".message.found:has(.text:has-text('My ears'))").wait_for()
            gate.set()
        await (await answer.value).finished()
        await page.evaluate(DRAWN)
        await in_sight("My ears have not yet drunk")
        over.set()
        await page.unroute(place)
        await page.unroute(earlier)


async def pressed_rows(checks, story, page, dialog):
    """What changes while it is pressed."""
    async def press(target):
        """Presses the middle of something, which is still to be released."""
        await target.wait_for()
        # None if it is drawn anew just now.
        while not (box := await target.bounding_box()):
            await target.wait_for()
        await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        await page.mouse.down()

    row = page.locator(".dialogs .row:has-text('Madam, your mother')")
    with checks.check("web messages: a quote in a message that changes while it is pressed leads to the original"):
        await press(story.bubble("Neither, fair maid").locator(".quote"))
        neither = await story.message(story.desk, dialog, "Neither, fair maid")
        await story.call(story.phone, "PUT", f"/v1/dialogs/{dialog}/messages/{neither['id']}/reactions", {"emoji": ["🌙"]})
        # Events come in order: what follows is in the list when the reaction is here.
        await app(story.nurse.say, story.kitchen, "Madam, your mother")
        await row.wait_for()
        await page.evaluate(DRAWN)
        await page.mouse.up()
        # The focus, since the mark may be that of the link.
        await page.locator(".message:focus:has(.text:has-text('My ears'))").wait_for()
        await story.bubble("Neither, fair maid").locator(".reactions:has-text('🌙')").wait_for()
    with checks.check("web messages: a dialog whose row changes while it is pressed opens"):
        await press(row)
        called = await app(story.nurse.say, story.kitchen, "Madam, she calls")
        story.answer("Sleep dwell upon thine eyes")
        await story.bubble("Sleep dwell upon thine eyes").wait_for()
        await page.evaluate(DRAWN)
        await page.mouse.up()
        await page.locator(".head h2:has-text('Nurse')").wait_for()
        await page.locator(".dialogs .row:has-text('Madam, she calls')").wait_for()
        await story.reads(story.kitchen, called)


async def finding(checks, story):
    """What leads to a message that is not on the screen, nor loaded."""
    page, romeo, dialog = story.page, story.romeo, story.private

    def fill():
        for number in range(130):
            story.desk.say(dialog, f"Line {number} of many")

    async def in_sight(words):
        await page.wait_for_function("""(words) => {
          const box = [...document.querySelectorAll(".message .text")].find((each) => each.textContent.includes(words))?.getBoundingClientRect();
          const scroller = document.querySelector(".scroller").getBoundingClientRect();
          return box && box.top >= scroller.top && box.bottom <= scroller.bottom;
        }""", arg=words)

    async def far(words):
        """The message is in the middle of the history, and shown as the one that was sought."""
        said = f":has(.text:has-text({json.dumps(words)}))"  # not one that quotes it
        await page.locator(f".message.found{said}, .message:focus{said}").first.wait_for()
        await in_sight(words)
        expect(await page.locator(".message:has-text('Line 129 of many')").count() == 0, "the end is still there")

    async def to_end():
        await page.click(".down")
        await story.bubble("Line 129 of many").wait_for()

    original = await replies_and_pins(checks, story, page, romeo, dialog, fill, far, to_end)
    cold = await jumps(checks, story, page, far, original)
    await sought_messages(checks, story, page, dialog, in_sight, cold)
    await pressed_rows(checks, story, page, dialog)


async def forwarding(checks, story):
    page = story.page
    with checks.check("web messages: a message is forwarded to another dialog, which opens"):
        await story.open("Nurse")
        await story.choose("The porridge is ready", "Forward")
        await page.fill("dialog input[type=search]", "rom")
        await page.locator("dialog .item:has-text('Nurse')").wait_for(state="detached")
        await page.click("dialog .item:has-text('Romeo')")
        await page.locator(".head h2:has-text('Romeo')").wait_for()
        await story.hears("The porridge is ready")
        await story.bubble("The porridge is ready").locator(".forwarded").wait_for()
        known = await story.message(story.phone, story.private, "The porridge is ready")
        # Romeo cannot read where it comes from, and is not told who said it.
        expect(known["senderId"] == "juliet" and set(known["forwardedFrom"]) == {"sentAt"}, f"{known}")
    with checks.check("web messages: a message is forwarded to a contact with whom there is no dialog yet"):
        await story.open("Nurse")
        await story.choose("The porridge is ready", "Forward")
        await page.locator("dialog .item:has-text('Romeo')").wait_for()
        await page.click("dialog .item:has-text('Tybalt')")
        await page.locator(".head h2:has-text('Tybalt')").wait_for()
        await story.bubble("The porridge is ready").locator(".forwarded").wait_for()
        await story.choose("The porridge is ready", "Forward")
        await page.locator("dialog .item:has-text('Tybalt')").wait_for()
        expect(await page.locator("dialog .item:has-text('Tybalt')").count() == 1, "Tybalt is offered twice")
        await story.close_sheet()


# MARK: Writing


async def drafting(checks, story):
    page, desk, private = story.page, story.desk, story.private
    draft = lambda dialog, words: app(desk.event, "draft.updated", lambda data: data["dialogId"] == dialog and (data.get("draft") or {}).get("text") == words)
    with checks.check("web messages: each dialog keeps its draft, over a reload too"):
        await story.open("Romeo")
        asked = story.answer("Wilt thou leave me so?")
        await story.bubble("Wilt thou leave me so?").wait_for()
        await story.choose("Wilt thou leave me so?", "Reply")
        await page.fill(".write", "Three words, dear Romeo")
        await story.open("Nurse")
        expect(await page.input_value(".write") == "", "the other dialog's draft is here")
        await page.fill(".write", "Anon, good nurse")
        await draft(private, "Three words, dear Romeo")
        await draft(story.kitchen, "Anon, good nurse")
        await page.locator(".row:has-text('Draft: Three words, dear Romeo')").wait_for()
        await page.reload()
        await page.wait_for_selector(".write")
        expect(await page.input_value(".write") == "Anon, good nurse", "the draft is lost by a reload")
        await story.open("Romeo")
        expect(await page.input_value(".write") == "Three words, dear Romeo", "the other draft is lost")
        await page.locator(".context:has-text('Wilt thou leave me so?')").wait_for()
    with checks.check("web messages: what was written in the second before a reload is there, and reaches the server"):
        await story.open("Nurse")
        await page.fill(".write", "Anon, good nurse, anon")
        await page.reload()
        await page.wait_for_selector(".write")
        expect(await page.input_value(".write") == "Anon, good nurse, anon", "the last words are lost by a reload")
        await draft(story.kitchen, "Anon, good nurse, anon")
        await page.wait_for_function(f"() => !{PENDING}.length")
    with checks.check("web messages: what was sent in the second before a reload is no draft any more"):
        await story.say("I come, anon")
        await story.status("I come, anon", "sent")
        await page.reload()
        await page.wait_for_selector(".write")
        expect(await page.input_value(".write") == "", "what was sent is written once more")
        await app(desk.event, "draft.updated", lambda data: data["dialogId"] == story.kitchen and "draft" not in data)
        await page.wait_for_function(f"() => !{PENDING}.length")
        await story.say("By and by, I come")
        await story.status("By and by, I come", "sent")
        await story.open("Romeo")
    with checks.check("web messages: a draft is continued on another device, and gone from both when it is sent"):
        other = await story.browser.sign_in("juliet")
        await story.open("Romeo", other)
        expect(await other.input_value(".write") == "Three words, dear Romeo", "the draft is not on the other device")
        await other.locator(".context:has-text('Wilt thou leave me so?')").wait_for()
        await page.locator(".write").blur()
        await other.fill(".write", "Three words, and good night")
        await page.wait_for_function("() => document.querySelector('.write').value === 'Three words, and good night'")
        await other.keyboard.press("Enter")
        heard = await story.romeo.saw("message_reply", lambda stanza: "Three words, and good night" in str(stanza["body"]))
        expect(heard["reply"]["id"] == asked["id"], f"{heard}")
        await page.wait_for_function("() => document.querySelector('.write').value === ''")
        await page.locator(".context").wait_for(state="hidden")
        shown = await story.call(desk, "GET", f"/v1/dialogs/{private}")
        expect("draft" not in shown["me"], f"{shown['me']}")
    with checks.check("web messages: who signs out leaves no draft in the browser"):
        await other.route(re.compile("/draft$"), lambda route: route.abort())
        await other.fill(".write", "What I told nobody")
        expect(len(await other.evaluate(f"() => {PENDING}")) == 1, "it is not kept")
        await other.click(".side-head .me")
        await other.click(".side .item:has-text('Sign out')")
        await other.wait_for_selector("[name=username]")
        expect(not await other.evaluate(f"() => {PENDING}"), "it is still there")
        await other.context.close()


async def scheduling(checks, story):
    page, desk = story.page, story.desk

    async def schedule(words):
        await page.fill(".write", words)
        await story.attach("Send later")
        await page.locator("dialog p:has-text(%s)" % json.dumps(words)).wait_for()
        await page.click("dialog button[type=submit]")
        await page.locator("dialog").wait_for(state="detached")
        expect(await page.input_value(".write") == "", "the text is still in the composer")

    with checks.check("web messages: scheduled messages are listed, one is changed, one is cancelled"):
        await story.attach("Send later")
        await page.locator(".toast:has-text('Write the message first')").wait_for()
        asked = story.answer("What o'clock to-morrow shall I send to thee?")
        await story.choose("What o'clock to-morrow", "Reply")
        await schedule("Good morrow")
        await page.locator(".context").wait_for(state="hidden")
        await schedule("Good night")
        waiting = (await story.call(desk, "GET", "/v1/scheduled-messages"))["items"]
        expect({each["content"]["text"] for each in waiting} == {"Good morrow", "Good night"}, f"{waiting}")
        await story.attach("Scheduled messages")
        await page.locator("dialog .item:has-text('Good night')").get_by_role("button", name="Cancel").click()
        await app(desk.event, "scheduled.updated", lambda data: data["state"] == "cancelled")
        await page.locator("dialog").wait_for(state="detached")
        await story.attach("Scheduled messages")
        await page.locator("dialog .item:has-text('Good morrow')").get_by_role("button", name="Edit").click()
        await page.locator("dialog textarea").fill("A thousand times good morrow")
        moment = datetime.datetime.now() + datetime.timedelta(days=2)
        await page.fill("dialog input[type=datetime-local]", moment.strftime("%Y-%m-%dT%H:%M"))
        await page.click("dialog button[type=submit]")
        await page.locator("dialog").wait_for(state="detached")
        waiting = (await story.call(desk, "GET", "/v1/scheduled-messages"))["items"]
        expect([each["content"]["text"] for each in waiting] == ["A thousand times good morrow"], f"{waiting}")
        at = datetime.datetime.fromisoformat(waiting[0]["sendAt"])
        expect(abs(at - moment.astimezone()) < datetime.timedelta(minutes=1), f"{at} is not {moment}")
    with checks.check("web messages: a scheduled message is sent when its time comes, and what could not be sent says why"):
        soon = lambda: (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        # The field has minutes: another device makes it a second.
        await story.call(desk, "PATCH", f"/v1/scheduled-messages/{waiting[0]['id']}", {"sendAt": soon()})
        heard = await story.romeo.saw("message_reply", lambda stanza: "A thousand times good morrow" in str(stanza["body"]))
        expect(heard["reply"]["id"] == asked["id"], f"{heard}")
        await story.status("A thousand times good morrow", "delivered")
        await schedule("Parting is such sweet sorrow")
        late = (await story.call(desk, "GET", "/v1/scheduled-messages"))["items"][0]
        await story.call(desk, "PUT", "/v1/blocks/romeo")
        await story.call(desk, "PATCH", f"/v1/scheduled-messages/{late['id']}", {"sendAt": soon()})
        await app(desk.event, "scheduled.updated", lambda data: data["state"] == "failed")
        await story.attach("Scheduled messages")
        await page.locator("dialog .item:has-text('Parting'):has-text('You have blocked this person')").wait_for()
        await page.locator("dialog .item:has-text('Parting')").get_by_role("button", name="Cancel").click()
        await page.locator("dialog").wait_for(state="detached")
        await story.call(desk, "DELETE", "/v1/blocks/romeo", status=204)


async def failing(checks, story):
    page, desk = story.page, story.desk
    with checks.check("web messages: what the server refuses says why, and is sent again or discarded"):
        await story.call(desk, "PUT", "/v1/blocks/romeo")
        for words in ("Wilt thou be gone?", "It was the lark"):
            await story.say(words)
            await story.bubble(words).locator(".why:has-text('You have blocked this person')").wait_for()
        await page.reload()
        await story.bubble("It was the lark").locator(".why").wait_for()
        await story.call(desk, "DELETE", "/v1/blocks/romeo", status=204)
        await story.choose("It was the lark", "Discard")
        await page.locator(".message:has-text('It was the lark')").wait_for(state="detached")
        await story.bubble("Wilt thou be gone?").locator(".why").click()
        await page.get_by_role("menuitem", name="Send again").click()
        await story.hears("Wilt thou be gone?")
        await story.status("Wilt thou be gone?", "delivered")
        expect(await page.locator(".message.failed").count() == 0, "it still says that it was not sent")
        expect(story.never("message", text("Wilt thou be gone?")) and story.never("message", text("It was the lark")), "sent twice, or though discarded")
        expect(not await story.message(desk, story.private, "It was the lark"), "what was discarded was sent")
    with checks.check("web messages: what another server did not take says why, and can be deleted"):
        far = await story.call(desk, "POST", "/v1/dialogs", {"type": "private", "userId": "paris@nowhere.invalid"}, 201)
        await page.goto(f"{story.server.base}/#/dialog/{far['id']}")
        await page.wait_for_selector(".write")
        await story.say("Come not here")
        await story.bubble("Come not here").wait_for()
        await page.locator(".message.failed .why:has-text('Not delivered')").wait_for()
        await story.choose("Come not here", "Delete for me")
        await page.locator(".message:has-text('Come not here')").wait_for(state="detached")
        expect(not await story.message(desk, far["id"], "Come not here"), "the API still has it")


# MARK: Files and places


async def pictures(checks, story, page, romeo, desk, private, shown):
    """Pictures: pasted, copied, several of them."""
    with checks.check("web messages: a picture is pasted, seen before it is sent, and shown in full"):
        await story.open("Romeo")
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.evaluate(COPY, base64.b64encode(png(41, 30)).decode())
        await page.locator(".write").focus()
        await page.keyboard.press("Control+v")
        await page.wait_for_function("() => document.querySelector('.tray-item img')?.naturalWidth === 41")
        await page.click(".composer .main")
        got = await romeo.saw("message", lambda stanza: "/uploads/" in str(stanza["body"]))
        expect(str(got["body"]).split("?")[0].endswith(".png") and got["oob"]["url"] == got["body"], f"{got}")
        await shown(41)
        await page.locator(".tray-item").wait_for(state="detached")
    with checks.check("web messages: a picture is copied, as other programs take it"):
        await page.evaluate("navigator.clipboard.writeText('')")
        await page.locator(".bubble:has(.picture)").last.click(button="right")
        await page.click("[role=menuitem]:has-text('Copy picture')")
        await page.locator(".toast:has-text('Copied')").wait_for()
        expect(await page.evaluate(PASTED) == {"image/png": 41}, "another picture is in the clipboard")
    with checks.check("web messages: several pictures are one message and one gallery, which one goes through"):
        await page.set_input_files(".composer input[type=file]", [
            {"name": f"{name}.png", "mimeType": "image/png", "buffer": png(width, 20)} for name, width in (("rose", 42), ("thorn", 43), ("leaf", 44))])
        await page.locator(".tray-item >> nth=2").wait_for()
        await page.click(".tray-item:has-text('leaf.png') button")
        await story.say("By any other name")
        await page.locator(".pictures.count-2 .picture >> nth=1").wait_for()
        known = await story.message(desk, private, "By any other name")
        expect([each["name"] for each in known["content"]["attachments"]] == ["rose.png", "thorn.png"], f"{known}")
        await page.click(".pictures.count-2 .picture")
        seen = []
        for key in (None, "ArrowRight", "ArrowRight", "ArrowLeft"):
            if key:
                await page.keyboard.press(key)
            name = ("rose", "thorn")[len(seen) % 2]
            await page.locator(f".gallery header:has-text('{name}.png')").wait_for()
            await page.wait_for_function("(width) => document.querySelector('.gallery > img').naturalWidth === width", arg=42 + len(seen) % 2)
            address = await page.get_attribute(".gallery a[download]", "href")
            expect(address == await page.evaluate("() => document.querySelector('.gallery > img').src"), "another picture would be downloaded")
            seen.append(name)
        await story.close_sheet()


async def dragged_files(checks, story, page, romeo, desk, private):
    """Files that are dragged, and cancelled."""
    with checks.check("web messages: a dragged file is sent, and its progress is shown; an upload goes on after the network was away"):
        held, gate = [], asyncio.Event()

        async def hold(route):
            if route.request.method == "PATCH" and int(route.request.headers["upload-offset"]) > 0:
                held.append(route.request)
                await gate.wait()
            await route.continue_()

        await page.route(re.compile("/uploads/"), hold)
        transfer = await page.evaluate_handle(DRAGGED, [["letter.txt", 1 << 20]])
        await page.dispatch_event(".history", "dragover", {"dataTransfer": transfer})
        await page.locator(".drop:has-text('Drop files to send them')").wait_for()
        await page.dispatch_event(".history", "drop", {"dataTransfer": transfer})
        await page.locator(".drop").wait_for(state="hidden")
        await page.locator(".tray-item:has-text('letter.txt')").wait_for()
        await story.say("A letter")
        progress = story.bubble("A letter").locator("[role=progressbar]")
        await page.locator("[role=progressbar][aria-valuenow='25']").wait_for()
        expect(await progress.locator("span").evaluate("(each) => each.style.width") == "25%", "the bar does not show it")
        await page.context.set_offline(True)
        async with page.expect_event("requestfailed", lambda request: request.method == "PATCH"):
            gate.set()
        await page.context.set_offline(False)
        got = await romeo.saw("message", lambda stanza: "letter.txt" in str(stanza["body"]))
        await progress.wait_for(state="detached")
        file = (await story.message(desk, private, "A letter"))["content"]["attachments"][0]
        expect((file["name"], file["size"]) == ("letter.txt", 1 << 20), f"{file} {got}")
        await page.locator("a.file:has-text('letter.txt')").wait_for()
    with checks.check("web messages: sending is cancelled while the file is on its way"):
        gate.clear()
        transfer = await page.evaluate_handle(DRAGGED, [["secret.txt", 1 << 20]])
        await page.dispatch_event(".history", "drop", {"dataTransfer": transfer})
        await story.say("Not this one")
        await story.bubble("Not this one").locator("[aria-label='Cancel sending']").click()
        await page.locator(".message:has-text('Not this one')").wait_for(state="detached")
        gate.set()
        await story.say("Only this one")
        await story.hears("Only this one")
        expect(not await story.message(desk, private, "Not this one"), "it was sent")
        await page.unroute(re.compile("/uploads/"))


async def videos_and_places(checks, story, page, romeo, desk, private):
    """Videos and locations."""
    with checks.check("web messages: a video is sent, and plays in the page"):
        film = base64.b64decode(await page.evaluate(FILM))
        async with page.expect_file_chooser() as chooser:
            await story.attach("Picture or video")
        await (await chooser.value).set_files([{"name": "balcony.webm", "mimeType": "video/webm", "buffer": film}])
        await page.locator(".tray-item:has-text('balcony.webm')").wait_for()
        await page.click(".composer .main")
        await romeo.saw("message", lambda stanza: "balcony.webm" in str(stanza["body"]))
        await page.wait_for_function("() => document.querySelector('video.video')?.videoWidth === 64")
        await page.evaluate("() => document.querySelector('video.video').play()")
        await page.wait_for_function("() => document.querySelector('video.video').currentTime > 0")
        known = (await app(desk.history, private))[-1]["content"]
        expect(known["type"] == "video" and known["attachments"][0]["mediaType"] == "video/webm", f"{known}")
    with checks.check("web messages: one's location is sent, with a link to a map, and nothing where the browser does not tell it"):
        await page.context.grant_permissions(["geolocation"])
        await page.context.set_geolocation({"latitude": 45.44189, "longitude": 10.99789, "accuracy": 12})
        await story.attach("Location")
        await page.get_by_role("button", name="Where I am now").click()
        await page.wait_for_function("() => document.querySelector('dialog input').value.startsWith('geo:')")
        await page.click("dialog button.main")
        heard = await romeo.saw("message", lambda stanza: "45.44189" in str(stanza["body"]))
        expect("10.99789" in str(heard["body"]), f"{heard}")
        address = await page.locator(".message:has-text('45.44189, 10.99789') a").get_attribute("href")
        expect("mlat=45.44189&mlon=10.99789" in address, address)
        known = (await app(desk.history, private))[-1]["content"]
        expect((known["type"], known["lat"], known["lng"], known["accuracy"]) == ("location", 45.44189, 10.99789, 12), f"{known}")
        await page.context.clear_permissions()
        await story.attach("Location")
        await page.get_by_role("button", name="Where I am now").click()
        await page.locator(".toast:has-text('Your location is not available')").wait_for()
        await story.close_sheet()


async def filing(checks, story):
    page, romeo, desk, private = story.page, story.romeo, story.desk, story.private
    shown = lambda width: page.wait_for_function("(width) => [...document.querySelectorAll('.picture img')].some((each) => each.naturalWidth === width)", arg=width)
    await pictures(checks, story, page, romeo, desk, private, shown)
    await dragged_files(checks, story, page, romeo, desk, private)
    await videos_and_places(checks, story, page, romeo, desk, private)


# MARK: Groups and the list


async def mentioning(checks, story):
    page, romeo, desk = story.page, story.romeo, story.desk
    with checks.check("web messages: a mention is completed by keyboard, and placed in the text, for both protocols"):
        group = await story.call(desk, "POST", "/v1/dialogs", {"type": "group", "name": "Masque", "memberIds": ["romeo", "nurse"]}, 201)
        await romeo.enter(group["jid"], "Romeo")
        await story.open("Masque")
        await page.locator(".head:has-text('3 members')").wait_for()
        await page.type(".write", "🌹 Good pilgrim @")
        await page.locator(".suggestions button >> nth=1").wait_for()
        await page.type(".write", "r")
        await page.locator(".suggestions button:has-text('Nurse')").wait_for()
        await page.type(".write", "o")
        await page.locator(".suggestions button:has-text('Nurse')").wait_for(state="detached")
        await page.keyboard.press("Tab")
        await page.type(".write", "you wrong your hand")
        await page.keyboard.press("Enter")
        words = "🌹 Good pilgrim @Romeo you wrong your hand"
        await romeo.message(group["jid"], words)
        known = await story.message(desk, group["id"], words)
        expect([(each["userId"], each["begin"], each["end"]) for each in known["mentions"]] == [("romeo", 15, 21)], f"{known['mentions']}")
        await story.bubble("Good pilgrim").locator(".mention:has-text('@Romeo')").wait_for()
    return group


async def listing(checks, story, group):
    page, romeo, desk = story.page, story.romeo, story.desk
    row = page.locator(".dialogs .row:has-text('Masque')")
    path = f"/v1/dialogs/{group['id']}"

    async def choose(label, place=None):
        """An entry of the dialog's menu in the list, or of the one in its head. Gives what the other device is told."""
        await (page.locator(place).click() if place else row.click(button="right"))
        await page.get_by_role("menuitem", name=label, exact=True).click()
        return (await app(desk.event, "settings.updated", lambda data: data["settings"]["dialogId"] == group["id"]))["data"]["settings"]

    async def first(words):
        await page.locator(".dialogs .row >> nth=0").and_(page.locator(f".dialogs .row:has-text('{words}')")).wait_for()

    with checks.check("web messages: a dialog is pinned to the top of the list and muted; who is mentioned in it sees it there"):
        await story.open("Nurse")
        story.answer("I am here again")
        await first("I am here again")
        expect((await choose("Pin"))["pinned"], "it is not pinned")
        await first("Masque")
        expect((await choose("Mute"))["notify"] == "never", "it is not muted")
        message = romeo.make_message(group["jid"], "@Juliet then move not", mtype="groupchat")
        message.append(ElementTree.Element("{urn:xmpp:reference:0}reference", type="mention", begin="0", end="7", uri="xmpp:" + JULIET))
        message.send()
        await row.locator(".badge:text-is('@1')").wait_for()
        await row.locator(".badge.quiet:text-is('1')").wait_for()
        await story.open("Masque")
        await row.locator(".badge").first.wait_for(state="detached")
        expect(not (await choose("Unmute", ".head [aria-label=More]")).get("notify"), "it is still muted")
        await row.locator(".icon").nth(1).wait_for(state="detached")
    with checks.check("web messages: a dialog is marked as unread, unpinned, archived, and back, by its menu"):
        expect((await choose("Mark as unread"))["markedUnread"], "it is not marked as unread")
        await row.locator(".badge:text-is('•')").wait_for()
        expect(not (await choose("Mark as read"))["markedUnread"], "it is still marked as unread")
        await row.locator(".badge").wait_for(state="detached")
        expect(not (await choose("Unpin"))["pinned"], "it is still pinned")
        expect((await choose("Archive"))["archived"], "it is not archived")
        await row.wait_for(state="detached")
        await page.click(".filters [data-filter=archived]")
        expect(not (await choose("Back from the archive"))["archived"], "it is still archived")
        await row.wait_for(state="detached")
        await page.click(".filters [data-filter=all]")
        await row.wait_for()
        me = (await story.call(desk, "GET", path))["me"]
        expect((me["pinned"], me["archived"], me["markedUnread"], me["unreadCount"], me.get("notify")) == (False, False, False, 0, None), f"{me}")


async def body(checks, server):
    romeo = Guest(server, "romeo")
    for plugin in ("xep_0066", "xep_0308", "xep_0424", "xep_0444", "xep_0461"):
        romeo.register_plugin(plugin)
    for event in ("message_correction", "message_reply", "message_retract", "reactions", "chatstate_paused"):
        romeo.add_event_handler(event, lambda data, event=event: romeo._note(event, data))
    await romeo.arrive()
    desk = await app(lambda: App(server, "juliet", "desk").connect())
    phone, nurse = await app(App, server, "romeo", "phone"), await app(App, server, "nurse", "kitchen")
    await app(server.command, "roster", "add", "juliet", "tybalt", "--mutual")
    async with browsing(server) as browser:
        story = Story(server, browser, await browser.page(), romeo, desk, phone, nurse)
        story.private = await app(desk.dialog, "romeo")
        story.kitchen = await app(nurse.dialog, "juliet")
        ready = await app(nurse.say, story.kitchen, "The porridge is ready")
        await browser.sign_in("juliet", story.page)
        with checks.check("web messages: who opens a dialog whose new messages are all on the screen has read them"):
            await story.open("Nurse")
            await story.page.locator(".notice.unread").wait_for()
            await story.reads(story.kitchen, ready)
        await story.open("Romeo")
        await changing(checks, story)
        await finding(checks, story)
        await forwarding(checks, story)
        await drafting(checks, story)
        await scheduling(checks, story)
        await failing(checks, story)
        await filing(checks, story)
        await listing(checks, story, await mentioning(checks, story))
        with checks.check("web messages: nothing in the page failed"):
            # The browser itself tells of connections that were away, and of tokens that ended with the login.
            expect(not [error for error in browser.errors if "net::ERR_" not in error and "401 (Unauthorized)" not in error], f"{browser.errors}")
    await app(desk.close)
    await romeo.leave()


def run(checks):
    # A resolver that is not there: every other server is out of reach.
    on_server(body, checks, "romeo", "juliet", "nurse", "tybalt", federation__enabled="true", federation__port=0, federation__tls_port=0,
              federation__dns=f"127.0.0.1:{free_port()}", federation__give_up_seconds=1)
