/** A provider of models, scripted: chat completions over SSE, each reply as a test has written it. */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test as base } from "./test";

/** What a reply is written with. */
export type Pen = {
  text: (...pieces: string[]) => void;
  /** A wish for a tool, its arguments in pieces. */
  call: (tool: string, ...pieces: string[]) => void;
  /** More of the arguments of the last wish. */
  more: (...pieces: string[]) => void;
  /** Ends here, in the middle of everything. */
  cut: () => void;
  /** Nobody listens any more. */
  hungUp: Promise<void>;
};
type Reply = (pen: Pen) => void | Promise<void>;

export type Model = {
  /** The lines of a configuration that name it. */
  config: string;
  /** What it answers next, in this order; when nothing is left, `ok`. */
  answers: (...replies: Reply[]) => void;
  /** What it was asked, oldest first. */
  asked: { messages: { role: string; content: unknown }[] }[];
  stop: () => Promise<void>;
};

/** A door that a reply waits at until the test opens it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Says this. */
export const says =
  (...pieces: string[]): Reply =>
  (pen) =>
    pen.text(...pieces);

/** Wishes for a tool. */
export const calls =
  (tool: string, args: string): Reply =>
  (pen) =>
    pen.call(tool, args);

export async function startModel(name = "scripted"): Promise<Model> {
  const script: Reply[] = [];
  const asked: Model["asked"] = [];
  const server = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const piece of request) body.push(piece as Buffer);
    asked.push(JSON.parse(Buffer.concat(body).toString()));
    response.setHeader("content-type", "text/event-stream");
    await write(response, script.shift() ?? says("ok"));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    config: `[provider.${name}]\nkind = "openai"\nurl = "http://127.0.0.1:${port}/v1"\n`,
    answers: (...replies) => void script.push(...replies),
    asked,
    stop: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function write(response: ServerResponse, reply: Reply): Promise<void> {
  let wishes = 0;
  const chunk = (delta: object, finish_reason: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({
        id: "chatcmpl-1",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [{ index: 0, delta, finish_reason }],
      })}\n\n`,
    );
  const more = (...pieces: string[]) => {
    for (const piece of pieces)
      chunk({ tool_calls: [{ index: wishes - 1, function: { arguments: piece } }] });
  };
  const hungUp = new Promise<void>((resolve) => response.once("close", resolve));
  chunk({ role: "assistant", content: "" });
  await reply({
    text: (...pieces) => {
      for (const content of pieces) chunk({ content });
    },
    call: (name, ...pieces) => {
      const index = wishes++;
      const id = `call_${index}`;
      chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
      more(...pieces);
    },
    more,
    cut: () => response.destroy(),
    hungUp,
  });
  if (response.destroyed) return;
  chunk({}, wishes > 0 ? "tool_calls" : "stop");
  const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
  response.write(
    `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
}

/** A test whose hub has that provider. */
export const test = base.extend<{ model: Model }>({
  // biome-ignore lint/correctness/noEmptyPattern: a fixture says what it needs, and this one needs nothing
  model: async ({}, use) => {
    const model = await startModel();
    await use(model);
    await model.stop();
  },
  hubOptions: async ({ model }, use) => {
    await use({ more: model.config });
  },
});
