"""An MCP client on the Python SDK 2.3 that signs in with OAuth, calls a tool, renews its token and calls it again.

    python py_oauth_client.py URL TOOL JSON-ARGS --state FILE --redirect URI [--document URL] [--era legacy|modern|auto]

Speaks with its user as `ts-oauth-client.mjs` does.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

ERAS = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


class Kept:
    """What the client was given, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.all = json.loads(path.read_text()) if path.exists() else {}

    def keep(self, name: str, value) -> None:
        self.all[name] = json.loads(value.model_dump_json(exclude_none=True))
        self.path.write_text(json.dumps(self.all))

    async def get_tokens(self):
        return OAuthToken(**self.all["tokens"]) if "tokens" in self.all else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.keep("tokens", tokens)

    async def get_client_info(self):
        return OAuthClientInformationFull(**self.all["client"]) if "client" in self.all else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.keep("client", client_info)


async def show(url: str) -> None:
    print(json.dumps({"visit": url}), flush=True)


async def come_back() -> AuthorizationCodeResult:
    line = await asyncio.to_thread(sys.stdin.readline)
    if not line:
        raise RuntimeError("nobody signed in")
    query = {name: value[0] for name, value in parse_qs(urlsplit(line.strip()).query).items()}
    return AuthorizationCodeResult(code=query.get("code", ""), state=query.get("state"), iss=query.get("iss"))


async def talk(args: argparse.Namespace) -> list[str]:
    provider = OAuthClientProvider(
        server_url=args.url,
        client_metadata=OAuthClientMetadata(
            client_name="py-peer", redirect_uris=[args.redirect], token_endpoint_auth_method=args.method
        ),
        storage=Kept(args.state),
        redirect_handler=show,
        callback_handler=come_back,
        client_metadata_url=args.document,
    )
    http = httpx2.AsyncClient(auth=provider, timeout=30)
    async with Client(streamable_http_client(args.url, http_client=http), mode=ERAS[args.era]) as client:

        async def call() -> str:
            return (await client.call_tool(args.tool, json.loads(args.json))).content[0].text

        results = [await call()]
        # As if its hour were over.
        provider.context.token_expiry_time = 1
        results.append(await call())
        return results


def cause(error: BaseException) -> BaseException:
    """The first real error inside the groups a task group wraps around it."""
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    return error


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("tool")
    parser.add_argument("json")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--redirect", required=True)
    parser.add_argument("--document")
    parser.add_argument("--era", choices=ERAS, default="auto")
    parser.add_argument("--method", default="none")
    args = parser.parse_args()
    try:
        print(json.dumps({"results": asyncio.run(talk(args))}), flush=True)
        return 0
    except BaseException as error:
        error = cause(error)
        print(json.dumps({"error": str(error) or repr(error)}), flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
