import { expect, test } from "vitest";
import type { CallRecord, HubStatus, Instance } from "@/api/types";
import { checklist } from "./checklist";

const status = { sessions: 0 } as HubStatus;
const call = (door: string, client?: string) => ({ door, client }) as CallRecord;
const done = (instances: number, calls: CallRecord[], sessions = 0) =>
  checklist(Array(instances).fill({}) as Instance[], calls, { ...status, sessions })
    .filter((it) => it.done)
    .map((it) => it.id)
    .join(" ");

test.each<[string, number, CallRecord[], number, string]>([
  ["nothing yet", 0, [], 0, ""],
  ["a server", 1, [], 0, "server"],
  ["a call from this page is no client", 1, [call("mcp", "toolgrove-ui")], 0, "server call"],
  ["a call whose client is unknown proves no client", 1, [call("mcp")], 0, "server call"],
  ["a call from a client", 1, [call("mcp", "cursor")], 0, "server client call"],
  ["a process that was started", 1, [call("stdio")], 0, "server client call"],
  ["a client that only listens", 1, [], 1, "server client"],
])("%s", (_, instances, calls, sessions, expected) =>
  expect(done(instances, calls, sessions)).toBe(expected),
);
