/** The registry sidebar: every server the person may see, whatever page is open. Reads no route. */

import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { memo, useDeferredValue, useMemo, useRef, useState } from "react";
import { asProblem } from "@/api/http";
import { metaQuery, registryQuery } from "@/api/queries";
import type { Meta } from "@/api/types";
import { age } from "@/lib/format";
import { type MetaState, registryRows } from "@/lib/registry-rows";
import { Empty } from "@/parts/empty";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";
import { RegistryTree } from "./tree";

/** `onGo`: somebody goes elsewhere, or has inserted something, and what lies above the page is in the way. */
export const Registry = memo(function Registry({ onGo }: { onGo?: () => void }) {
  const go = onGo ? { onClick: onGo } : {};
  const client = useQueryClient();
  const registry = useQuery(registryQuery);
  const [search, setSearch] = useState("");
  const wanted = useDeferredValue(search);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const tree = useRef<HTMLDivElement>(null);

  const open = [...toggled].filter((it) => it.startsWith("server ")).map((it) => it.slice("server ".length));
  const metas = useQueries({
    queries: open.map((id) => metaQuery(id)),
    combine: (all) =>
      new Map<string, MetaState>(open.map((id, at) => [id, stateOf(all[at]?.data, all[at]?.isError)])),
  });
  const entries = registry.data;
  const rows = useMemo(() => {
    const metaOf = (id: string) =>
      metas.get(id) ?? stateOf(client.getQueryData(metaQuery(id).queryKey), false);
    return registryRows({ entries: entries ?? [], metaOf, toggled, search: wanted });
  }, [entries, metas, toggled, wanted, client]);

  const toggle = (key: string) =>
    setToggled((before) => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });

  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex items-center gap-1 p-2">
        <div className="relative flex-1">
          <Search aria-hidden className="pointer-events-none absolute top-2 left-2 size-4 text-muted" />
          <Input
            type="search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
            onKeyDown={(event) =>
              event.key === "ArrowDown" && tree.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus()
            }
            placeholder="Find a server or tool"
            aria-label="Find a server or tool"
            className="pl-8"
          />
        </div>
        <Button asChild variant="ghost" size="icon">
          <Link to="/mcp" search={{ add: "" }} aria-label="Add a server" {...go}>
            <Plus />
          </Link>
        </Button>
      </div>
      {registry.isPending && <SkeletonRows rows={8} />}
      {registry.isError && (
        <div className="p-2">
          {entries && (
            <p className="px-1 pb-2 text-muted text-sm">
              List is {age((Date.now() - registry.dataUpdatedAt) / 1000)}
            </p>
          )}
          <ProblemView problem={asProblem(registry.error)}>
            <Button size="sm" onClick={() => registry.refetch()}>
              Try again
            </Button>
          </ProblemView>
        </div>
      )}
      {entries?.length === 0 && (
        <Empty sentence="No tools yet">
          <Button asChild variant="primary" size="sm">
            <Link to="/mcp" search={{ add: "" }} {...go}>
              Add server
            </Link>
          </Button>
          <Button asChild variant="link" size="sm">
            <Link to="/discover" {...go}>
              Browse
            </Link>
          </Button>
        </Empty>
      )}
      {entries && entries.length > 0 && rows.length === 0 && (
        <Empty sentence={`Nothing is called “${wanted}”`} />
      )}
      {rows.length > 0 && <RegistryTree ref={tree} rows={rows} onToggle={toggle} onGo={onGo} />}
    </div>
  );
});

const stateOf = (meta: Meta | undefined, failed: boolean | undefined): MetaState => ({
  ...(meta ? { meta } : {}),
  ...(failed ? { failed } : {}),
});
