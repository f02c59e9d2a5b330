/** Above every screen: where one is, search, and whether the page is live. */

import { useQuery } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import { Menu as MenuIcon, PanelLeft, Search } from "lucide-react";
import { instanceQuery, workspacesQuery } from "@/api/queries";
import { cn } from "@/lib/class";
import { Foreign } from "@/parts/foreign";
import { Button } from "@/ui/button";
import { Tooltip } from "@/ui/tooltip";
import { useLive } from "./live";

type Props = { onMenu: () => void; onRegistry: () => void; onSearch: () => void; registryOpen: boolean };

export function TopBar({ onMenu, onRegistry, onSearch, registryOpen }: Props) {
  return (
    <header className="flex h-11 shrink-0 items-center gap-2 border-b bg-surface px-2 md:px-3">
      <Button variant="ghost" size="icon" className="md:hidden!" aria-label="Menu" onClick={onMenu}>
        <MenuIcon />
      </Button>
      <Tooltip text={registryOpen ? "Collapse the registry  [" : "Open the registry  ["}>
        <Button
          variant="ghost"
          size="icon"
          className="hidden! md:inline-flex!"
          aria-label="Registry"
          aria-expanded={registryOpen}
          onClick={onRegistry}
        >
          <PanelLeft />
        </Button>
      </Tooltip>
      <Crumbs />
      <Button size="sm" onClick={onSearch} className="px-2! text-muted" aria-keyshortcuts="Meta+K Control+K">
        <Search />
        <span className="max-sm:sr-only">Search</span>
        <kbd aria-hidden className="hidden rounded-sm bg-hover px-1 text-xs sm:inline">
          {isMac() ? "⌘K" : "Ctrl K"}
        </kbd>
      </Button>
      <LiveDot />
    </header>
  );
}

const isMac = () => navigator.platform.startsWith("Mac");

const NAMES: Record<string, string> = {
  mcp: "MCP",
  discover: "Discover",
  chat: "Chat",
  plans: "Plan",
  activity: "Activity",
  admin: "Admin",
  registry: "Registry",
  people: "People",
  workspaces: "Workspaces",
  changes: "Changes",
  settings: "Settings",
};

function Crumbs() {
  const path = useRouterState({ select: (state) => placeOf(state.location) });
  // A chat and a plan say their names themselves.
  const steps = path
    .replace(/^\/ui/, "")
    .replace(/^(\/chat|\/plans)\/.*/, "$1")
    .split("/")
    .filter(Boolean);
  const { data: workspaces } = useQuery(workspacesQuery);
  const workspace = workspaces?.[0]?.name;
  return (
    <nav aria-label="Breadcrumb" className="min-w-0 flex-1">
      <ol className="flex min-w-0 items-center gap-1.5 text-muted">
        {workspace && steps.length > 0 && (
          <li className="hidden min-w-0 items-center gap-1.5 sm:flex">
            <Foreign text={workspace} plain className="truncate" />
            <span aria-hidden>/</span>
          </li>
        )}
        {steps.length === 0 && <li className="text-text">Home</li>}
        {steps.map((step, index) => (
          <li key={`${index} ${step}`} className="flex min-w-0 items-center gap-1.5 last:text-text">
            {index > 0 && <span aria-hidden>/</span>}
            <Crumb step={step} before={steps[index - 1]} isLast={index === steps.length - 1} />
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Pages of the admin share an address, or have a name of their own. */
function placeOf({ pathname, search }: { pathname: string; search: { tab?: string } }): string {
  const page = pathname.endsWith("/people") && NAMES[search.tab ?? ""] ? search.tab : undefined;
  return pathname.replace(/(?<=\/admin\/)mcp$/, "registry").replace(/people$/, page ?? "people");
}

function Crumb({ step, before, isLast }: { step: string; before: string | undefined; isLast: boolean }) {
  if (before === "mcp") return <InstanceName word={decodeURIComponent(step)} />;
  const name = before === "activity" ? "Call" : (NAMES[step] ?? step);
  if (isLast || step === "admin" || step === "plans")
    return <span aria-current={isLast ? "page" : undefined}>{name}</span>;
  return (
    <Link
      to={step === "mcp" ? "/mcp" : step === "activity" ? "/activity" : "/chat"}
      className="hover:text-text"
    >
      {name}
    </Link>
  );
}

function InstanceName({ word }: { word: string }) {
  const { data } = useQuery({ ...instanceQuery(word), enabled: false });
  return (
    <span aria-current="page" className="truncate">
      <Foreign text={data?.name ?? word} plain />
    </span>
  );
}

function LiveDot() {
  const live = useLive();
  const words = { connecting: "Connecting…", live: "Live", reconnecting: "Reconnecting…" }[live];
  return (
    <Tooltip text={live === "live" ? "Changes appear by themselves" : "Changes may be late"}>
      <span role="status" className="flex items-center gap-1.5 px-1 text-muted text-sm">
        <span
          aria-hidden
          className={cn("size-2 rounded-full", live === "live" ? "bg-ok" : "animate-pulse bg-warn")}
        />
        <span
          className={cn(
            live === "live" && "sr-only lg:not-sr-only",
            live !== "live" && "sr-only sm:not-sr-only",
          )}
        >
          {words}
        </span>
      </span>
    </Tooltip>
  );
}
