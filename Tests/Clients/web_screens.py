"""The screens of the web client, one after the other, by axe (WCAG 2.2 AA) and by their width, in a light window and on a dark, narrow phone
in Arabic; and its main path by the keyboard alone."""
import asyncio
import json
import re

from lib.apps import App
from lib.browser import accessible, browsing
from lib.files import attach, png, upload
from lib.harness import PASSWORD, ROOT, expect, free_port, on_server
from lib.services import new_secret


def catalogue(language):
    """The strings of a language by their keys; those with plural forms are left out."""
    text = (ROOT / f"clients/web/strings/{language}.js").read_text()
    return {key: json.loads(value) for key, value in re.findall(r'^  "?([\w.-]+)"?: (".*"),$', text, re.M)}


class Walk:
    """One browser in one language, theme and size. Each screen that is looked at has a name, so that one knows where a fault is."""

    def __init__(self, page, language, theme, width):
        self.page, self.language, self.theme, self.width = page, language, theme, width
        self.t = catalogue(language)

    async def look(self, name, within="html"):
        await self.page.evaluate("() => Promise.all(document.getAnimations().map((each) => each.finished.catch(() => {})))")
        await accessible(self.page, f"{name}, {self.language}, {self.theme}, {self.width}", within)
        wide = await self.page.evaluate("() => [document.documentElement, ...document.querySelectorAll('.scroller, .panel-body, .side, .sheet, .welcome')].filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => [each.className, each.scrollWidth, each.clientWidth])")
        expect(not wide, f"{name} scrolls sideways at {self.width} pixels: {wide}")

    async def sheet(self, name, opens, *awaits):
        """Opens a sheet, looks at it, and closes it."""
        await opens.click()
        await self.page.locator("dialog[open]").wait_for()
        for each in awaits:
            await self.page.locator(each).first.wait_for()
        await self.look(name, "dialog[open]")
        await self.page.keyboard.press("Escape")
        await self.page.locator("dialog[open]").wait_for(state="detached")

    def item(self, key, within=".panel-body"):
        return self.page.locator(f"{within} .item", has_text=self.t[key]).first

    def entry(self, key):
        return self.page.locator(".menu button", has_text=self.t[key]).first


async def sign_in(walk, server, invitation):
    page, t = walk.page, walk.t
    await page.goto(server.base + "/")
    await page.wait_for_selector("[name=password]")
    await walk.look("sign-in")
    for key in ("signin.register", "signin.guest", "signin.code", "signin.forgot"):
        await page.get_by_role("button", name=t[key], exact=True).click()
        await page.locator("h2", has_text=t[key]).wait_for()
        await walk.look(key)
        await page.get_by_role("button", name=t["back"], exact=True).click()
    await page.fill("[name=username]", "juliet")
    await page.fill("[name=password]", "wrong")
    await page.click("form button[type=submit]")
    await page.locator(".error:visible").wait_for()
    await walk.look("a wrong password")
    await page.goto(f"{server.base}/#/invite/{invitation}")
    await page.reload()
    await page.locator("h2").wait_for()
    await walk.look("an invitation")
    await page.goto(server.base + "/#/")
    await page.reload()
    await page.fill("[name=username]", "juliet")
    await page.fill("[name=password]", PASSWORD)
    await page.click("form button[type=submit]")
    await page.locator(".row").first.wait_for()


async def screens(walk, server, group):
    page, t = walk.page, walk.t
    await walk.look("the list")
    new = page.locator(f".side-head [aria-label='{t['chat.new']}']")
    for key in ("chat.new", "group.new", "public.find", "nearby", "contacts.requests"):
        await new.click()
        await walk.sheet(key, walk.entry(key))
    await page.fill(".side input[type=search]", "rose")
    await page.locator(".dialogs mark").first.wait_for()
    await walk.look("a search")
    await page.fill(".side input[type=search]", "")
    await page.click(".side-head .me")
    await page.locator(".side .section").nth(3).wait_for()
    await walk.look("settings")
    for key in ("profile.name", "privacy.blocked", "apppasswords", "password.change", "secondfactor", "sessions", "export"):
        await walk.sheet(key, walk.item(key, ".side"))
    await page.locator(f".side-head [aria-label='{t['back']}']").click()
    await page.goto(f"{server.base}/#/dialog/{group}")
    await page.locator(".picture img").wait_for()
    await walk.look("a group")
    message = page.locator(".message:has-text('A rose')")
    await message.locator(".text").click(button="right")
    await page.locator(".menu[role=menu]").wait_for()
    await walk.look("the menu of a message", ".menu[role=menu]")
    await page.keyboard.press("Escape")
    for key in ("message.forward", "message.info", "message.report"):
        await message.locator(".text").click(button="right")
        await walk.sheet(key, walk.entry(key))
    await walk.sheet("gallery", page.locator(".picture"))
    await page.click(".head .who")
    await page.locator(".panel .item:has-text('Romeo')").wait_for()
    await walk.look("a group's details")
    await page.click(".panel-head .tool")
    await page.fill(".write", "Tomorrow")
    await page.locator(f"[aria-label='{t['attach']}']").click()
    await walk.sheet("schedule", walk.entry("schedule"))
    await page.fill(".write", "")


