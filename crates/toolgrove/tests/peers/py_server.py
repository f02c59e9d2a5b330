"""An MCP server on the Python SDK 2.3, for the hub to reach out to.

    python py_server.py stdio
    python py_server.py streamable-http|sse [--port N]

Over HTTP it prints `listening on URL`; port 0 takes a free one. Serves both eras.
Tools `add`, `greet`, `slow` (reports progress), prompt `welcome`, resource `note://hello`.
"""

import argparse
import asyncio
import socket

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("py-peer", version="1.0.0", log_level="ERROR")


@server.tool()
def add(a: float, b: float) -> float:
    """Adds two numbers"""
    return a + b


@server.tool()
def greet(name: str) -> str:
    """Greets someone by name"""
    return f"Hello, {name}!"


@server.tool()
async def slow(ctx: Context, steps: int = 3, ms: int = 50) -> str:
    """Reports progress a few times, then answers"""
    for step in range(1, steps + 1):
        await asyncio.sleep(ms / 1000)
        await ctx.report_progress(step, steps, f"step {step}")
    return f"done after {steps} steps"


@server.prompt()
def welcome(name: str) -> str:
    """A greeting to start from"""
    return f"Welcome {name} warmly."


@server.resource("note://hello", mime_type="text/plain")
def hello() -> str:
    """A short note"""
    return "Hello from the note"


def serve_http(transport: str, port: int) -> None:
    """Binds first, so the printed port is the one that answers."""
    listener = socket.create_server(("127.0.0.1", port))
    app, path = (server.sse_app(), "/sse") if transport == "sse" else (server.streamable_http_app(), "/mcp")
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("transport", choices=["stdio", "sse", "streamable-http"], nargs="?", default="stdio")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    if args.transport == "stdio":
        server.run("stdio")
    else:
        serve_http(args.transport, args.port)
