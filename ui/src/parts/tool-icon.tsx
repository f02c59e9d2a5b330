/** What a tool belongs to: a server, or the hub's own set. An icon and its words. */

import { Plug, Wrench } from "lucide-react";
import type { RegistryKind } from "@/api/types";
import { cn } from "@/lib/class";

export function ToolIcon({ kind, className }: { kind: RegistryKind; className?: string }) {
  const isOwn = kind === "builtin";
  const Icon = isOwn ? Wrench : Plug;
  return (
    <Icon
      role="img"
      aria-label={isOwn ? "Toolset tool" : "MCP tool"}
      className={cn("size-3.5 shrink-0 text-muted", className)}
    />
  );
}
