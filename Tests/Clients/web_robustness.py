"""The web client in headless Chromium, driven by Playwright, where it is tried hardest: a history of 10,000 messages."""
import asyncio
import datetime
import pathlib

from lib.apps import App
from lib.browser import browsing
from lib.harness import PASSWORD, Server, expect

# MARK: 10,000 messages

LINES = 10_000
BEGAN = datetime.datetime(2024, 3, 1, 8, tzinfo=datetime.timezone.utc)
# Looks at each frame, and counts what the history shows. While `isStill` no message on the screen may move, whatever is added above it.
# The times of long tasks are told, and bounded so widely that only a frozen page is beyond.
WATCH = r"""() => {
  const scroller = document.querySelector(".scroller");
  const list = scroller.firstElementChild;
  const numbers = new WeakMap();
  const shown = new Set();
  const watch = window.watch = {frames: 0, most: 0, nodes: 0, slice: 0, made: 0, shown: 0, gaps: [], isStill: false, still: 0, moved: [], tasks: [], isAtBeginning: false};
  const take = (element) => {
    const number = Number(/^Line (\d+)\./.exec(element.querySelector(".text").textContent)[1]);
    numbers.set(element, number);
    watch.shown = shown.add(number).size;
  };
  const rows = () => [...list.querySelectorAll(":scope > [data-key]")];
  rows().forEach(take);
  // What one task adds is told at its end, at once.
  new MutationObserver((records) => {
    const added = records.flatMap((record) => [...record.addedNodes]).filter((each) => each.dataset?.key);
    added.forEach(take);
    watch.slice = Math.max(watch.slice, added.length);
    watch.made += added.length;
  }).observe(list, {childList: true});
  new PerformanceObserver((found) => watch.tasks.push(...found.getEntries().map((each) => Math.round(each.duration)))).observe({type: "longtask"});
  let held;
  const look = () => {
    const here = rows();
    const {top} = scroller.getBoundingClientRect();
    watch.frames += 1;
    watch.most = Math.max(watch.most, here.length);
    watch.nodes = Math.max(watch.nodes, list.querySelectorAll("*").length);
    here.slice(1).forEach((each, index) => { if (numbers.get(each) !== numbers.get(here[index]) + 1) watch.gaps.push([numbers.get(here[index]), numbers.get(each)]); });
    if (held) {
      watch.still += held.first !== here[0];
      const at = held.element.isConnected && held.element.getBoundingClientRect().top;
      if (at === false || Math.abs(at - held.at) > 2) watch.moved.push([numbers.get(held.element), held.at, at]);
    }
    const element = here.find((each) => each.getBoundingClientRect().top >= top);
    held = watch.isStill && element && {element, at: element.getBoundingClientRect().top, first: here[0]};
    watch.isAtBeginning = Boolean(list.querySelector(".notice:first-child")?.textContent.includes("beginning"));
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
# Looks at some frames after those that still had to do with the wheel.
STILL = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  for (let count = 0; count < 4; count += 1) await frame();
  watch.isStill = true;
  for (let count = 0; count < 8; count += 1) await frame();
  watch.isStill = false;
  return watch.isAtBeginning && !document.querySelector(".scroller").scrollTop;
}"""


def history(folder, one, other):
    """An export (XEP-0227) of two users who have written to each other for a year."""
    path = pathlib.Path(folder) / "history.xml"
    with path.open("w") as out:
        out.write(f"<server-data xmlns='urn:xmpp:pie:0'><host jid='localhost'><user name='{other}' password='{PASSWORD}'/>"
                  f"<user name='{one}' password='{PASSWORD}'><archive xmlns='urn:xmpp:pie:0#mam'>")
        for number in range(LINES):
            sender, receiver = (one, other) if number // 3 % 2 else (other, one)
            stamp = (BEGAN + datetime.timedelta(minutes=50 * number)).strftime("%Y-%m-%dT%H:%M:%SZ")
            words = f"Line {number}." + "&#10;and more" * (number % 3)
            out.write(f"<result xmlns='urn:xmpp:mam:2' id='{number}'><forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='{stamp}'/>"
                      f"<message xmlns='jabber:client' type='chat' id='m{number}' from='{sender}@localhost/x' to='{receiver}@localhost'>"
                      f"<body>{words}</body></message></forwarded></result>\n")
        out.write("</archive></user></host></server-data>")
    return str(path)


async def scrolling(checks, server, browser):
    loop = asyncio.get_running_loop()
    page = await browser.sign_in("juliet")
    with checks.check("web client: 10,000 messages by the wheel: a few are elements, none is skipped, doubled or made twice, and none moves by itself"):
        await page.locator(".row:has-text('nurse')").click()
        await page.locator(f".message:has-text('Line {LINES - 1}.')").wait_for()
        await page.hover(".scroller")
        await page.evaluate(WATCH)
        for step in range(4 * LINES):
            await page.mouse.wheel(0, -2000)
            if step % 16 == 0 and await page.evaluate(STILL):
                break
        nurse = await loop.run_in_executor(None, App, server, "nurse")
        dialog = await loop.run_in_executor(None, nurse.dialog, "juliet")
        await loop.run_in_executor(None, nurse.say, dialog, f"Line {LINES}.")
        await page.locator(f".row:has-text('Line {LINES}.')").wait_for()
        await page.evaluate(STILL)
        found = await page.evaluate("() => watch")
        tasks = sorted(found.pop("tasks"))
        print(f"scrolled: {found}; tasks of more than 50 ms: {len(tasks)}, the longest: {tasks[-5:]} ms")
        expect((await page.locator(".message .text").first.inner_text()).startswith("Line 0."), "the beginning was not reached")
        expect(found["shown"] == LINES and not found["gaps"], f"messages are missing or doubled: {found}")
        expect(found["still"] > 20 and not found["moved"], f"the place was lost: {found}")
        expect(found["most"] <= 130 and found["nodes"] <= 2000, f"too many elements: {found}")
        expect(found["slice"] <= 8, f"one frame makes more than its share: {found}")
        expect(found["made"] <= LINES, f"messages are made or moved more than once: {found}")
        expect(not tasks or tasks[-1] < 5000, f"the page stood still: {tasks}")
        await page.click(".down")
        await page.locator(f".message:has-text('Line {LINES}.')").wait_for()
        await page.locator(".down").wait_for(state="hidden")
        expect(await page.locator(".messages [data-key]").count() <= 130, "too many elements at the end")
    await page.context.close()


async def body(checks, server):
    async with browsing(server) as browser:
        await scrolling(checks, server, browser)


def run(checks):
    with Server() as server:
        # History is imported before anything else is written.
        server.command("import", "xep0227", history(server.folder, "juliet", "nurse"))
        server.start().add_users("romeo", "tybalt")
        server.befriend("romeo", "juliet")
        try:
            asyncio.run(body(checks, server))
        except Exception:
            print(server.tail())
            raise
