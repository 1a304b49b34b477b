"""Calls of the web client in headless Chromium with fake devices: two browsers, and a third caller by the app protocol."""
import asyncio
import re

from lib.apps import App
from lib.browser import browsing
from lib.harness import expect, on_server


async def cameras(checks, loop, nurse, picture, page, romeo, sounds):
    """Sound and pictures, and the choice of the camera."""
    with checks.check("web calls: two browsers call each other, with sound and pictures in both directions"):
        await page.locator(".row:has-text('Romeo')").click()
        await page.click("[aria-label='Video call']")
        await romeo.wait_for_selector(".call .answer")
        await page.locator(".call:has-text('Ringing')").wait_for()
        expect(await sounds(page) == 1 and await sounds(romeo) == 1, "no ringing tone")
        await romeo.click(".call .answer")
        for each in (page, romeo):
            await each.wait_for_function(picture)
            expect(await sounds(each) == 0, "the tone goes on in the call")
        # A third one: the server says so of a call that was answered.
        await loop.run_in_executor(None, nurse.call, "POST", "/v1/calls", {"userId": "juliet", "kind": "audio", "clientId": "third"})
        await page.locator(".row:has-text('Missed call')").wait_for()
        expect(await page.locator("section.call").count() == 1 and await sounds(page) == 0, "the third call disturbs the first one")
        await romeo.click("[aria-label='Mute']")
        await romeo.locator("[aria-label='Unmute']").wait_for()
        await page.locator(".call-status", has_text=re.compile("^Their microphone is off$")).wait_for()
        await romeo.click("[aria-label='Camera']")
        await page.locator(".call-status:has-text('Their camera is off')").wait_for()
        await page.locator(".call .avatar").wait_for()
        await romeo.click("[aria-label='Unmute']")
        await romeo.click("[aria-label='Camera']")
        await page.locator(".call-status", has_text=re.compile("^$")).wait_for(state="attached")
        await page.locator(".call .avatar").wait_for(state="hidden")
    with checks.check("web calls: a page with several cameras turns to the next one, and only what shows a face is mirrored"):
        camera = "() => document.querySelector('.call .local').srcObject.getVideoTracks()[0].getSettings().deviceId"
        shown = "() => document.querySelector('.call .remote').getVideoPlaybackQuality().totalVideoFrames"
        first = now = await romeo.evaluate(camera)
        # The second of the browser's three devices makes pictures of a kind that nobody can be shown.
        for turn in range(3):
            await romeo.click("[aria-label='Other camera']")
            await romeo.wait_for_function(f"(now) => ({camera})() !== now", arg=now)
            now = await romeo.evaluate(camera)
            if turn == 1:
                await page.wait_for_function(f"(frames) => ({shown})() > frames + 5", arg=await page.evaluate(shown))
        expect(now == first and await romeo.locator(".call .local.mirrored").count() == 1, "it is not the first camera again, as in a mirror")
        await romeo.click("[aria-label='Hang up']")
        await page.locator("section.call").wait_for(state="detached")
        await page.locator(".notice.call").wait_for()


async def added_cameras(checks, picture, page, romeo):
    """Cameras that are added to a call, and screens."""
    with checks.check("web calls: cameras are added to a call of sound alone, by either side, and a screen that is taken away again"):
        await page.click("[aria-label='Call']")
        await romeo.wait_for_selector(".call .answer")
        await romeo.click(".call .answer")
        for each in (page, romeo):
            await each.locator(".call-time", has_text=re.compile(r"^\d+:\d\d$")).wait_for()
            expect(await each.locator(".call video").count() == 0, "there are pictures in a call of sound")
        await romeo.click("[aria-label='Camera']")
        await page.wait_for_function(picture)
        expect(await page.locator(".call .local").count() == 0, "the camera was turned on at the other side, too")
        # There is no screen here: pictures of a canvas stand for it.
        await page.evaluate("""() => { navigator.mediaDevices.getDisplayMedia = async () => {
          const canvas = document.createElement("canvas");
          setInterval(() => canvas.getContext("2d").fillRect(Math.random() * 9, 0, 9, 9), 50);
          return canvas.captureStream();
        }; }""")
        await page.click("[aria-label='Share the screen']")
        await romeo.wait_for_function(picture)
        expect(await page.locator(".call .local").count() == 1 and await page.locator(".call .mirrored").count() == 0, "the screen is mirrored")
        await page.click("[aria-label='Share the screen']")
        await romeo.wait_for_function("() => document.querySelector('.call .remote').srcObject.getVideoTracks().length === 0")
        await page.click("[aria-label='Camera']")
        await romeo.wait_for_function(picture)
        await page.wait_for_function(picture)
        await page.click("[aria-label='Hang up']")
        await romeo.locator("section.call").wait_for(state="detached")


