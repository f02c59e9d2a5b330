/** The three steps of a beginning, in words. */

import type { HubStatus } from "@/api/types";

export type ChecklistStep = { id: keyof HubStatus["checklist"]; text: string; done: boolean };

export function steps(checklist: HubStatus["checklist"]): ChecklistStep[] {
  return [
    { id: "server", text: "Add a server", done: checklist.server },
    { id: "client", text: "Connect a client", done: checklist.client },
    { id: "call", text: "Make a first call", done: checklist.call },
  ];
}
