/** Admin: what everyone gets. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { useRef } from "react";
import { asProblem } from "@/api/http";
import { serversQuery, statusQuery, workspacesQuery } from "@/api/queries";
import { moveFocus, useCommand } from "@/app/commands";
import { NotFound } from "@/app/fallback";
import { isAdmin, mayAdmin } from "@/app/who";
import { Empty } from "@/parts/empty";
import { Page } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { Rail } from "@/parts/rail";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";
import { AddServer } from "./add-server";
import { AdminTabs } from "./admin-tabs";
import { ServerEditor } from "./server-editor";
import { ServerTable } from "./server-table";
import { ViewAs } from "./view-as";
import { WorkspaceCard } from "./workspace-card";

const route = getRouteApi("/admin/mcp");

export function AdminScreen() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const status = useQuery(statusQuery);
  const servers = useQuery(serversQuery);
  const workspaces = useQuery(workspacesQuery);
  const list = useRef<HTMLDivElement>(null);
  const set = (change: Partial<typeof search>) =>
    void navigate({ search: { ...search, ...change }, replace: true });
  useCommand("add", () => set({ add: "", select: undefined }));
  useCommand("next", () => moveFocus(list.current, 1));
  useCommand("previous", () => moveFocus(list.current, -1));
  if (status.data && !mayAdmin(status.data)) return <NotFound />;

  const words = (search.q ?? "").toLowerCase();
  const shown = servers.data?.filter((it) =>
    `${it.name} ${it.endpoint} ${it.description}`.toLowerCase().includes(words),
  );
  const selected = servers.data?.find((it) => it.id === search.select);
  const workspace = workspaces.data?.[0];
  return (
    <div className="flex min-h-full">
      <div className="min-w-0 flex-1">
        <Page
          wide
          title="Admin"
          about="The registry: servers for everyone in the workspace."
          actions={
            <>
              {status.data && isAdmin(status.data) && status.data.mode !== "solo" && (
                <ViewAs as={search.as} onChange={(as) => set({ as })} />
              )}
              <Button variant="primary" onClick={() => set({ add: "", select: undefined })}>
                <Plus />
                Add server
              </Button>
            </>
          }
        >
          <AdminTabs />
          <div className="space-y-5">
            <div className="relative sm:max-w-72">
              <Search aria-hidden className="pointer-events-none absolute top-2 left-2 size-4 text-muted" />
              <Input
                type="search"
                aria-label="Find a server"
                placeholder="Find"
                className="pl-8"
                value={search.q ?? ""}
                onChange={(event) => set({ q: event.target.value })}
              />
            </div>
            {servers.isError && <ProblemView problem={asProblem(servers.error)} />}
            <div ref={list} className="@container overflow-hidden rounded-lg border bg-surface">
              {servers.isPending && <SkeletonRows rows={5} />}
              {shown && shown.length > 0 && <ServerTable servers={shown} selected={search.select} />}
              {shown?.length === 0 && (
                <Empty sentence={words ? "No server is like that." : "No shared servers"}>
                  {!words && (
                    <>
                      <Button variant="primary" onClick={() => set({ add: "" })}>
                        Add server
                      </Button>
                      <Button asChild variant="link">
                        <Link to="/mcp" search={{ add: "" }}>
                          Import
                        </Link>
                      </Button>
                    </>
                  )}
                </Empty>
              )}
            </div>
            {workspaces.data?.map((it) => (
              <WorkspaceCard key={it.id} workspace={it} />
            ))}
          </div>
        </Page>
      </div>
      {search.add !== undefined && workspace && (
        <Rail title="Add a server" onClose={() => set({ add: undefined })}>
          <AddServer
            workspaceId={workspace.id}
            endpoint={search.add}
            onAdded={(id) => set({ add: undefined, select: id })}
          />
        </Rail>
      )}
      {selected && search.add === undefined && (
        <Rail title={selected.name} onClose={() => set({ select: undefined })}>
          <ServerEditor key={selected.id} server={selected} onRemoved={() => set({ select: undefined })} />
        </Rail>
      )}
    </div>
  );
}
