/** Entries of the registry. */

import { Link } from "@tanstack/react-router";
import { asProblem } from "@/api/http";
import { useChangeServer } from "@/api/mutations";
import type { Server } from "@/api/types";
import { cn } from "@/lib/class";
import { kindWord } from "@/lib/kind";
import { Foreign } from "@/parts/foreign";
import { Switch } from "@/ui/switch";

const ORIGINS: Record<string, string> = {
  admin: "Shared",
  paste: "Private",
  config: "Config file",
  bud: "Bud",
  builtin: "Built-in",
};

export function ServerTable({ servers, selected }: { servers: Server[]; selected: string | undefined }) {
  return (
    <table className="w-full table-fixed border-collapse text-left">
      <caption className="sr-only">Servers</caption>
      <thead className="border-b bg-sunken text-muted text-sm">
        <tr>
          <th className="py-2 pl-4 font-medium">Name</th>
          <th className="hidden w-28 py-2 font-medium @xl:table-cell">Origin</th>
          <th className="hidden w-24 py-2 font-medium @2xl:table-cell">Kind</th>
          <th className="hidden w-36 py-2 font-medium @3xl:table-cell">Instances</th>
          <th className="w-16 py-2 pr-4 text-right font-medium">On</th>
        </tr>
      </thead>
      <tbody>
        {servers.map((it) => (
          <ServerRow key={it.id} server={it} selected={it.id === selected} />
        ))}
      </tbody>
    </table>
  );
}

function ServerRow({ server, selected }: { server: Server; selected: boolean }) {
  const change = useChangeServer(server.id);
  const enabled = change.isPending ? (change.variables.enabled ?? server.enabled) : server.enabled;
  return (
    <tr className={cn("border-b last:border-b-0", selected ? "bg-accent-soft" : "hover:bg-hover")}>
      <td className="py-2 pr-3 pl-4">
        <Link
          data-item
          to="/admin/mcp"
          search={(before) => ({ ...before, select: server.id, add: undefined })}
          aria-current={selected ? "true" : undefined}
          className="block rounded-sm font-medium hover:underline"
        >
          <Foreign text={server.name} plain />
        </Link>
        <Foreign text={server.endpoint} plain className="block truncate font-mono text-muted text-sm" />
        {change.error && <p className="text-bad text-sm">{asProblem(change.error).detail}</p>}
      </td>
      <td className="hidden py-2 pr-3 text-muted @xl:table-cell">
        {ORIGINS[server.origin] ?? server.origin}
      </td>
      <td className="hidden py-2 pr-3 text-muted @2xl:table-cell">{kindWord(server.transport)}</td>
      <td className="hidden py-2 pr-3 text-muted @3xl:table-cell">
        {server.enabled_instances} on, {server.disabled_instances} off
      </td>
      <td className="py-2 pr-4 text-right">
        <Switch
          checked={enabled}
          onCheckedChange={(wanted) => change.mutate({ enabled: wanted })}
          aria-label={`${server.name} is on`}
        />
      </td>
    </tr>
  );
}