async def calling(walk, server, romeo):
    page, t = walk.page, walk.t
    _, call = await asyncio.get_running_loop().run_in_executor(None, romeo.call, "POST", "/v1/calls", {"userId": "juliet", "kind": "video", "clientId": f"{walk.language}{walk.theme}"})
    await page.locator(".call .answer").wait_for()
    await walk.look("a call")
    await page.locator(f".call [aria-label='{t['decline']}']").click()
    await page.locator(".call").wait_for(state="detached")
    expect("id" in call, f"{call}")


# Whether what has the focus, or the bubble in it, is marked. A line to write in has a caret.
MARKED = """() => {
  const here = document.activeElement;
  const marks = [here, here.querySelector(".bubble")].filter(Boolean).map((each) => getComputedStyle(each));
  return here.matches("input, textarea") || marks.some(({ outlineStyle, boxShadow }) => outlineStyle !== "none" || boxShadow !== "none")
    || (here.matches(".menu button") && marks[0].backgroundColor !== "rgba(0, 0, 0, 0)");
}"""


async def to(page, selector, key="Tab"):
    """Presses a key until what has the focus is this, and is seen to have it."""
    for _ in range(60):
        if await page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            expect(await page.evaluate(MARKED), f"nobody sees that {selector} has the focus")
            return
        await page.keyboard.press(key)
    expect(False, f"{key} does not lead to {selector}")


async def typing(server, browser, romeo):
    """From the sign-in to an answer, the details, the settings and out, without a pointer."""
    page = await browser.page()
    await page.goto(server.base + "/")
    await page.wait_for_selector("[name=username]:focus")
    await page.keyboard.type("juliet")
    await to(page, "[name=password]")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await page.locator(".row").first.wait_for()
    found = asyncio.Event()

    async def hold(route):
        await found.wait()
        await route.continue_()

    # What is found later does not take the focus from the row that it is at.
    await page.route("**/v1/messages?*", hold)
    await page.keyboard.press("Control+k")
    await page.keyboard.type("Romeo")
    await page.locator(".dialogs .empty:has-text('Loading')").wait_for()
    await page.keyboard.press("ArrowDown")
    found.set()
    await page.locator(".dialogs .empty:has-text('Loading')").wait_for(state="detached")
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".write:focus")
    await page.keyboard.type("By keys alone")
    await page.keyboard.press("Enter")
    await asyncio.get_running_loop().run_in_executor(None, romeo.message, "By keys alone")
    await page.locator(".message:has-text('By keys alone') .status .icon.sent").wait_for()
    # One message is reached by the Tab key, the others from there by arrow keys.
    await to(page, "[data-key]", "Shift+Tab")
    await to(page, ".message.own:last-child", "ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".menu button:focus")
    await to(page, ".menu > button", "ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".write:focus")
    await page.locator(".context .title").wait_for()
    await page.keyboard.type("And an answer")
    await page.keyboard.press("Enter")
    await page.locator(".message:has-text('And an answer') .quote").wait_for()
    await to(page, ".head .who", "Shift+Tab")
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".panel button:focus")
    await page.keyboard.press("Escape")
    await page.wait_for_selector(".write:focus")
    await to(page, ".side-head .me", "Shift+Tab")
    await page.keyboard.press("Enter")
    await page.locator(".side .section").nth(3).wait_for()
    await to(page, ".side .item:has(+ .danger)")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("[name=password]")
    await page.context.close()


async def body(checks, server):
    loop = asyncio.get_running_loop()

    def fill():
        romeo = App(server, "romeo").connect()
        romeo.say(romeo.dialog("juliet"), "A rose by any other name")
        group = romeo.call("POST", "/v1/dialogs", {"type": "group", "name": "Verona", "memberIds": ["juliet", "nurse"]})[1]["id"]
        attach(romeo, group, upload(server, romeo, png(40, 30), "rose.png", "image/png"), "rose.png", "A rose")
        return romeo, group

    romeo, group = await loop.run_in_executor(None, fill)
    made = await loop.run_in_executor(None, server.command, "invite", "create", "--contact", "romeo")
    async with browsing(server) as browser:
        for language, theme, width in (("en", "light", 1280), ("ar", "dark", 320)):
            page = await browser.page(locale=language, color_scheme=theme, viewport={"width": width, "height": 800})
            walk = Walk(page, language, theme, width)
            with checks.check(f"web client: the ways to sign in, by axe and without scrolling sideways: {language}, {theme}, {width} pixels"):
                await sign_in(walk, server, re.search("preauth=([A-Za-z0-9]+)", made)[1])
            with checks.check(f"web client: its screens and sheets: {language}, {theme}, {width} pixels"):
                await screens(walk, server, group)
            with checks.check(f"web client: a call: {language}, {theme}, {width} pixels"):
                await calling(walk, server, romeo)
            await page.context.close()
        with checks.check("web client: the main path by the keyboard alone, from the sign-in to signing out"):
            await typing(server, browser, romeo)
    romeo.close()


def run(checks):
    on_server(body, checks, "romeo", "juliet", "nurse", guests__domains="localhost", registration="true", delivery__url=f"http://127.0.0.1:{free_port()}/letters",
              delivery__secret=new_secret())
