"""The web client's sign-in by a provider, and how one is connected to an account: a third-party OpenID provider (oidc-provider-mock, on Authlib) asks the user in the same
browser, and Parley's server redeems the code there. And a server without the web client."""
import asyncio
import json
import logging
import os
import pathlib
import urllib.parse

from lib.apps import exchange
from lib.browser import browsing
from lib.harness import Server, expect

CLIENT, SECRET = "parley-web", "a secret: of it+100%"


async def walk(checks, server):
    async with browsing(server) as browser:
        page = await browser.page()

        async def leave():
            await page.goto(server.base + "/")
            await page.click("button:has-text('Verona')")
            await page.wait_for_selector("input[name=sub]")

        with checks.check("web sign-in: a provider has a button if it can send the user back to this address"):
            await page.goto(server.base + "/")
            await page.wait_for_selector("input[name=username]")
            expect(await page.locator("button:has-text('Continue with')").all_text_contents() == ["Continue with \u2068Verona\u2069"], "other buttons")
        with checks.check("web sign-in: by a provider, with a proof key, and the code is not left in the address"):
            await leave()
            query = {name: value[0] for name, value in urllib.parse.parse_qs(urllib.parse.urlparse(page.url).query).items()}
            expect((query["response_type"], query["client_id"], query["redirect_uri"], query["scope"], query["code_challenge_method"]) ==
                   ("code", CLIENT, server.base + "/", "openid profile", "S256") and len(query["code_challenge"]) == 43 and len(query["state"]) == 43, f"{query}")
            await page.fill("input[name=sub]", "rosaline-17")
            await page.click("button:has-text('Authorize')")
            await page.wait_for_selector(".side .dialogs")
            expect(page.url.split("#")[0] == server.base + "/", f"the address is {page.url}")
            await page.reload()
            await page.wait_for_selector(".side .dialogs")
            await page.click(".side-head .me")
            await page.locator(".side .card h3:has-text('Rosaline')").wait_for()
            await page.click(".side-head .tool")
        with checks.check("web sign-in: who comes again by the provider is the same user"):
            first = await signed_in(page)
            again = await (await browser.context()).new_page()
            await again.goto(server.base + "/")
            await again.click("button:has-text('Verona')")
            await again.fill("input[name=sub]", "rosaline-17")
            await again.click("button:has-text('Authorize')")
            await again.wait_for_selector(".side .dialogs")
            expect(await signed_in(again) == first, "another user")
            await again.context.close()
        await page.context.close()
        await connecting(checks, browser, first)
        page = await browser.page()
        with checks.check("web sign-in: who says no there is back at the sign-in, and a code that nobody asked for is nothing"):
            await leave()
            await page.click("button:has-text('Deny')")
            await page.locator(".error:has-text('cancelled')").wait_for()
            await page.goto(server.base + "/?code=stolen&state=made-up")
            await page.locator(".error:has-text('does not belong')").wait_for()
            expect(page.url == server.base + "/", f"the code is left in the address: {page.url}")
            expect(await page.evaluate("() => sessionStorage.length") == 0, "something is left in the tab")
        with checks.check("web sign-in: nothing in the pages failed"):
            # The provider's own page asks for a style sheet that is elsewhere; and a provider that is somebody else's was refused.
            told = [error for error in browser.errors if "net::ERR_" not in error]
            expect(len(told) == 1 and "409 (Conflict)" in told[0], f"{browser.errors}")


async def connecting(checks, browser, rosaline):
    page = await browser.sign_in("juliet")
    juliet = await signed_in(page)

    async def providers():
        await page.click(".side-head .me")
        await page.click(".side .item:has-text('Sign-in by providers')")

    async def connect(sub, answer="Authorize"):
        await providers()
        await page.click("dialog button:text-matches('^Connect')")
        await page.fill("input[name=sub]", sub)
        await page.click(f"button:has-text('{answer}')")
        await page.wait_for_selector(".side .dialogs")

    async def come(sub):
        """Who comes by the provider in another browser: the address."""
        other = await browser.page()
        await other.goto(browser.server.base + "/")
        await other.click("button:has-text('Verona')")
        await other.fill("input[name=sub]", sub)
        await other.click("button:has-text('Authorize')")
        await other.wait_for_selector(".side .dialogs")
        address = await signed_in(other)
        await other.context.close()
        return address

    with checks.check("web sign-in: connecting a provider can be cancelled, and one that is somebody else's is not taken"):
        await connect("juliet-3", "Deny")
        await page.locator(".toast:has-text('was cancelled')").wait_for()
        await connect("rosaline-17")
        await page.locator(".toast:has-text('Somebody else has this')").wait_for()
        expect(await come("rosaline-17") == rosaline, "the provider leads elsewhere")
    with checks.check("web sign-in: a provider is connected to an account, which one signs in to by it from then on"):
        await connect("juliet-3")
        await page.locator(".toast:has-text('is connected')").wait_for()
        expect(await page.evaluate("() => location.search + sessionStorage.length") == "0", "the code is left")
        expect(await come("juliet-3") == juliet, "the provider leads elsewhere")
    with checks.check("web sign-in: a provider is disconnected, and who comes by it is somebody else"):
        await providers()
        await page.locator("dialog .item:has-text('Verona')").get_by_role("button", name="Disconnect").click()
        await page.locator("dialog").last.get_by_role("button", name="Disconnect", exact=True).click()
        await page.locator("dialog button:text-matches('^Connect')").wait_for()
        expect(await come("juliet-3") != juliet, "the provider still leads to her")
    await page.context.close()


async def signed_in(page):
    """The id of the user whose page this is, as the settings show it."""
    await page.click(".side-head .me")
    address = await page.locator(".side .card .note").text_content()
    await page.click(".side-head .tool")
    return address


def run(checks):
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # the provider is on this machine
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    from oidc_provider_mock import User, run_server_in_thread

    with run_server_in_thread(user_claims=[User(sub="rosaline-17", claims={"name": "Rosaline"}), User(sub="juliet-3")]) as provider, Server() as server:
        base = f"http://localhost:{provider.server_port}"
        settings = {"identity": {"codes": [{
            "name": "verona", "client_id": CLIENT, "client_secret": SECRET, "authorize_url": base + "/oauth2/authorize",
            "scope": "openid profile", "token_url": base + "/oauth2/token", "user_url": base + "/userinfo", "subject": "sub",
            "display_name": "name", "redirects": [server.base + "/"]},
            {"name": "elsewhere", "client_id": CLIENT, "client_secret": SECRET, "authorize_url": base + "/oauth2/authorize",
             "token_url": base + "/oauth2/token", "user_url": base + "/userinfo", "redirects": ["https://elsewhere.example/"]}]}}
        # JSON is YAML.
        pathlib.Path(server.configuration).write_text(json.dumps(settings))
        server.start()
        server.add_users("juliet")
        asyncio.run(walk(checks, server))
        server.stop()
        pathlib.Path(server.configuration).write_text(json.dumps({"web": {"client": False}}))
        server.start()
        with checks.check("web sign-in: without the web client nothing is at its addresses, and the protocol is as before"):
            for path in ["/", "/sw.js", "/manifest.webmanifest", "/admin"]:
                status, _, body = exchange("GET", server.base + path)
                expect(status == 404 and json.loads(body)["code"] == "path-unknown", f"{path}: {status} {body[:80]}")
            expect(exchange("GET", server.base + "/v1/info")[0] == 200, "the protocol is gone, too")
