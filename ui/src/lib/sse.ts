/** Reads an event stream that a POST answered with; `EventSource` can only GET. */

export type SseEvent = { event: string; data: string; id: string };

/** Takes text in pieces of any size and gives back whole events. Comments and empty events are skipped. */
export class SseParser {
  #rest = "";
  #event = "";
  #data: string[] = [];
  #id = "";

  push(piece: string): SseEvent[] {
    const events: SseEvent[] = [];
    this.#rest += piece;
    for (;;) {
      const end = this.#rest.search(/[\r\n]/);
      // A lone CR at the very end may be the first half of a CRLF.
      if (end < 0 || (this.#rest[end] === "\r" && end === this.#rest.length - 1)) return events;
      const line = this.#rest.slice(0, end);
      const skip = this.#rest.startsWith("\r\n", end) ? 2 : 1;
      this.#rest = this.#rest.slice(end + skip);
      const event = this.#line(line);
      if (event) events.push(event);
    }
  }

  #line(line: string): SseEvent | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    return undefined;
  }

  #dispatch(): SseEvent | undefined {
    const data = this.#data.join("\n");
    const event = this.#event || "message";
    this.#event = "";
    this.#data = [];
    return data === "" ? undefined : { event, data, id: this.#id };
  }
}

/** The events of a response body, as they come. */
export async function* sseEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent> {
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
