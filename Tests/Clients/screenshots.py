"""Makes the pictures of the web client and of the page at /admin in docs/images: main screens in both themes, and two sizes of the client's
(`make screenshots`). And the icons of the client, from its drawing.

The pictures have 256 colours, so that all of them together are smaller than one photograph; text and lines lose nothing.
"""
import asyncio
import subprocess
import tempfile

from lib.browser import browsing
from lib.harness import PASSWORD, ROOT, Server
from lib.scenes import Scene

FOLDER = ROOT / "docs/images"
SIZES = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}


async def settled(page):
    """Waits until pictures and fonts are there and nothing moves."""
    await page.evaluate("() => Promise.all([document.fonts.ready, ...[...document.images].filter((each) => each.loading !== 'lazy').map((each) => each.decode().catch(() => {})), ...document.getAnimations().map((each) => each.finished.catch(() => {}))])")
    await page.wait_for_timeout(300)


async def take(page, name, folder, of="web"):
    await settled(page)
    path, kept = f"{folder}/{name}.png", FOLDER / f"{of}-{name}.png"
    await page.screenshot(path=path)
    subprocess.run(["vips", "copy", path, f"{kept}[palette,compression=9,effort=10,strip]"], check=True)
    print(kept, kept.stat().st_size)


async def photograph(server, talk, garden, folder):
    async with browsing(server) as browser:
        await draw_icons(browser, folder)
        for size, settings in SIZES.items():
            page = await browser.page(**settings)
            for theme in ("light", "dark"):
                await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                await page.goto(server.base + "/")
                if theme == "light":
                    await page.wait_for_selector("[name=password]")
                    await take(page, f"sign-in-{size}-light", folder)
                    await page.emulate_media(color_scheme="dark", reduced_motion="reduce")
                    await take(page, f"sign-in-{size}-dark", folder)
                    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
                    await browser.sign_in("juliet", page)
                await page.locator(f".row[data-id='{talk}']").wait_for()
                if size == "phone":
                    await take(page, f"list-{size}-{theme}", folder)
                await page.click(f".row[data-id='{talk}']")
                await page.locator(".picture img").wait_for()
                await page.mouse.move(0, 0)
                await take(page, f"dialog-{size}-{theme}", folder)
                await page.goto(f"{server.base}/#/dialog/{garden}")
                await page.locator(".message:has-text('lantern')").wait_for()
                if size == "desktop":
                    await page.click(".who")
                    await page.locator(".panel .item .avatar").first.wait_for()
                    await page.mouse.move(0, 0)
                await take(page, f"group-{size}-{theme}", folder)
                await page.goto(server.base + ("/#/" if size == "phone" else f"/#/dialog/{talk}"))
                if size == "desktop":
                    await page.locator(".picture img").wait_for()
                await page.click(".side-head .me")
                await page.locator(".side .section").nth(3).wait_for()
                await take(page, f"settings-{size}-{theme}", folder)


async def draw_icons(browser, folder):
    """The icons that an installed client has, from `icon.svg`: two with its round corners, and one that systems cut to their own shape."""
    drawing = (ROOT / "clients/web/icon.svg").read_text()
    page = await browser.page()
    for name, size, part in (("icon-192", 192, 1), ("icon-512", 512, 1), ("icon-maskable", 512, 0.8)):
        await page.set_viewport_size({"width": size, "height": size})
        # What is cut off may be all beyond a circle of 80 percent, so it is of the ground's colour.
        ground = "#0e6b5a" if part < 1 else "transparent"
        await page.set_content(f"<style>body {{ margin: 0; background: {ground}; display: grid; place-items: center; height: 100vh }} svg {{ width: {size * part}px }}</style>{drawing}")
        await page.screenshot(path=f"{folder}/{name}.png", omit_background=True)
        kept = ROOT / f"clients/web/{name}.png"
        subprocess.run(["vips", "copy", f"{folder}/{name}.png", f"{kept}[palette,compression=9,effort=10,strip]"], check=True)
        print(kept, kept.stat().st_size)
    await page.context.close()


async def photograph_admin(server, folder):
    """laurence looks after the town."""
    server.command("user", "role", "laurence", "admin")
    async with browsing(server) as browser:
        page = await browser.page(**SIZES["desktop"])
        await page.goto(server.base + "/admin")
        await page.fill("#username", "laurence")
        await page.fill("#password", PASSWORD)
        await page.click("button[type=submit]")
        for name, awaited in [("overview", ".figures dt"), ("users", "tbody tr"), ("reports", "blockquote")]:
            await page.click(f"nav a[href='#{name}']")
            await page.locator(awaited).first.wait_for()
            await page.mouse.move(0, 0)
            for theme in ("light", "dark"):
                await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                await take(page, f"{name}-{theme}", folder, of="admin")


def main():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        server.start()
        scene = Scene(server)
        talk, garden = scene.play()
        asyncio.run(photograph(server, talk, garden, folder))
        scene.complain()
        asyncio.run(photograph_admin(server, folder))


if __name__ == "__main__":
    main()
