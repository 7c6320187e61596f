"""Asks `pathlight mcp` with the official Python SDK: `client.py PATHLIGHT FILE BASELINE`.

The SDK checks every structured answer against the schema of its tool. Prints what was done as JSON; exit status 3 where there
is no SDK (pip install mcp).
"""

import asyncio
import json
import sys

try:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ImportError:
    sys.exit(3)


def tokens(result):
    """Returns the tokens that an answer counts as: bytes / 3 of text and structured content."""
    text = "".join(block.text for block in result.content)
    structured = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
    return -(-(len(text.encode()) + len(structured.encode())) // 3)


async def main(pathlight, file, baseline):
    server = StdioServerParameters(command=pathlight, args=["mcp", file, "--baseline", baseline])
    progress = []

    async def on_progress(done, total, message):
        progress.append(message)

    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        done = {"tools": [tool.name for tool in tools], "tokens": {}, "errors": {}}

        async def call(name, arguments):
            result = await session.call_tool(name, arguments, progress_callback=on_progress)
            if result.is_error:
                done["errors"][name] = result.content[0].text
                return None
            done["tokens"][name] = max(tokens(result), done["tokens"].get(name, 0))
            return result.structured_content

        await call("overview", {})
        found = await call("findings", {"budget": 1500})
        seen = [finding["handle"] for finding in found["findings"]]
        while "cursor" in found:
            found = await call("findings", {"budget": 1500, "cursor": found["cursor"]})
            seen += [finding["handle"] for finding in found["findings"]]
        done["findings"] = len(seen)
        done["unique"] = len(set(seen))
        done["compare"] = (await call("compare", {}))["headline"]
        await call("where_time_goes", {"by": "endpoint"})
        target = await call("what_if", {"target": "p99=1us"})
        done["before_us"] = target["before_us"]
        rows = (await call("search", {"range": "tail"}))["rows"]
        path = await call("request", {"request": rows[0]["trace_id"] + "/" + rows[0]["root_span_id"]})
        done["path"] = len(path["nodes"])
        await call("diagnose", {})
        await call("abnormal", {})
        refused = await session.call_tool("load", {"files": ["/etc/passwd"]})
        done["refused"] = refused.is_error and "may be read" in refused.content[0].text
        resources = (await session.list_resources()).resources
        glossary = await session.read_resource(resources[0].uri)
        done["resources"] = [len(resources), "Critical path" in glossary.contents[0].text]
        prompts = (await session.list_prompts()).prompts
        prompt = await session.get_prompt("incident", {"files": "a.json"})
        done["prompts"] = [len(prompts), "a.json" in prompt.messages[0].content.text]
        print(json.dumps(done))


asyncio.run(main(*sys.argv[1:]))
