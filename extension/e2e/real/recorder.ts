/** Stands between the extension and the hub, passes every frame on, and keeps it. */

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import type { Json } from "./toolgrove";

export type Frame = { direction: "toHub" | "fromHub"; at: number; message: Json & { method?: string } };

/** A door of its own before the door of a hub. What goes through is kept in its order, with its time. */
export class Recorder {
  readonly frames: Frame[] = [];
  /** Sockets that were opened, ever. */
  sockets = 0;
  readonly #server: Server = createServer();
  readonly #doors = new WebSocketServer({ noServer: true, handleProtocols: (it) => [...it][0] ?? false });

  /** `port` says where the hub is now. */
  constructor(private readonly hub: { port: number }) {}

  async start(): Promise<void> {
    this.#server.on("upgrade", (request, stream, head) => this.#pass(request, stream, head));
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const it of this.#doors.clients) it.terminate();
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  /** Methods of one direction, in their order. */
  methods(direction: Frame["direction"]): (string | undefined)[] {
    return this.frames.filter((it) => it.direction === direction).map((it) => it.message.method);
  }

  #pass(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const { origin = "", "sec-websocket-protocol": protocol = "" } = request.headers;
    const hub = new WebSocket(`ws://127.0.0.1:${this.hub.port}${request.url}`, protocol, { origin });
    // What the hub says before the other end is there waits for it.
    const early: RawData[] = [];
    hub.on("message", (it) => early.push(it));
    hub.once("error", () => stream.destroy());
    hub.once("open", () => {
      this.#doors.handleUpgrade(request, stream, head, (extension) => {
        this.sockets++;
        hub.removeAllListeners("message");
        const carry = (from: WebSocket, to: WebSocket, direction: Frame["direction"]) => {
          const take = (data: RawData) => {
            this.frames.push({ direction, at: performance.now(), message: JSON.parse(data.toString()) });
            if (to.readyState === WebSocket.OPEN) to.send(data.toString());
          };
          from.on("message", take);
          from.on("close", (code) => to.close(code >= 1000 && code !== 1005 && code !== 1006 ? code : 1000));
          from.on("error", () => to.terminate());
          return take;
        };
        carry(extension, hub, "toHub");
        early.forEach(carry(hub, extension, "fromHub"));
      });
    });
  }
}
