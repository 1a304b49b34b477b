"""Firefox and WebKit with a page of the web client, which does the same few things in both: `see`, `click`, `write` and so on.

Playwright drives the Firefox of the distribution by WebDriver BiDi (`firefox.py`), and Debian's WebKitGTK has WebDriver's server, which is spoken
to by HTTP. `Screen` is where the programs appear that need one.
"""
import asyncio
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from playwright.async_api import async_playwright

from lib.apps import exchange_json
from lib.browser import Browser
from lib.harness import PASSWORD, PATIENCE, Failure, expect, free_port, until

FIREFOX = pathlib.Path(__file__).with_name("firefox.py")
# The browser that comes with the library.
WEBKIT = next(pathlib.Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser"), None)
# Devices that need nobody's permission: a tone, and a picture of changing colours.
DEVICES = {"media.navigator.streams.fake": True, "media.navigator.permission.disabled": True}


def needed(*programs):
    for program in programs:
        expect(shutil.which(program), f"{program} is needed: `make test` installs it")


class Screen:
    """A screen of its own (Xvfb), and a session bus for those who want one. The programs' environment is `environment`."""

    def __init__(self):
        needed("Xvfb", "dbus-daemon")
        self.folder = tempfile.mkdtemp(prefix="parley-screen-")
        reading, writing = os.pipe()
        self.processes = [subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-ac"], pass_fds=[writing],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
        os.close(writing)
        with open(reading) as pipe:
            display = pipe.readline().strip()  # written when it is ready, or closed
        expect(display, "no screen")
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1", f"--address=unix:dir={self.folder}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.processes.append(bus)
        self.bus = bus.stdout.readline().strip()
        expect(self.bus, "no session bus")
        self.environment = {
            "HOME": self.folder, "XDG_RUNTIME_DIR": self.folder, "DISPLAY": f":{display}", "DBUS_SESSION_BUS_ADDRESS": self.bus,
            "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "LANG": "C.UTF-8", "GDK_BACKEND": "x11",
            "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1", "LIBGL_ALWAYS_SOFTWARE": "1", "GTK_USE_PORTAL": "0"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes[::-1]:
            process.terminate()
            process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)


# MARK: Firefox


@contextlib.asynccontextmanager
async def firefox(server, screen=None, **preferences):
    """Firefox, without a window unless there is a screen. Its pages are Playwright's; `FirefoxPage` is one."""
    needed("firefox-esr")
    environment = screen.environment if screen else {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    async with async_playwright() as playwright:
        browser = await playwright.firefox.launch(
            executable_path=str(FIREFOX), channel="moz-firefox", headless=not screen, env=environment,
            firefox_user_prefs={**DEVICES, **preferences})
        try:
            yield Browser(browser, server)
        finally:
            await browser.close()


class FirefoxPage:
    def __init__(self, browser, page):
        self.browser, self.page = browser, page

    async def another(self):
        """A second page of the same profile."""
        return FirefoxPage(self.browser, await self.browser.page(self.page.context))

    async def close(self):
        await self.page.close()

    async def complaints(self):
        """Takes what the pages have complained of until now."""
        found, self.browser.errors[:] = list(self.browser.errors), []
        return found

    async def open(self, path="/"):
        await self.page.goto(self.browser.server.base + path)

    async def reload(self):
        await self.page.reload()

    def _found(self, css, words):
        return self.page.locator(css, has_text=words).locator("visible=true").last

    async def see(self, css, words=None):
        await self._found(css, words).wait_for()

    async def miss(self, css, words=None):
        """Waits until there is none of that."""
        await self.page.locator(css, has_text=words).last.wait_for(state="hidden")

    async def click(self, css, words=None, button="left"):
        await self._found(css, words).click(button=button)

    async def write(self, css, words):
        await self.page.fill(css, words)

    async def press(self, key):
        await self.page.keyboard.press(key)

    async def choose(self, css, value):
        await self.page.select_option(css, value)

    async def attach(self, css, path):
        await self.page.set_input_files(css, path)

    async def ask(self, function, *values):
        """Calls a function in the page, with these values as a list, and waits for what it gives."""
        return await self.page.evaluate(function, list(values))

    async def until(self, function):
        """Calls a function again and again until it gives a truth."""
        await self.page.wait_for_function(function)


# MARK: WebKit

# Milliseconds that the page may wait, which is a little less than a request to the driver.
WAIT = 900 * PATIENCE
# Waits in the page for what a function gives, which has the values that follow the time.
UNTIL = """async ([patience, ...values]) => {
  for (const end = Date.now() + patience; Date.now() < end; await new Promise((done) => setTimeout(done, 20))) {
    const found = (%s)(values);
    if (found) return found;
  }
  return null;
}"""
# The last element that is shown and has these words.
LOOK = """([css, words]) =>
  [...document.querySelectorAll(css)].filter((each) => each.getClientRects().length && (!words || each.textContent.includes(words))).at(-1)"""
# Gathers what the page complains of, from when it is there: this driver tells nobody.
COMPLAINTS = """() => {
  if (window.complaints) return window.complaints;
  window.complaints = [];
  const { error } = console;
  console.error = (...values) => { complaints.push(values.map(String).join(" ")); error(...values); };
  addEventListener("error", (event) => complaints.push(event.message ?? `${event.target.outerHTML} does not load`), true);
  addEventListener("unhandledrejection", (event) => complaints.push(String(event.reason?.stack ?? event.reason)));
  addEventListener("securitypolicyviolation", (event) => complaints.push(`${event.effectiveDirective} forbids ${event.blockedURI}`));
  return window.complaints;
}"""
WRITE = """([css, words]) => {
  const field = document.querySelector(css);
  field.focus();
  field.select();
  document.execCommand(words ? "insertText" : "delete", false, words);
  return field.value;
}"""
CHOOSE = """([css, value]) => {
  const field = document.querySelector(css);
  field.value = value;
  field.dispatchEvent(new Event("change", { bubbles: true }));
}"""
KEYS = {"Enter": "\ue007", "ArrowUp": "\ue013", "ArrowDown": "\ue015", "Escape": "\ue00c"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class WebKit:
    """WebDriver's session: one program, whose profile nobody has used. Commands go to the window that was chosen last."""

    def __init__(self, address):
        self.address, self.window = address, None

    async def start(self):
        expect(WEBKIT, "webkit2gtk-driver is needed: `make test` installs it")
        options = {"binary": str(WEBKIT), "args": ["--automation"]}
        made = await self.command("POST", "/session", {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}})
        self.address += f"/session/{made['sessionId']}"
        await self.command("POST", "/timeouts", {"script": 2000 * PATIENCE})
        self.window = await self.command("GET", "/window")
        return self

    async def command(self, method, path, body=None):
        asked = asyncio.get_running_loop().run_in_executor(
            None, lambda: exchange_json(method, self.address + path, body if body is not None or method != "POST" else {}))
        status, _, answer = await asked
        value = answer["value"]
        if status != 200:
            raise WebKitRefusal(value["error"], f"WebKit: {method} {path} {str(body)[:200]}: {value['error']} {value.get('message')}")
        return value


class WebKitRefusal(Failure):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class WebKitPage:
    def __init__(self, session, server, window):
        self.session, self.server, self.window, self.earlier = session, server, window, []

    async def _command(self, method, path, body=None):
        if self.session.window != self.window:
            await self.session.command("POST", "/window", {"handle": self.window})
            self.session.window = self.window
        return await self.session.command(method, path, body)

    async def another(self):
        """A second window of the same profile."""
        made = await self._command("POST", "/window/new", {"type": "window"})
        return WebKitPage(self.session, self.server, made["handle"])

    async def close(self):
        await self._command("DELETE", "/window")

    async def open(self, path="/"):
        await self._command("POST", "/url", {"url": self.server.base + path})
        await self.ask(COMPLAINTS)

    async def reload(self):
        self.earlier = await self.complaints()
        await self._command("POST", "/refresh")
        await self.ask(COMPLAINTS)

    async def complaints(self):
        found, self.earlier = self.earlier + await self.ask(f"() => ({COMPLAINTS})().splice(0)"), []
        return found

    async def ask(self, function, *values):
        script = f"""const done = arguments[1];
          (async () => ({function})(arguments[0]))().then((value) => done({{ value }}), (error) => done({{ failed: `${{error}} ${{error.stack}}` }}));"""
        answer = await self._command("POST", "/execute/async", {"script": script, "args": [list(values)]})
        expect("failed" not in answer, f"WebKit: {function[:200]}: {answer.get('failed')}")
        return answer.get("value")

    async def _wait(self, function, *values):
        """Waits for what a function gives, in this page or in one that it loads meanwhile."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return await self.ask(UNTIL % function, WAIT, *values)
            except WebKitRefusal as refusal:
                # What was found may have been drawn anew before it was told.
                if refusal.code not in ("no such frame", "stale element reference") or time.monotonic() > end:
                    raise

    async def until(self, function):
        expect(await self._wait(function), f"not within {PATIENCE} s in WebKit: {function}")

    async def see(self, css, words=None):
        found = await self._wait(LOOK, css, words)
        expect(found, f"not within {PATIENCE} s in WebKit: {css} with {words!r}")
        return f"/element/{found[ELEMENT]}"

    async def miss(self, css, words=None):
        found = await self._wait(f"(values) => !({LOOK})(values)", css, words)
        expect(found, f"still there after {PATIENCE} s in WebKit: {css} with {words!r}")

    async def _act(self, css, words, act):
        """Does something with an element, and again with one that has taken its place meanwhile, or once it stands still."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return await act(await self.see(css, words))
            except WebKitRefusal as refusal:
                if refusal.code not in ("stale element reference", "element not interactable", "element click intercepted") or time.monotonic() > end:
                    raise

    async def click(self, css, words=None, button="left"):
        async def left(element):
            await self._command("POST", element + "/click")

        async def right(element):
            moved = {"type": "pointerMove", "x": 0, "y": 0, "origin": {ELEMENT: element.rpartition("/")[2]}}
            pressed = [{"type": "pointerDown", "button": 2}, {"type": "pointerUp", "button": 2}]
            await self._command("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [moved, *pressed]}]})

        await self._act(css, words, left if button == "left" else right)

    async def write(self, css, words):
        # WebKit's driver presses keys, and lets go of Shift too early now and then: the page is told to insert the words.
        await self.see(css)
        written = await self.ask(WRITE, css, words)
        expect(written == words, f"{written!r} was written in WebKit in place of {words!r}")

    async def press(self, key):
        value = KEYS[key]
        await self._command("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]}]})

    async def choose(self, css, value):
        # The driver's click on an option is lost now and then, when the machine is busy.
        await self.see(css)
        await self.ask(CHOOSE, css, value)

    async def attach(self, css, path):
        found = await self._command("POST", "/element", {"using": "css selector", "value": css})
        await self._command("POST", f"/element/{found[ELEMENT]}/value", {"text": path})


@contextlib.asynccontextmanager
async def webkit(server, screen):
    """A page of WebKit on a screen."""
    needed("WebKitWebDriver")
    port = free_port()
    driver = subprocess.Popen(["WebKitWebDriver", f"--port={port}"], env=screen.environment, stdin=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        await asyncio.get_running_loop().run_in_executor(None, until, "WebDriver's server answers", lambda: answers(address))
        session = await WebKit(address).start()
        try:
            page = WebKitPage(session, server, session.window)
            await page._command("POST", "/window/rect", {"width": 1280, "height": 850})
            yield page
        finally:
            await session.command("DELETE", "")
    finally:
        driver.terminate()
        driver.wait(PATIENCE)


def answers(address):
    with contextlib.suppress(OSError):
        return exchange_json("GET", address + "/status")[0] == 200
    return False


async def sign_in(page, name):
    await page.open("/")
    await page.write("[name=username]", name)
    await page.write("[name=password]", PASSWORD)
    await page.click("form button[type=submit]")
    await page.see(".side .dialogs")
