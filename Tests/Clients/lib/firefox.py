#!/usr/bin/env python3
"""Starts `firefox-esr` for Playwright, which speaks WebDriver BiDi to it: the Firefox of a distribution knows most of what Playwright
says, and would break off at the rest. What it does not know, which is to prefer a light theme, is answered here.
"""
import asyncio
import json
import sys

import websockets

UNKNOWN = {"emulation.setMediaFeaturesOverride"}
ADDRESS = "WebDriver BiDi listening on "


async def relay(near, address):
    async def upwards(far):
        async for text in near:
            command = json.loads(text)
            if command["method"] in UNKNOWN:
                await near.send(json.dumps({"type": "success", "id": command["id"], "result": {}}))
            else:
                await far.send(text)

    async def downwards(far):
        async for text in far:
            await near.send(text)

    async with websockets.connect(address + near.request.path, max_size=None, compression=None) as far:
        ways = [asyncio.ensure_future(way(far)) for way in (upwards, downwards)]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in ways:
            each.cancel()


async def main():
    firefox = await asyncio.create_subprocess_exec("firefox-esr", *sys.argv[1:], stderr=asyncio.subprocess.PIPE)
    async for line in firefox.stderr:
        line = line.decode(errors="replace")
        if ADDRESS in line:
            address = line.partition(ADDRESS)[2].strip()
            server = await websockets.serve(lambda near: relay(near, address), "127.0.0.1", 0, max_size=None, compression=None)
            line = f"{ADDRESS}ws://127.0.0.1:{server.sockets[0].getsockname()[1]}\n"
        sys.stderr.write(line)
        sys.stderr.flush()
    sys.exit(await firefox.wait())


if __name__ == "__main__":
    asyncio.run(main())
