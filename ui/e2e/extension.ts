/** A browser with the extension, as a hub knows it: its handshake, its tabs, and what they answer. */

import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { createRequire } from "node:module";

type Json = Record<string, unknown>;
type Message = { id?: string; method?: string; params?: Json; result?: Json };
/** The part of `ws` that is used; it comes with the test runner, without its types. */
type Socket = {
  on: (event: string, hear: (data: Buffer | number) => void) => void;
  send: (text: string) => void;
  close: () => void;
};

const { WebSocket } = createRequire(import.meta.url)("ws");
const ID = "ekgceiaggebphmbeeiiipjpghdepilkh";
const sign = (secret: string, text: string) => createHmac("sha256", secret).update(text).digest("hex");

export class Extension {
  /** Resolves with the code that the hub closes the connection with. */
  readonly closed: Promise<number>;
  readonly #waiters: { isIt: (it: Message) => boolean; found: (it: Message) => void }[] = [];

  private constructor(private readonly socket: Socket) {
    this.closed = new Promise((done) => socket.on("close", (code) => done(code as number)));
    socket.on("message", (data) => {
      const message = JSON.parse(data.toString()) as Message;
      const at = this.#waiters.findIndex((it) => it.isIt(message));
      if (at >= 0) this.#waiters.splice(at, 1)[0]?.found(message);
    });
  }

  /** Pairs with a code, as the popup does. */
  static async pair(hub: string, code: string): Promise<Extension> {
    const origin = `chrome-extension://${ID}`;
    const extension = new Extension(
      new WebSocket(`${hub.replace("http", "ws")}/tabs`, "toolgrove.tabs.v1", { origin }),
    );
    const challenge = await extension.next((it) => it.method === "hub/challenge");
    const nonce = randomBytes(32).toString("hex");
    const welcome = extension.next((it) => it.method === "hub/welcome");
    extension.tell("browser/hello", {
      nonce,
      mac: sign(code, `ext|${challenge.params?.nonce}|${nonce}`),
      protocol: 1,
      profileId: randomUUID(),
      extensionId: ID,
      extensionVersion: "0.1.0",
      browser: "Chromium/156",
      features: ["started"],
      pairing: true,
    });
    await welcome;
    return extension;
  }

  tell(method: string, params: Json): void {
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  /** The tabs there are, each with one tool; the first is in front. */
  show(...urls: string[]): void {
    const tabs = urls.map((url, at) => ({
      tabId: at + 1,
      windowId: 1,
      active: at === 0,
      url,
      title: `Page ${at + 1}`,
    }));
    this.tell("browser/tabs", { tabs });
    for (const { tabId, active, url, title } of tabs) {
      const inputSchema = { type: "object" };
      const tools = [{ name: "getCart", description: "Shows the cart", inputSchema }];
      const extensions = { tabId, windowId: 1, documentId: `document-${tabId}`, active, title };
      this.tell("browser/registerTools", { tools, tabUrl: url, extensions });
    }
  }

  next(isIt: (message: Message) => boolean): Promise<Message> {
    return new Promise((found) => this.#waiters.push({ isIt, found }));
  }

  answer(id: string | undefined, result: Json): void {
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }

  /** Asks the person in the middle of a call. */
  async ask(requestId: string | undefined, params: Json): Promise<Json | undefined> {
    const id = randomUUID();
    const answer = this.next((it) => it.id === id);
    const method = "browser/elicitConfirmation";
    const extensions = { tabId: 1, requestId };
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, extensions } }));
    return (await answer).result;
  }
}
