"""The official clients of two model providers, against a provider that is scripted.

    python py_model_client.py openai|anthropic URL

Prints one JSON line for each thing it heard. The clients check every answer against their own types.
"""

import json
import sys

import anthropic
import openai

MESSAGES = [{"role": "user", "content": "hi"}]


def say(**heard):
    print(json.dumps(heard, ensure_ascii=False), flush=True)


class OpenAI:
    error = openai.APIError
    refused = openai.AuthenticationError

    def __init__(self, url):
        self.client = openai.OpenAI(
            base_url=f"{url}/v1", api_key="k", max_retries=1, _strict_response_validation=True
        )

    def hear(self):
        """Yields (what, piece) as the stream comes; the last is the end."""
        finish, usage = None, None
        options = {"include_usage": True}
        with self.client.chat.completions.create(
            model="m", messages=MESSAGES, stream=True, stream_options=options
        ) as stream:
            for chunk in stream:
                if chunk.usage:
                    usage = [chunk.usage.prompt_tokens, chunk.usage.completion_tokens]
                for choice in chunk.choices:
                    finish = choice.finish_reason or finish
                    if choice.delta.content:
                        yield "text", choice.delta.content
                    for call in choice.delta.tool_calls or []:
                        if call.function.name:
                            yield "tool", call.function.name
                        if call.function.arguments:
                            yield "arguments", call.function.arguments
        yield "end", (finish, usage)


class Anthropic:
    error = anthropic.APIError
    refused = anthropic.AuthenticationError

    def __init__(self, url):
        self.client = anthropic.Anthropic(
            base_url=url, api_key="k", max_retries=1, _strict_response_validation=True
        )

    def hear(self):
        finish, given, used = None, None, None
        with self.client.messages.create(
            model="m", messages=MESSAGES, max_tokens=99, stream=True
        ) as stream:
            for event in stream:
                if event.type == "message_start":
                    given = event.message.usage.input_tokens
                elif event.type == "content_block_start" and event.content_block.type == "tool_use":
                    yield "tool", event.content_block.name
                elif event.type == "content_block_delta":
                    if event.delta.type == "text_delta":
                        yield "text", event.delta.text
                    else:
                        yield "arguments", event.delta.partial_json
                elif event.type == "message_delta":
                    finish, used = event.delta.stop_reason, event.usage.output_tokens
        yield "end", (finish, [given, used])


def of(heard, what):
    return [piece for kind, piece in heard if kind == what]


kind, url = sys.argv[1:]
peer = OpenAI(url) if kind == "openai" else Anthropic(url)

heard = list(peer.hear())
finish, usage = heard[-1][1]
say(text=of(heard, "text"), finish=finish, usage=usage)

heard = list(peer.hear())
pieces = of(heard, "arguments")
say(tool=of(heard, "tool")[0], arguments=json.loads("".join(pieces)), pieces=len(pieces), finish=heard[-1][1][0])

words = ""
for what, piece in peer.hear():
    if what == "text":
        words += piece
        if words == "slow words":
            say(slow=words)
    else:
        say(finish=piece[0])

words = ""
try:
    for what, piece in peer.hear():
        words += piece if what == "text" else ""
except peer.error as error:
    body = error.body if isinstance(error.body, dict) else {}
    say(broken=body.get("error", body).get("message", str(error)), after=words)

say(patience="".join(of(list(peer.hear()), "text")))

try:
    list(peer.hear())
except peer.refused as error:
    say(refused=error.status_code)

heard = list(peer.hear())
say(cut="".join(of(heard, "text")), finish=heard[-1][1][0])
