"""Drives an MCP server with the official client: python -c THIS MODE SCENARIO PROGRAM [URL TOKEN]."""

import asyncio
import json
import os
import subprocess
import sys

import httpx2
import mcp.types as types
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

mode, scenario, program, *address = sys.argv[1:]
answers = []


async def answer(context, params):
    asked.append(params.message)
    if scenario == "expire":
        await until(lambda: not waiting())
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
    if not address:
        return stdio_client(StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ)))
    url, token = address
    headers = {"Authorization": "Bearer " + token}
    return streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers, timeout=60))


def waiting():
    """Returns the questions that wait."""
    return json.loads(subprocess.check_output([program, "approvals", "list", "--json"]))


async def main():
    async with Client(transport(), elicitation_callback=answer, mode=mode) as client:
        await {"use": use, "expire": expire}[scenario](client)
    print("all done")


async def expire(client):
    """The person answers yes, but only after the question is gone."""
    open("old.txt", "w").write("x\n")
    answers.append(types.ElicitResult(action="accept", content={"decision": "once"}))
    try:
        late = await client.call_tool("bash", {"command": "rm -f old.txt"})
        assert mode == "legacy" and late.is_error, late
        assert "nobody answered within" in late.content[0].text, late
    except MCPError as error:
        assert mode != "legacy" and "too old" in str(error), error
    assert os.path.exists("old.txt")
    await until(lambda: len(asked) == 1)


async def use(client):
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
