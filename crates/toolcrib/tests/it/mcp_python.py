"""Drives an MCP server with the official client: python -c THIS MODE pipes PROGRAM | MODE http URL TOKEN."""

import asyncio
import os
import sys

import httpx2
import mcp.types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

mode, way, place = sys.argv[1:4]
answers = []


async def answer(context, params):
    asked.append(params.message)
    return answers.pop(0)


asked = []


async def until(is_so):
    """Waits until something holds, and fails after two minutes."""
    for _ in range(2400):
        if is_so():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came about")


def transport():
    if way == "pipes":
        return stdio_client(StdioServerParameters(command=place, args=["mcp"], env=dict(os.environ)))
    headers = {"Authorization": "Bearer " + sys.argv[4]}
    return streamable_http_client(place, http_client=httpx2.AsyncClient(headers=headers, timeout=60))


async def main():
    async with Client(transport(), elicitation_callback=answer, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert "read_file" in tools and "bash" in tools, tools

        open("a.txt", "w").write("hello\n")
        read = await client.call_tool("read_file", {"file_path": "a.txt"})
        assert not read.is_error and "1: hello" in read.content[0].text, read

        told = []

        async def follow(progress, total, message):
            told.append((progress, message))

        # It runs until it was followed, however busy the machine is.
        command = "echo first; while [ ! -e go ]; do sleep 0.1; done; echo last"
        answers.append(types.ElicitResult(action="accept", content={"decision": "once"}))
        running = asyncio.create_task(
            client.call_tool("bash", {"command": command}, progress_callback=follow)
        )
        await until(lambda: any("first" in (message or "") for _, message in told))
        open("go", "w").close()
        done = await running
        assert "last" in done.content[0].text, done
        os.remove("go")
        assert told == sorted(told, key=lambda it: it[0]), told

        open("old.txt", "w").write("x\n")
        delete = {"command": "rm -f old.txt"}
        answers.append(types.ElicitResult(action="accept", content={"decision": "no", "reason": "keep it"}))
        refused = await client.call_tool("bash", delete)
        assert refused.is_error and os.path.exists("old.txt"), refused
        answers.append(types.ElicitResult(action="decline"))
        refused = await client.call_tool("bash", delete)
        assert refused.is_error and os.path.exists("old.txt"), refused
        answers.append(types.ElicitResult(action="accept", content={"decision": "once"}))
        allowed = await client.call_tool("bash", delete)
        assert not allowed.is_error and not os.path.exists("old.txt"), allowed
        assert len(asked) == 4 and "old.txt" in asked[1], asked

        sleeping = asyncio.create_task(client.call_tool("bash", {"command": "sleep 613.25"}))
        await until(running_sleeps)
        sleeping.cancel()
        try:
            await sleeping
        except asyncio.CancelledError:
            pass
        await until(lambda: not running_sleeps())
    print("all done")


def running_sleeps():
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and open(f"/proc/{name}/cmdline").read() == "sleep\x00613.25\x00":
                found.append(name)
        except OSError:
            pass
    return found


asyncio.run(main())
