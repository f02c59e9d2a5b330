"""An MCP client on the Python SDK 2.3 that answers what it is asked.

    python py_ask_client.py URL TOOL [JSON-ARGS] [--era legacy|modern] [--key KEY] [--cancel] [--decline]

Prints one JSON line {protocol, result, asked, progress, error} as `ts-ask-client.mjs` does.
"""

import argparse
import asyncio
import json

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

ERAS = {"legacy": "legacy", "modern": "2026-07-28"}


async def talk(args: argparse.Namespace, said: dict) -> None:
    async def elicit(_context, params):
        said["asked"].append({"method": "elicitation/create", "message": params.message})
        if args.decline:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def think(_context, params):
        content = params.messages[0].content
        said["asked"].append({"method": "sampling/createMessage", "message": content.text})
        return CreateMessageResult(
            model="peer-model", role="assistant", content=TextContent(type="text", text="forty-two")
        )

    async def roots(_context):
        said["asked"].append({"method": "roots/list"})
        return ListRootsResult(roots=[Root(uri="file:///project", name="home")])

    headers = {"Authorization": f"Bearer {args.key}"} if args.key else {}
    transport = streamable_http_client(args.url, http_client=httpx2.AsyncClient(headers=headers, timeout=30))
    async with Client(
        transport,
        mode=ERAS[args.era],
        elicitation_callback=elicit,
        sampling_callback=think,
        list_roots_callback=roots,
    ) as client:
        said["protocol"] = client.protocol_version
        with anyio.CancelScope() as scope:

            async def on_progress(value: float, _total: float | None, _message: str | None) -> None:
                said["progress"].append(value)
                if args.cancel:
                    scope.cancel()

            try:
                called = await client.call_tool(args.tool, json.loads(args.json), progress_callback=on_progress)
                said["result"] = called.model_dump(mode="json", by_alias=True, exclude_none=True)
            except MCPError as error:
                said["error"] = {"code": error.error.code, "message": error.error.message}
        if scope.cancelled_caught:
            said["error"] = {"code": None, "message": "enough"}
            await anyio.sleep(0.3)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("tool")
    parser.add_argument("json", nargs="?", default="{}")
    parser.add_argument("--era", choices=ERAS, default="legacy")
    parser.add_argument("--key")
    parser.add_argument("--cancel", action="store_true")
    parser.add_argument("--decline", action="store_true")
    args = parser.parse_args()
    said = {"protocol": None, "result": None, "asked": [], "progress": [], "error": None}
    try:
        asyncio.run(talk(args, said))
    except BaseException as error:
        while inner := getattr(error, "exceptions", None):
            error = inner[0]
        said["error"] = {"code": None, "message": str(error) or repr(error)}
    print(json.dumps(said))


main()
