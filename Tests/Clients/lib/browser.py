"""A headless browser, driven by Playwright, with the web client in its pages. What its pages complain of is in `errors`."""
import contextlib
import pathlib
import shutil

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.async_api import async_playwright

from lib.harness import PASSWORD, PATIENCE, expect

# A page's connections, for their figures, which go as `mediaPolicy` says.
PEERS = """
(() => {
  const Real = window.RTCPeerConnection;
  const peers = (window.peers = []);
  window.RTCPeerConnection = class extends Real {
    constructor(configuration) {
      super({ ...configuration, ...window.mediaPolicy });
      peers.push(this);
    }
    setConfiguration(configuration) { super.setConfiguration({ ...configuration, ...window.mediaPolicy }); }
  };
})();
"""
RELAYED = "window.mediaPolicy = { iceTransportPolicy: 'relay' };"
# Waits until the page gets all of these kinds of media: sound that is none of silence, and pictures that it can show. It gives what it lacks.
PERCEIVES = """async ([kinds, patience]) => {
  const lacks = new Set(kinds);
  for (const end = Date.now() + patience; lacks.size && Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
    for (const peer of window.peers.filter((each) => each.connectionState === "connected")) {
      for (const each of (await peer.getStats()).values()) {
        if (each.type !== "inbound-rtp") continue;
        if (each.kind === "video" ? each.framesDecoded >= 5 : each.packetsReceived > 20 && each.totalAudioEnergy > 0) lacks.delete(each.kind);
      }
    }
  }
  if (!lacks.size) return [];
  const seen = [];
  for (const peer of window.peers) {
    const stats = [...(await peer.getStats()).values()].filter((each) =>
      each.type === "inbound-rtp" || each.type === "outbound-rtp" || each.type === "candidate-pair" && each.nominated);
    seen.push([peer.connectionState, peer.iceConnectionState, peer.signalingState, ...stats.map((each) =>
      [each.type, each.kind ?? each.state, each.packetsReceived ?? each.packetsSent, each.totalAudioEnergy ?? each.framesDecoded])]);
  }
  return [...lacks, seen];
}"""
# Ends when what was changed before is drawn.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# What the browser keeps of an account: every value in its databases, by their names, and what is beside them.
KEPT = """async () => {
  const kept = {};
  for (const { name } of await indexedDB.databases()) {
    const database = await new Promise((resolve, reject) => {
      const request = indexedDB.open(name);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    for (const table of database.objectStoreNames) {
      const values = await new Promise((resolve, reject) => {
        const request = database.transaction(table).objectStore(table).getAll();
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
      if (values.length) kept[table] = values;
    }
    database.close();
  }
  for (const [key, value] of [...Object.entries(localStorage), ...Object.entries(sessionStorage)]) if (key !== "parley.preferences") kept[key] = value;
  for (const name of await caches.keys()) {
    for (const { url } of await (await caches.open(name)).keys()) {
      const { pathname } = new URL(url);
      if (pathname !== "/" && pathname !== "/texts" && !pathname.startsWith("/client/")) kept[url] = name;
    }
  }
  return JSON.stringify(kept);
}"""
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


class Browser:
    def __init__(self, browser, server):
        self.browser, self.server = browser, server
        self.errors = []

    async def context(self, **settings):
        """A profile of its own: other cookies, other storage."""
        context = await self.browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **settings})
        context.set_default_timeout(PATIENCE * 1000)
        return context

    async def page(self, context=None, **settings):
        page = await (context or await self.context(**settings)).new_page()
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        return page

    async def watched(self, *scripts):
        """A page whose connections are known to `perceives`."""
        context = await self.context()
        for script in (PEERS, *scripts):
            await context.add_init_script(script)
        return await self.page(context)

    async def sign_in(self, name, page=None, **settings):
        page = page or await self.page(**settings)
        await page.goto(self.server.base + "/")
        await page.fill("[name=username]", name)
        await page.fill("[name=password]", PASSWORD)
        await page.click("form button[type=submit]")
        await page.wait_for_selector(".side .dialogs")
        return page


# MARK: Hands


def button(place, name):
    return place.get_by_role("button", name=name, exact=True)


def sheet(page):
    return page.locator("dialog[open]")


# MARK: What a page shows, and what the browser keeps


async def kept(page):
    """What the browser keeps of an account, as JSON."""
    return await page.evaluate(KEPT)


async def keeps_nothing(page):
    found = await kept(page)
    expect(found == "{}", f"the browser keeps {found[:500]}")


async def perceives(page, *kinds):
    """Waits until the page gets these kinds of media."""
    lacks = await page.evaluate(PERCEIVES, [kinds, PATIENCE * 1000])
    expect(not lacks, f"the page does not get {lacks[:-1]}; its connections: {lacks[-1:]}")


async def accessible(page, where, within="html"):
    """Runs axe-core in the page, or in a part of it: it is put there by the debugger, which the policy does not bind."""
    if await page.evaluate("() => !globalThis.axe"):
        session = await page.context.new_cdp_session(page)
        await session.send("Runtime.evaluate", {"expression": pathlib.Path(AXE_FILE_PATH).read_text()})
        await session.detach()
    result = await page.evaluate(
        "(within) => axe.run(within, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations']})", within)
    told = [f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}" for each in result["violations"] for node in each["nodes"][:2]]
    expect(not told, f"{where}: " + "\n".join(told))


def program():
    found = next((found for found in map(shutil.which, BROWSERS) if found), None)
    expect(found, "a browser is missing: apt install chromium-headless-shell")
    return found


@contextlib.asynccontextmanager
async def browsing(server):
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program(),
            args=["--no-sandbox", "--disable-gpu", "--use-fake-device-for-media-stream=device-count=3", "--use-fake-ui-for-media-stream"])
        try:
            yield Browser(browser, server)
        finally:
            await browser.close()
