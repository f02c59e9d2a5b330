"""An MCP client on the Python SDK 2.3: connects, lists every tool, calls one if asked.

    python py_client.py URL [TOOL [JSON-ARGS]] [--era legacy|modern|auto] [--key KEY] [--progress]
    python py_client.py --stdio [TOOL [JSON-ARGS]] [--era …] -- COMMAND ARG…

A URL that ends in `/sse` is opened with the old HTTP+SSE transport. Prints one JSON line {protocol, tools, result,
progress} as `ts-client.mjs` does; a failure is {error: {code, message, data}} and exit 1.
"""

import argparse
import asyncio
import json
import os
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

ERAS = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


def target(args: argparse.Namespace, child: list[str]):
    if args.stdio:
        return StdioServerParameters(command=child[0], args=child[1:], env=dict(os.environ))
    headers = {"Authorization": f"Bearer {args.key}"} if args.key else {}
    if args.url.rstrip("/").endswith("/sse"):
        return sse_client(args.url, headers=headers)
    return streamable_http_client(args.url, http_client=httpx2.AsyncClient(headers=headers, timeout=30))


async def talk(args: argparse.Namespace, child: list[str]) -> dict:
    async with Client(target(args, child), mode=ERAS[args.era]) as client:
        tools, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += [it.name for it in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        progress: list[float] = []

        async def on_progress(value: float, total: float | None, message: str | None) -> None:
            progress.append(value)

        result = None
        if args.tool:
            called = await client.call_tool(
                args.tool, json.loads(args.json), progress_callback=on_progress if args.progress else None
            )
            result = called.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {
            "protocol": client.protocol_version,
            "tools": sorted(tools),
            "result": result,
            "progress": progress,
        }


def cause(error: BaseException) -> BaseException:
    """The first real error inside the groups a task group wraps around it."""
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    return error


def main() -> int:
    own, child = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, child = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--era", choices=ERAS, default="auto")
    parser.add_argument("--key")
    parser.add_argument("--progress", action="store_true")
    parser.add_argument("rest", nargs="*")
    args = parser.parse_intermixed_args(own)
    args.url = None if args.stdio else args.rest.pop(0) if args.rest else parser.error("give a URL")
    args.tool = args.rest[0] if args.rest else None
    args.json = args.rest[1] if len(args.rest) > 1 else "{}"
    try:
        print(json.dumps(asyncio.run(talk(args, child))))
        return 0
    except BaseException as error:
        error = cause(error)
        detail = error.error if isinstance(error, MCPError) else None
        print(
            json.dumps(
                {
                    "error": {
                        "code": getattr(detail, "code", None),
                        "message": str(error) or repr(error),
                        "data": getattr(detail, "data", None),
                    }
                },
                default=str,
            )
        )
        return 1


if __name__ == "__main__":
    sys.exit(main())
