"""An MCP server on the Python SDK 2.3 whose tools need something of the client.

    python py_ask_server.py stdio
    python py_ask_server.py streamable-http [--port N]

Over HTTP it prints `listening on URL`. Serves both eras. Tools: `ask` (a form), `sample` (a model), `slow` (reports
progress until it is done or cancelled), `cancelled` (how many were).
"""

import argparse
import socket
from typing import Annotated

import anyio
import uvicorn
from mcp.server.elicitation import AcceptedElicitation, CancelledElicitation, DeclinedElicitation
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve, Sample
from mcp_types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("py-ask", version="1.0.0", log_level="ERROR")
cancels = 0


class Person(BaseModel):
    name: str


def who() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


def thought() -> Sample:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="What is it?"))
    return Sample([message], max_tokens=100)


@server.tool()
def ask(
    person: Annotated[
        AcceptedElicitation[Person] | DeclinedElicitation | CancelledElicitation, Resolve(who)
    ],
) -> str:
    """Asks for a name"""
    if isinstance(person, AcceptedElicitation):
        return f"Hello, {person.data.name}!"
    return f"No name: {person.action}"


@server.tool()
def sample(answer: Annotated[CreateMessageResult, Resolve(thought)]) -> str:
    """Asks the model"""
    return f"{answer.model} says {answer.content.text}"


@server.tool()
async def slow(ctx: Context, steps: int, ms: int) -> str:
    """Reports progress, then answers"""
    global cancels
    try:
        for step in range(1, steps + 1):
            await anyio.sleep(ms / 1000)
            await ctx.report_progress(step, steps)
    except anyio.get_cancelled_exc_class():
        cancels += 1
        raise
    return f"done after {steps} steps"


@server.tool()
def cancelled() -> str:
    """How many were cancelled"""
    return str(cancels)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("transport", choices=["stdio", "streamable-http"], nargs="?", default="stdio")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    if args.transport == "stdio":
        server.run("stdio")
    else:
        listener = socket.create_server(("127.0.0.1", args.port))
        print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listener])
