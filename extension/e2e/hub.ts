/** The other end of the wire, as README.md says it: enough of a hub to test the extension, and every frame recorded. */

import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { EXTENSION_ID } from "./id";

type Json = Record<string, unknown>;
export type Message = Json & { method?: string; params?: Json; id?: string; result?: Json; error?: Json };
export type Registered = {
  tools: (Json & { name: string })[];
  tabUrl: string;
  extensions: Json & { tabId: number; documentId: string };
};

type Waiter = { isIt: (message: Message) => boolean; found: (message: Message) => void };

/** A hub that one browser at a time is paired with; tests set what it answers, and wait for what it hears. */
export class Hub {
  readonly frames: Message[] = [];
  readonly codes = new Set<string>();
  readonly tokens = new Map<string, string>();
  /** The token of the endpoint file, which makes any profile known. */
  endpointToken = randomBytes(32).toString("hex");
  /** Sockets that got through the handshake, ever. */
  welcomes = 0;
  protocol = 1;
  pingSeconds = 20;
  maxMessageBytes = 10_000_000;
  /** Answers to what pages ask. */
  confirm: (params: Json) => Json = () => ({ result: { action: "cancel" } });
  /** How this hub proves itself; an impostor cannot. */
  sign = (secret: string, text: string) => createHmac("sha256", secret).update(text).digest("hex");

  #server: Server = createServer();
  #socket: WebSocket | undefined;
  #waiters: Waiter[] = [];
  #pinger: NodeJS.Timeout | undefined;

  async start(port = 0): Promise<void> {
    this.#server = createServer((_, answer) => answer.writeHead(404).end());
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "toolgrove.tabs.v1" });
    this.#server.on("upgrade", (request, stream, head) => {
      const isOurs =
        request.url === "/tabs" &&
        request.headers.origin === `chrome-extension://${EXTENSION_ID}` &&
        request.headers["sec-websocket-protocol"] === "toolgrove.tabs.v1";
      if (!isOurs) return stream.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      sockets.handleUpgrade(request, stream, head, (socket) => this.#meet(socket));
    });
    await new Promise<void>((done) => this.#server.listen(port, "127.0.0.1", done));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    clearInterval(this.#pinger);
    this.#socket?.terminate();
    this.#socket = undefined;
    await new Promise((done) => this.#server.close(done));
  }

  /** A code such as `POST /api/tabs/pair` would give. */
  invite(): string {
    const code = randomBytes(10).toString("hex");
    this.codes.add(code);
    return code;
  }

  /** Has the host's token no longer count. */
  forgetEndpoint(): void {
    this.endpointToken = randomBytes(32).toString("hex");
  }

  send(message: Json): void {
    this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  sendText(text: string): void {
    this.#socket?.send(text);
  }

  /** Sends a request and waits for its answer. */
  async request(method: string, params: Json, id: string = randomUUID()): Promise<Message> {
    const answer = this.next((it) => it.id === id && it.method === undefined);
    this.send({ id, method, params });
    return answer;
  }

  async call(registered: Registered, toolName: string, args?: Json, id?: string): Promise<Message> {
    const { tabId, documentId } = registered.extensions;
    return this.request("browser/executeTool", { toolName, args, extensions: { tabId, documentId } }, id);
  }

  /** The next message that fits. */
  next(isIt: (message: Message) => boolean): Promise<Message> {
    return new Promise((found) => this.#waiters.push({ isIt, found }));
  }

  /** The next registration or update that fits. */
  async registration(isIt: (it: Registered) => boolean = () => true): Promise<Registered> {
    const isRegistration = (it: Message) => /^browser\/(register|update)Tools$/.test(it.method ?? "");
    const found = await this.next((it) => isRegistration(it) && isIt(it.params as unknown as Registered));
    return found.params as unknown as Registered;
  }

  #meet(socket: WebSocket): void {
    const hubNonce = randomBytes(32).toString("hex");
    let isWelcome = false;
    socket.on("message", (data) => {
      const message = JSON.parse(data.toString()) as Message;
      this.frames.push(message);
      if (!isWelcome) isWelcome = this.#shakeHands(socket, message, hubNonce);
      else this.#hear(message);
    });
    socket.on("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
    });
    socket.send(
      JSON.stringify({
        jsonrpc: "2.0",
        method: "hub/challenge",
        params: { nonce: hubNonce, protocol: this.protocol },
      }),
    );
  }

  #shakeHands(socket: WebSocket, message: Message, hubNonce: string): boolean {
    const { nonce, mac, profileId, pairing } = message.params as Record<string, string>;
    const secrets = pairing ? [...this.codes] : [this.tokens.get(String(profileId)), this.endpointToken];
    const right = (it: string | undefined) =>
      it && createHmac("sha256", it).update(`ext|${hubNonce}|${nonce}`).digest("hex") === mac;
    const secret = secrets.find(right);
    if (!secret) {
      socket.close(4003);
      return false;
    }
    let token: string | undefined;
    if (pairing) {
      this.codes.delete(secret);
      token = randomBytes(32).toString("hex");
      this.tokens.set(String(profileId), token);
    }
    this.#socket?.close(1000);
    this.#socket = socket;
    this.welcomes++;
    const { pingSeconds, maxMessageBytes } = this;
    const params = {
      mac: this.sign(secret, `hub|${nonce}|${hubNonce}`),
      pingSeconds,
      maxMessageBytes,
      token,
    };
    socket.send(JSON.stringify({ jsonrpc: "2.0", method: "hub/welcome", params }));
    clearInterval(this.#pinger);
    const ping = () => this.send({ method: "hub/ping", params: { t: Date.now() } });
    this.#pinger = setInterval(ping, pingSeconds * 1000);
    return true;
  }

  #hear(message: Message): void {
    if (message.method === "browser/elicitConfirmation") {
      this.send({ id: message.id, ...this.confirm(message.params ?? {}) });
    }
    const waiter = this.#waiters.find((it) => it.isIt(message));
    if (!waiter) return;
    this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
    waiter.found(message);
  }
}
