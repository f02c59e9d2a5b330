/** Who is looking, and what they may see. The hub decides again at every request. */

import { useSuspenseQuery } from "@tanstack/react-query";
import { statusQuery } from "@/api/queries";
import type { HubStatus, Person } from "@/api/types";

export function personOf(status: HubStatus): Person {
  return (
    status.person ?? { id: "", name: "You", email: "", role: status.mode === "solo" ? "admin" : "member" }
  );
}

export const mayAdmin = (status: HubStatus) => personOf(status).role !== "member";

export function useStatus(): HubStatus {
  return useSuspenseQuery(statusQuery).data;
}
