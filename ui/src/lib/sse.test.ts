import { expect, test } from "vitest";
import { SseParser, sseEvents } from "./sse";

const cases: [string, string, [string, string][]][] = [
  ["one event", "data: a\n\n", [["message", "a"]]],
  [
    "CRLF and CR end lines too",
    "data: a\r\n\r\ndata: b\r\rdata: c\n\n",
    [
      ["message", "a"],
      ["message", "b"],
      ["message", "c"],
    ],
  ],
  ["several data lines are joined", "data: a\ndata: b\n\n", [["message", "a\nb"]]],
  [
    "a name is kept for its event only",
    "event: done\ndata: 1\n\ndata: 2\n\n",
    [
      ["done", "1"],
      ["message", "2"],
    ],
  ],
  [
    "comments and empty events are skipped",
    ": keep-alive\n\nevent: x\n\ndata:\n\ndata: y\n\n",
    [["message", "y"]],
  ],
  ["only one space after the colon goes", "data:  a\n\n", [["message", " a"]]],
  ["an unfinished event is not given", "data: a\n\ndata: b\n", [["message", "a"]]],
];

test.each(cases)("%s, however it is cut", (_, text, expected) => {
  for (let size = 1; size <= text.length; size++) {
    const parser = new SseParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    expect(events.map((it) => [it.event, it.data])).toEqual(expected);
  }
});

test("a character cut in two by the network arrives whole", async () => {
  const bytes = new TextEncoder().encode("data: grüße\n\n");
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const events = [];
  for await (const event of sseEvents(body)) events.push(event.data);
  expect(events).toEqual(["grüße"]);
});
