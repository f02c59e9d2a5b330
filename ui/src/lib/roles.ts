/** What people can be. */

import type { Role } from "@/api/types";

export const ROLES: { id: Role; name: string }[] = [
  { id: "member", name: "Member" },
  { id: "workspace-admin", name: "Workspace admin" },
  { id: "admin", name: "Admin" },
];
