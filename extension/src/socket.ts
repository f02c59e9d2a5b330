/** The one WebSocket to the hub: handshake, keep-alive, and coming back after it was lost. */

import { readFromHub } from "./check";
import { extensionMac, hubMac, isSame, nonce, readWelcome } from "./handshake";
import { CLOSE, type FromHub, type Hello, PROTOCOL, SUBPROTOCOL, type ToHub, type Welcome } from "./protocol";
import { isChallenge } from "./wire.gen";

/** Where a hub is and what it and we both know. */
export type Endpoint = {
  /** `ws://127.0.0.1:7430`, or `wss://…` */
  hub: string;
  /** The token of a pairing, or a code that is to become one. */
  secret: string;
  isCode: boolean;
};

export type Identity = Pick<Hello, "profileId" | "extensionId" | "extensionVersion" | "browser" | "features">;

export type SocketState =
  | "unpaired"
  | "connecting"
  | "open"
  /** No hub answers; it is tried again. */
  | "lost"
  /** The hub does not know this browser, or no longer. */
  | "refused"
  | "outdated"
  /** Something listens there that does not know the secret. */
  | "impostor";

export type Ends = {
  endpoint: () => Promise<Endpoint | undefined>;
  identity: () => Promise<Identity>;
  /** The hub is authentic and knows us: time to tell it everything. */
  opened: (endpoint: Endpoint, welcome: Welcome) => void;
  heard: (message: FromHub) => void;
  /** An open socket is gone. */
  closed: () => void;
  changed: (state: SocketState) => void;
};

const FIRST_DELAY = 500;
const LAST_DELAY = 15_000;
const PATIENCE = 10_000;

type Phase =
  | { at: "challenge" }
  | { at: "welcome"; ownNonce: string; hubNonce: string }
  | { at: "open"; welcome: Welcome };

/** A socket that is there whenever the hub is. */
export class HubSocket {
  #state: SocketState = "unpaired";
  #socket: WebSocket | undefined;
  #phase: Phase = { at: "challenge" };
  #delay = FIRST_DELAY;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #heardAt = 0;
  #attempt = 0;

  constructor(
    private readonly ends: Ends,
    private readonly Socket: typeof WebSocket = WebSocket,
  ) {}

  /** How things stand with the hub. */
  get state(): SocketState {
    return this.#state;
  }

  /** Looks for the hub, unless it is there or already looked for. */
  async connect(): Promise<void> {
    if (this.#state === "connecting" || this.#state === "open") return;
    clearTimeout(this.#retry);
    this.#become("connecting");
    const attempt = ++this.#attempt;
    const endpoint = await this.ends.endpoint();
    if (attempt !== this.#attempt) return;
    if (!endpoint) return this.#become("unpaired");
    this.#open(endpoint, await this.ends.identity());
  }

  /** Drops what there is and connects anew: the pairing has changed. */
  async restart(): Promise<void> {
    this.#attempt++;
    this.#forget();
    this.#delay = FIRST_DELAY;
    this.#become("lost");
    await this.connect();
  }

  /** The net under the timers, called by an alarm: they end with the worker, and a socket may die silently. */
  async check(now = Date.now()): Promise<void> {
    if (this.#phase.at === "open" && now - this.#heardAt > this.#phase.welcome.pingSeconds * 2250) {
      this.#forget();
      this.#become("lost");
    }
    await this.connect();
  }

  /** Sends a message; says whether it was small enough and somebody was there. */
  send(message: ToHub): boolean {
    if (this.#phase.at !== "open") return false;
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    if (!fits(text, this.#phase.welcome.maxMessageBytes)) return false;
    this.#socket?.send(text);
    return true;
  }

  #open(endpoint: Endpoint, identity: Identity): void {
    const socket = new this.Socket(`${endpoint.hub}/tabs`, SUBPROTOCOL);
    this.#socket = socket;
    this.#phase = { at: "challenge" };
    const patience = setTimeout(() => {
      if (this.#socket === socket && this.#phase.at !== "open") socket.close();
    }, PATIENCE);
    // One message after the other: a welcome is checked before what follows it is read.
    let queue = Promise.resolve();
    socket.onmessage = ({ data }) => {
      if (this.#socket !== socket) return;
      this.#heardAt = Date.now();
      const message = readFromHub(data);
      if (!message) console.warn("toolgrove: the hub sent something that is no message");
      else if (this.#phase.at === "open") this.ends.heard(message);
      else {
        queue = queue.then(async () => {
          if (this.#socket !== socket) return;
          if (this.#phase.at === "open") this.ends.heard(message);
          else await this.#shakeHands(socket, message, endpoint, identity);
        });
      }
    };
    socket.onclose = ({ code }) => {
      clearTimeout(patience);
      if (this.#socket === socket) this.#lost(code);
    };
  }

  async #shakeHands(
    socket: WebSocket,
    message: FromHub,
    endpoint: Endpoint,
    identity: Identity,
  ): Promise<void> {
    if (message.kind !== "notification") return;
    const phase = this.#phase;
    if (phase.at === "challenge" && message.method === "hub/challenge") {
      const { params: challenge } = message;
      if (!isChallenge(challenge) || challenge.protocol !== PROTOCOL) {
        return this.#reject(socket, CLOSE.protocol);
      }
      const hubNonce = challenge.nonce;
      const ownNonce = nonce();
      const mac = await extensionMac(endpoint.secret, hubNonce, ownNonce);
      const params: Hello = { nonce: ownNonce, mac, protocol: PROTOCOL, ...identity };
      if (endpoint.isCode) params.pairing = true;
      this.#phase = { at: "welcome", ownNonce, hubNonce };
      socket.send(JSON.stringify({ jsonrpc: "2.0", method: "browser/hello", params }));
    } else if (phase.at === "welcome" && message.method === "hub/welcome") {
      const welcome = readWelcome(message.params);
      const expected = await hubMac(endpoint.secret, phase.hubNonce, phase.ownNonce);
      const isAuthentic = welcome !== undefined && isSame(welcome.mac, expected);
      if (!isAuthentic || (endpoint.isCode && !welcome.token)) {
        return this.#reject(socket, CLOSE.impostor);
      }
      if (this.#socket !== socket) return;
      this.#phase = { at: "open", welcome };
      this.#delay = FIRST_DELAY;
      this.#become("open");
      this.ends.opened(endpoint, welcome);
    }
  }

  /** Ends a handshake, whatever code the other end closes with in turn. */
  #reject(socket: WebSocket, code: number): void {
    socket.close(code);
    if (this.#socket === socket) this.#lost(code);
  }

  #lost(code: number): void {
    this.#forget();
    if (code === CLOSE.refused) return this.#become("refused");
    if (code === CLOSE.protocol) return this.#become("outdated");
    if (code === CLOSE.impostor) return this.#become("impostor");
    // Only this is cured by trying again soon; for the other three the alarm is early enough.
    this.#become("lost");
    this.#retry = setTimeout(() => void this.connect(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LAST_DELAY);
  }

  /** Lets go of the socket; what it still says is nobody's business. */
  #forget(): void {
    const wasOpen = this.#phase.at === "open";
    this.#socket?.close();
    this.#socket = undefined;
    this.#phase = { at: "challenge" };
    if (wasOpen) this.ends.closed();
  }

  #become(state: SocketState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.ends.changed(state);
  }
}

/** Whether a text has at most so many bytes. A UTF-16 unit is at most three of them, so few need counting. */
function fits(text: string, bytes: number): boolean {
  return text.length * 3 <= bytes || new TextEncoder().encode(text).length <= bytes;
}
