import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WebSocket as NodeSocket } from "ws";
import { Hub } from "../e2e/hub";
import { EXTENSION_ID } from "../e2e/id";
import type { FromHub } from "./protocol";
import { type Endpoint, HubSocket, type SocketState } from "./socket";

/** A socket that says where it comes from, as the browser does. */
class FromExtension extends NodeSocket {
  constructor(url: string, protocol: string) {
    super(url, protocol, { origin: `chrome-extension://${EXTENSION_ID}` });
    this.on("error", () => {});
  }
}

const identity = {
  profileId: "p",
  extensionId: EXTENSION_ID,
  extensionVersion: "0.1.0",
  browser: "Chromium/156",
  features: ["started"],
};

let hub: Hub;
/** Counts the tests: what an earlier one opened finds no hub any more. */
let era = 0;
beforeEach(async () => {
  era++;
  hub = new Hub();
  await hub.start();
});
afterEach(async () => {
  era++;
  await hub.stop();
});

function connect(find: () => Partial<Endpoint> | undefined = () => ({})) {
  const states: SocketState[] = [];
  const heard: FromHub[] = [];
  const opened = vi.fn();
  const closed = vi.fn();
  const born = era;
  const socket = new HubSocket(
    {
      endpoint: async () => {
        const found = era === born ? find() : undefined;
        return (
          found && { hub: `ws://127.0.0.1:${hub.port}`, secret: hub.endpointToken, isCode: false, ...found }
        );
      },
      identity: async () => identity,
      opened: (_, welcome) => opened(welcome.token),
      heard: (it) => heard.push(it),
      closed,
      changed: (it) => states.push(it),
    },
    FromExtension as unknown as typeof WebSocket,
  );
  const become = (state: SocketState) => vi.waitFor(() => expect(socket.state).toBe(state), 3_000);
  return { socket, states, heard, opened, closed, become };
}

it("both ends prove themselves, then speak", async () => {
  const { socket, states, heard, become } = connect();
  await socket.connect();
  await become("open");
  expect(states).toEqual(["connecting", "open"]);
  expect(hub.frames[0]?.params).toMatchObject(identity);
  const pong = hub.next((it) => it.method === "browser/pong");
  expect(socket.send({ method: "browser/pong", params: { t: 1 } })).toBe(true);
  expect((await pong).jsonrpc).toBe("2.0");
  hub.send({ method: "hub/ping", params: { t: 2 } });
  await vi.waitFor(() =>
    expect(heard).toEqual([{ kind: "notification", method: "hub/ping", params: { t: 2 } }]),
  );
});

it("patience is for the handshake, not for what follows", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { socket, closed } = connect();
  const open = hub.next((it) => it.method === "browser/pong");
  await socket.connect();
  while (!socket.send({ method: "browser/pong", params: { t: 1 } })) await new Promise(setImmediate);
  await open;
  vi.advanceTimersByTime(60_000);
  const later = hub.next((it) => it.method === "browser/pong");
  socket.send({ method: "browser/pong", params: { t: 2 } });
  await later;
  expect(closed).not.toHaveBeenCalled();
  expect(socket.state).toBe("open");
  vi.useRealTimers();
});

it("without a pairing there is nothing to do", async () => {
  const { socket, become } = connect(() => undefined);
  await socket.connect();
  await become("unpaired");
  expect(socket.send({ method: "browser/pong", params: { t: 1 } })).toBe(false);
});

it("a wrong secret is refused, and nothing else was said", async () => {
  const { socket, opened, become } = connect(() => ({ secret: "wrong" }));
  await socket.connect();
  await become("refused");
  expect(opened).not.toHaveBeenCalled();
  expect(hub.frames.map((it) => it.method)).toEqual(["browser/hello"]);
});

it("a hub that cannot sign is an impostor, whatever it welcomes us with", async () => {
  hub.sign = () => "0".repeat(64);
  const { socket, opened, become } = connect();
  await socket.connect();
  await become("impostor");
  expect(opened).not.toHaveBeenCalled();
});

it("a hub that sends back our own mac is an impostor", async () => {
  hub.sign = () => String(hub.frames.at(-1)?.params?.mac);
  const { socket, become } = connect();
  await socket.connect();
  await become("impostor");
});

it("another protocol asks for an update", async () => {
  hub.protocol = 2;
  const { socket, become } = connect();
  await socket.connect();
  await become("outdated");
  expect(hub.frames).toEqual([]);
});

it("a code brings a token, and a hub that brings none is not believed", async () => {
  const code = hub.invite();
  const first = connect(() => ({ secret: code, isCode: true }));
  await first.socket.connect();
  await first.become("open");
  expect(first.opened.mock.calls[0]?.[0]).toMatch(/^[0-9a-f]{64}$/);
  const second = connect(() => ({ secret: code, isCode: true }));
  await second.socket.connect();
  await second.become("refused");
});

it("a hub that went away is found again, and who waited is told", async () => {
  const { socket, opened, closed, become } = connect();
  await socket.connect();
  await become("open");
  const { port } = hub;
  await hub.stop();
  await become("lost");
  expect(closed).toHaveBeenCalledTimes(1);
  await hub.start(port);
  await become("open");
  expect(opened).toHaveBeenCalledTimes(2);
});

it("a socket that has been silent too long is given up", async () => {
  const { socket, closed, become } = connect();
  await socket.connect();
  await become("open");
  await socket.check(Date.now() + 44_000);
  expect(closed).not.toHaveBeenCalled();
  await socket.check(Date.now() + 46_000);
  expect(closed).toHaveBeenCalledTimes(1);
  await become("open");
  expect(hub.welcomes).toBe(2);
});

it("what is larger than the hub takes is not sent", async () => {
  hub.maxMessageBytes = 100;
  const { socket, become } = connect();
  await socket.connect();
  await become("open");
  expect(socket.send({ method: "browser/toolStarted", params: { requestId: "ä".repeat(40) } })).toBe(false);
  expect(socket.send({ method: "browser/toolStarted", params: { requestId: "a" } })).toBe(true);
});
