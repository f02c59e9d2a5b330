/** One instance, and its tools to run. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { asProblem } from "@/api/http";
import { useRefresh } from "@/api/mutations";
import { instanceQuery } from "@/api/queries";
import type { Problem, WholeInstance } from "@/api/types";
import { NotFound } from "@/app/fallback";
import { cn } from "@/lib/class";
import { age } from "@/lib/format";
import { kindWord } from "@/lib/kind";
import { CopyButton } from "@/parts/copy-button";
import { Foreign } from "@/parts/foreign";
import { HealthAction } from "@/parts/health-action";
import { ProblemView } from "@/parts/problem";
import { Skeleton, SkeletonRows } from "@/parts/skeleton";
import { StatusLine } from "@/parts/status-dot";
import { useTitle } from "@/parts/use-title";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Tabs, TabsContent, TabsList, TabsTrigger } from "@/ui/tabs";
import { Tooltip } from "@/ui/tooltip";
import { Doctor } from "./doctor";
import { ToolsTab } from "./tools-tab";

const LogTab = lazy(async () => ({ default: (await import("./log-tab")).LogTab }));
const PromptsTab = lazy(async () => ({ default: (await import("./prompts-tab")).PromptsTab }));
const ResourcesTab = lazy(async () => ({ default: (await import("./resources-tab")).ResourcesTab }));
const SettingsTab = lazy(async () => ({ default: (await import("./settings-tab")).SettingsTab }));

const route = getRouteApi("/mcp/$id");
const TABS = ["tools", "prompts", "resources", "log", "settings"];

export function InstanceScreen() {
  const { id } = route.useParams();
  const whole = useQuery(instanceQuery(id));
  if (whole.isPending) return <Loading />;
  if (whole.isError) {
    const problem = asProblem(whole.error);
    if (problem.status === 404) return <NotFound />;
    return (
      <ProblemView problem={problem} className="m-6">
        <Button size="sm" onClick={() => whole.refetch()}>
          Try again
        </Button>
      </ProblemView>
    );
  }
  return <Loaded key={whole.data.id} instance={whole.data} />;
}

function Loaded({ instance }: { instance: WholeInstance }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useTitle(instance.name);
  const tab = TABS.includes(search.tab ?? "") ? (search.tab as string) : "tools";
  const hasLog = instance.transport === "stdio";
  return (
    <Tabs
      value={tab}
      onValueChange={(next) => void navigate({ search: next === "tools" ? {} : { tab: next } })}
      className="h-full"
    >
      <Head instance={instance} />
      <TabsList aria-label="Instance" className="px-3">
        <TabsTrigger value="tools">Tools</TabsTrigger>
        <TabsTrigger value="prompts">Prompts</TabsTrigger>
        <TabsTrigger value="resources">Resources</TabsTrigger>
        {hasLog && <TabsTrigger value="log">Log</TabsTrigger>}
        <TabsTrigger value="settings">Settings</TabsTrigger>
      </TabsList>
      <TabsContent value="tools" className="min-h-0 flex-1">
        <ToolsTab instance={instance} selected={search.tool} args={search.args} />
      </TabsContent>
      <Suspense fallback={<SkeletonRows rows={6} />}>
        <TabsContent value="prompts" className="min-h-0 flex-1">
          <PromptsTab instance={instance} selected={search.prompt} />
        </TabsContent>
        <TabsContent value="resources" className="min-h-0 flex-1">
          <ResourcesTab instance={instance} selected={search.resource} />
        </TabsContent>
        {hasLog && (
          <TabsContent value="log" className="min-h-0 flex-1">
            <LogTab instance={instance} />
          </TabsContent>
        )}
        <TabsContent value="settings" className="min-h-0 flex-1">
          <SettingsTab instance={instance} />
        </TabsContent>
      </Suspense>
    </Tabs>
  );
}

function Head({ instance }: { instance: WholeInstance }) {
  const [problem, setProblem] = useState<Problem>();
  const refresh = useRefresh(instance.id);
  const isAway = instance.health.level === "bad";
  return (
    <header className="px-4 pt-4 pb-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
        <h1 className="min-w-0 font-semibold text-xl">
          <Foreign text={instance.name} plain />
        </h1>
        <span className="flex items-center gap-1 font-mono text-muted text-sm">
          {instance.slug}
          <CopyButton text={`${location.origin}/mcp/i/${instance.slug}`} label="Copy its own endpoint" />
        </span>
        <StatusLine health={instance.health} />
        <span className="flex flex-wrap items-center gap-1.5">
          <Badge>{kindWord(instance.transport)}</Badge>
          {instance.era && (
            <Tooltip text={instance.era.evidence}>
              <Badge tabIndex={0}>
                {instance.era.era} · {instance.era.version}
              </Badge>
            </Tooltip>
          )}
          {instance.age_s !== null && (
            <span className="text-muted text-sm">list is {age(instance.age_s)}</span>
          )}
          <Tooltip text="Refresh">
            <Button
              variant="ghost"
              size="icon-sm"
              aria-label="Refresh"
              disabled={refresh.isPending}
              onClick={() =>
                refresh.mutate(undefined, {
                  onError: (error) => setProblem(asProblem(error)),
                  onSuccess: () => setProblem(undefined),
                })
              }
            >
              <RefreshCw className={cn(refresh.isPending && "animate-spin")} />
            </Button>
          </Tooltip>
        </span>
        <span className="ml-auto">
          <HealthAction instance={instance} onProblem={setProblem} />
        </span>
      </div>
      {instance.description && (
        <Foreign text={instance.description} block className="mt-1 max-w-[72ch] text-muted" />
      )}
      {problem && <ProblemView problem={problem} className="mt-3" />}
      {isAway && <Doctor instance={instance} />}
    </header>
  );
}

function Loading() {
  return (
    <div role="status" className="p-4">
      <span className="sr-only">Loading</span>
      <Skeleton className="h-7 w-52" />
      <Skeleton className="mt-5 h-8 w-80 max-w-full" />
      <SkeletonRows rows={8} className="px-0!" />
    </div>
  );
}