async def missed_calls(checks, server, loop, nurse, page, romeo, sounds):
    """Calls that are declined, missed, or meet another."""
    with checks.check("web calls: a call is declined, and another one given up is missed"):
        await page.click("[aria-label='Call']")
        await romeo.click(".call .hang-up")
        await page.locator(".toast:has-text('Declined')").wait_for()
        await page.click("[aria-label='Call']")
        await romeo.wait_for_selector(".call .answer")
        await page.click(".call .hang-up")
        await romeo.locator("section.call").wait_for(state="detached")
        await romeo.locator(".row:has-text('Missed call')").wait_for()
        expect(await sounds(romeo) == 0 and await sounds(page) == 0, "the tone goes on after the call")
    with checks.check("web calls: who calls is busy for others, who see so, and has missed their call; a muted chat does not ring"):
        await page.click("[aria-label='Call']")
        await page.locator(".call:has-text('Ringing')").wait_for()
        made = (await loop.run_in_executor(None, nurse.call, "POST", "/v1/calls", {"userId": "juliet", "kind": "audio", "clientId": "fourth"}))[1]
        ended = await loop.run_in_executor(None, nurse.event, "call.updated", lambda data: data["call"]["id"] == made["id"] and data["call"]["state"] == "ended")
        expect(ended["data"]["call"]["reason"] == "busy", f"{ended}")
        await page.click(".call .hang-up")
        await page.locator("section.call").wait_for(state="detached")
        desk = await loop.run_in_executor(None, App, server, "juliet", "desk")
        dialog = await loop.run_in_executor(None, desk.dialog, "nurse")
        await loop.run_in_executor(None, desk.call, "PATCH", f"/v1/dialogs/{dialog}/me", {"notify": "never"})
        await page.locator(f".row[data-id='{dialog}'] .badge.quiet").wait_for()
        fifth = (await loop.run_in_executor(None, nurse.call, "POST", "/v1/calls", {"userId": "juliet", "kind": "audio", "clientId": "fifth"}))[1]
        await page.wait_for_selector(".call .answer")
        expect(await sounds(page) == 0, "it rings in a muted chat")
        await loop.run_in_executor(None, nurse.call, "DELETE", f"/v1/calls/{fifth['id']}")
        await page.locator("section.call").wait_for(state="detached")


async def calling(checks, server, browser):
    loop = asyncio.get_running_loop()
    nurse = await loop.run_in_executor(None, lambda: App(server, "nurse", "phone").connect())
    await loop.run_in_executor(None, server.befriend, "nurse", "juliet")
    picture = "() => document.querySelector('.call .remote')?.videoWidth > 0"
    # Profiles of their own: what the checks before did to the other ones is no matter of this one.
    page, romeo = await browser.page(), await browser.page()
    for each in (page, romeo):
        # What makes sound is counted: every context of audio, and the waves that it was to play.
        await each.add_init_script("""window.sounds = []; window.AudioContext = class extends AudioContext { constructor() { super(); sounds.push(this); } };""")
    await browser.sign_in("juliet", page)
    await browser.sign_in("romeo", romeo)
    sounds = lambda each: each.evaluate("() => sounds.filter((one) => one.state !== 'closed').length")
    await cameras(checks, loop, nurse, picture, page, romeo, sounds)
    await added_cameras(checks, picture, page, romeo)
    await missed_calls(checks, server, loop, nurse, page, romeo, sounds)
    await romeo.context.close()
    await page.context.close()


async def body(checks, server):
    async with browsing(server) as browser:
        await calling(checks, server, browser)
        with checks.check("web calls: nothing in the pages failed"):
            expect(not browser.errors, f"{browser.errors}")


def run(checks):
    on_server(body, checks, "romeo", "juliet", "nurse")
