/** The person's instances, one row each, with the one thing to do. */

import { useQuery } from "@tanstack/react-query";
import { statsQuery } from "@/api/queries";
import type { Instance, Server } from "@/api/types";
import { InstanceRow } from "./instance-row";

export function InstanceTable({ instances, servers }: { instances: Instance[]; servers: Server[] }) {
  const stats = useQuery(statsQuery());
  const away = instances.filter((it) => it.health.level === "bad").length;
  return (
    <>
      <table className="w-full table-fixed border-collapse text-left">
        <caption className="sr-only">Instances</caption>
        <thead className="border-b bg-sunken text-muted text-sm">
          <tr>
            <th className="w-9 py-2">
              <span className="sr-only">Tools</span>
            </th>
            <th className="py-2 font-medium">Name</th>
            <th className="hidden w-48 py-2 font-medium @2xl:table-cell">Status</th>
            <th className="hidden w-22 py-2 font-medium @3xl:table-cell">Kind</th>
            <th className="hidden w-22 py-2 font-medium @4xl:table-cell">Last call</th>
            <th className="hidden w-28 py-2 font-medium @4xl:table-cell">24 h</th>
            <th className="w-22 py-2 pr-3 @2xl:w-44">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        {instances.map((it) => (
          <InstanceRow
            key={it.id}
            instance={it}
            server={servers.find((row) => row.id === it.server_id)}
            stats={stats.data?.servers.find((row) => row.instance_id === it.id)}
          />
        ))}
      </table>
      {away > 0 && instances.length > away && (
        <p className="border-t bg-sunken px-4 py-2 text-muted text-sm">
          {away} unavailable. Lists keep what they knew; only calls to {away === 1 ? "it" : "them"} fail.
        </p>
      )}
    </>
  );
}
