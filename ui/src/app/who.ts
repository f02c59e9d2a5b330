/** Who is looking, and what they may see. The hub decides again at every request. */

import type { HubStatus, Person } from "@/api/types";

export function personOf(status: HubStatus): Person {
  return (
    status.person ?? { id: "", name: "You", email: null, role: status.mode === "solo" ? "admin" : "member" }
  );
}

export const mayAdmin = (status: HubStatus) => personOf(status).role !== "member";

/** Workspaces and people belong to those who keep the whole hub. */
export const isAdmin = (status: HubStatus) => personOf(status).role === "admin";
