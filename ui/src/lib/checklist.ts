/** The three steps of a beginning, read off what has really happened. */

import type { CallRecord, HubStatus, Instance } from "@/api/types";

export type ChecklistStep = { id: "server" | "client" | "call"; text: string; done: boolean };

/** How this page calls itself when it calls a tool. */
const OWN = "toolgrove-ui";

export function checklist(instances: Instance[], calls: CallRecord[], status: HubStatus): ChecklistStep[] {
  const byClient = calls.some((it) => isFromClient(it));
  return [
    { id: "server", text: "Add a server", done: instances.length > 0 },
    { id: "client", text: "Connect a client", done: byClient || status.sessions > 0 },
    { id: "call", text: "Make a first call", done: calls.length > 0 },
  ];
}

function isFromClient(call: CallRecord): boolean {
  if (call.door === "stdio" || call.door === "legacy" || call.door === "sse") return true;
  return (
    call.door === "mcp" &&
    typeof call.client === "string" &&
    call.client !== "" &&
    !call.client.startsWith(OWN)
  );
}
