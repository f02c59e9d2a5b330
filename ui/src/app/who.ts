/** What the one who looks may see. The hub decides again at every request. */

import type { HubStatus } from "@/api/types";

export const mayAdmin = (status: HubStatus) => status.me.role !== "member";

/** Workspaces and people belong to those who keep the whole hub. */
export const isAdmin = (status: HubStatus) => status.me.role === "admin";
