/** MCP: my instances, and what I could use. */

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { lazy, Suspense, useRef } from "react";
import { asProblem } from "@/api/http";
import { instancesQuery, serversQuery } from "@/api/queries";
import { moveFocus, useCommand } from "@/app/commands";
import { cn } from "@/lib/class";
import { age } from "@/lib/format";
import { inScope, type Scope, scopeOf } from "@/lib/scope";
import { Empty } from "@/parts/empty";
import { Page } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";
import { Available } from "./available";
import { InstanceTable } from "./instance-table";

/** They come when somebody adds something. */
const AddSheet = lazy(() => import("./add-sheet"));
const BudSheet = lazy(() => import("../bud/bud-sheet"));

const SCOPES: { id: Scope; name: string }[] = [
  { id: "mine", name: "Mine" },
  { id: "shared", name: "Shared" },
  { id: "available", name: "Available" },
];

export function Mcp() {
  const search = useSearch({ from: "/mcp" });
  const navigate = useNavigate({ from: "/mcp" });
  const scope = scopeOf(search.scope);
  const instances = useQuery(instancesQuery);
  const servers = useQuery(serversQuery);
  const list = useRef<HTMLDivElement>(null);
  const set = (change: Partial<typeof search>) =>
    void navigate({ search: { ...search, ...change }, replace: true });
  useCommand("add", () => set({ add: "" }));
  useCommand("next", () => moveFocus(list.current, 1));
  useCommand("previous", () => moveFocus(list.current, -1));

  const shown = instances.data?.filter((it) => inScope(it, servers.data ?? [], scope, search.q ?? ""));
  return (
    <Page
      wide
      title="MCP"
      about="Servers as you use them."
      actions={
        <Button variant="primary" onClick={() => set({ add: "" })}>
          <Plus />
          Add server
        </Button>
      }
    >
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <fieldset className="flex rounded-md border bg-sunken p-0.5">
          <legend className="sr-only">Scope</legend>
          {SCOPES.map((it) => (
            <label
              key={it.id}
              className="cursor-pointer rounded-sm px-2.5 py-1 text-muted has-checked:bg-surface has-checked:font-medium has-checked:text-text has-checked:shadow-sm has-focus-visible:outline-2 has-focus-visible:outline-focus"
            >
              <input
                type="radio"
                name="scope"
                className="sr-only"
                checked={scope === it.id}
                onChange={() => set({ scope: it.id })}
              />
              {it.name}
            </label>
          ))}
        </fieldset>
        <div className="relative min-w-0 flex-1 basis-40 sm:max-w-72">
          <Search aria-hidden className="pointer-events-none absolute top-2 left-2 size-4 text-muted" />
          <Input
            type="search"
            aria-label="Find an instance"
            placeholder="Find"
            className="pl-8"
            value={search.q ?? ""}
            onChange={(event) => set({ q: event.target.value })}
          />
        </div>
      </div>
      <div
        ref={list}
        className={cn(
          "@container overflow-hidden rounded-lg border bg-surface",
          instances.isFetching && instances.data && "opacity-90",
        )}
      >
        {instances.isError && (
          <div className="p-3">
            <ProblemView problem={asProblem(instances.error)}>
              <Button size="sm" onClick={() => instances.refetch()}>
                Try again
              </Button>
              {instances.data && (
                <span className="text-muted">
                  List is {age((Date.now() - instances.dataUpdatedAt) / 1000)}
                </span>
              )}
            </ProblemView>
          </div>
        )}
        {scope === "available" ? (
          <Available
            servers={servers}
            instances={instances.data ?? []}
            search={search.q ?? ""}
            select={search.select}
          />
        ) : (
          <>
            {instances.isPending && <SkeletonRows rows={5} />}
            {shown && shown.length > 0 && <InstanceTable instances={shown} servers={servers.data ?? []} />}
            {shown?.length === 0 &&
              (instances.data?.length === 0 ? (
                <NoServers onAdd={() => set({ add: "" })} />
              ) : (
                <Empty sentence="No instance is like that." />
              ))}
          </>
        )}
      </div>
      <Suspense>
        {search.add !== undefined && (
          <AddSheet
            text={search.add}
            onBud={() => set({ add: undefined, bud: "new" })}
            onClose={() => set({ add: undefined })}
          />
        )}
        {search.bud !== undefined && (
          <BudSheet key={search.bud} id={search.bud} onClose={() => set({ bud: undefined })} />
        )}
      </Suspense>
    </Page>
  );
}

function NoServers({ onAdd }: { onAdd: () => void }) {
  return (
    <Empty sentence="No servers yet. Press + to add one.">
      <Button variant="primary" onClick={onAdd}>
        <Plus />
        Add server
      </Button>
      <Button asChild variant="link">
        <Link to="/discover">Browse</Link>
      </Button>
    </Empty>
  );
}
