/** Resources: choose one, or fill in a template, and read it. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { oneOf } from "@/api/mcp";
import type { WholeInstance } from "@/api/types";
import { cn } from "@/lib/class";
import { resourceOf } from "@/lib/content";
import { isObject } from "@/lib/json";
import { ContentView } from "@/parts/content-view";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { Progress } from "@/parts/progress";
import { SkeletonRows } from "@/parts/skeleton";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";
import { expand, type Resource, resourcesQuery, variablesOf } from "./offer";
import { Split } from "./split";
import { useCall } from "./use-call";

const route = getRouteApi("/mcp/$id");

export function ResourcesTab({
  instance,
  selected,
}: {
  instance: WholeInstance;
  selected: string | undefined;
}) {
  const resources = useQuery(resourcesQuery(instance.id, instance.slug));
  const navigate = route.useNavigate();
  if (resources.isPending) return <SkeletonRows rows={4} />;
  if (resources.isError) return <ProblemView problem={asProblem(resources.error)} className="m-4" />;
  if (resources.data.length === 0) return <Empty sentence="This server offers no resources" />;
  const chosen = resources.data.find((it) => it.uri === selected);
  const choose = (uri?: string) =>
    void navigate({ search: { tab: "resources", ...(uri ? { resource: uri } : {}) } });
  return (
    <Split
      isChosen={chosen !== undefined}
      onBack={() => choose()}
      back="All resources"
      list={
        <ul>
          {resources.data.map((it) => (
            <li key={it.uri} className="border-b">
              <button
                type="button"
                data-item
                aria-current={it.uri === selected ? "true" : undefined}
                onClick={() => choose(it.uri)}
                className={cn(
                  "block w-full px-3 py-2 text-left",
                  it.uri === selected ? "bg-accent-soft" : "hover:bg-hover",
                )}
              >
                <span className="flex items-center gap-2">
                  <Foreign text={it.name} plain className="min-w-0 flex-1 truncate" />
                  {it.isTemplate && <Badge>template</Badge>}
                </span>
                <Foreign text={it.uri} plain className="block truncate font-mono text-muted text-sm" />
              </button>
            </li>
          ))}
        </ul>
      }
      detail={
        chosen ? (
          <ResourceReader key={chosen.uri} instance={instance} resource={chosen} />
        ) : (
          <Empty sentence="Choose a resource to read it." />
        )
      }
    />
  );
}

function ResourceReader({ instance, resource }: { instance: WholeInstance; resource: Resource }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const { run, start, cancel } = useCall(oneOf(instance.slug));
  const uri = resource.isTemplate ? expand(resource.uri, values) : resource.uri;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start({ method: "resources/read", name: uri, params: { uri: JSON.stringify(uri) } });
  };
  const contents = Array.isArray(run.result?.contents) ? run.result.contents.filter(isObject) : [];
  return (
    <div className="max-w-3xl space-y-4 p-4">
      <header className="space-y-1">
        <h2 className="font-semibold text-lg">
          <Foreign text={resource.name} plain />
        </h2>
        <Foreign text={uri} plain block className="font-mono text-muted text-sm" />
        {resource.description && <Foreign text={resource.description} block className="text-muted" />}
      </header>
      <form onSubmit={submit} className="space-y-3">
        {(resource.isTemplate ? variablesOf(resource.uri) : []).map((name) => (
          <FormField key={name} label={name}>
            {(props) => (
              <Input
                {...props}
                value={values[name] ?? ""}
                onChange={(event) => setValues({ ...values, [name]: event.target.value })}
              />
            )}
          </FormField>
        ))}
        <Button type="submit" variant="primary" disabled={run.state.phase === "running"}>
          Read
        </Button>
      </form>
      {run.state.phase === "running" && <Progress state={run.state} onCancel={cancel} />}
      {run.problem && <ProblemView problem={run.problem} />}
      {contents.map((it, index) => (
        <ContentView key={index} part={resourceOf(it)} />
      ))}
    </div>
  );
}
