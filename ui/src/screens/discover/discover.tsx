/** Discover: find a server or a bundle, see what it will run, install it; what is installed, and what changed since. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useState } from "react";
import { asProblem } from "@/api/http";
import type { Hit } from "@/api/types.gen";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { Card, Page } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { Rail } from "@/parts/rail";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";
import { searchQuery } from "./api";
import { Changes } from "./changes";
import { InstallSheet } from "./install";
import { InstalledBundles } from "./installed";
import { facets, matches, readSearch, toggled } from "./search";

const route = getRouteApi("/discover");
/** Anything that is a place by its look is installed as it is; words are looked for. */
const PLACE = /^(https:\/\/|github:|\/|\.\.?\/|~)|\.(zip|mcpb)$|^[\w.-]+\/[\w.-]+(@[\w.+-]+)?$/;

export function Discover() {
  const { q = "", select, version } = route.useSearch();
  const navigate = route.useNavigate();
  const [words, setWords] = useState(q);
  const choose = (source: string | undefined) =>
    navigate({ search: { ...(q ? { q } : {}), ...(source ? { select: source } : {}) } });
  const submit = () => {
    const typed = words.trim();
    if (PLACE.test(typed)) return choose(typed);
    return navigate({ search: typed ? { q: typed } : {} });
  };
  const rail = select !== undefined && (
    <Rail title={version ? "Update" : "Install"} onClose={() => choose(undefined)}>
      <InstallSheet key={`${select} ${version ?? ""}`} source={select} isUpdate={version !== undefined} />
    </Rail>
  );
  return (
    <div className="flex min-w-0">
      <div className="min-w-0 flex-1">
        <Page title="Discover" about="Find servers and bundles, see what they run, install them.">
          <form
            className="mb-4 flex gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              submit();
            }}
          >
            <Input
              type="search"
              aria-label="Search the registry, or a place to install from"
              placeholder="Words kind:stdio publisher:github, io.github.someone/server, github:owner/repo, https://…/bundle.zip"
              value={words}
              onChange={(event) => setWords(event.target.value)}
            />
            <Button type="submit" variant="primary">
              <Search /> Search
            </Button>
          </form>
          <div className="space-y-4">
            <Changes />
            <InstalledBundles
              onUpdate={(id) => navigate({ search: { ...(q ? { q } : {}), select: id, version: "" } })}
            />
            {q && (
              <Found
                typed={q}
                onChoose={choose}
                onNarrow={(it) => {
                  setWords(it);
                  navigate({ search: it ? { q: it } : {} });
                }}
              />
            )}
          </div>
        </Page>
      </div>
      {rail}
    </div>
  );
}

type FoundProps = {
  typed: string;
  onChoose: (name: string) => void;
  onNarrow: (typed: string) => void;
};

function Found({ typed, onChoose, onNarrow }: FoundProps) {
  const wanted = readSearch(typed);
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery(searchQuery(wanted.words));
  const all = data?.pages.flatMap((it) => it.servers) ?? [];
  const hits = all.filter((it) => matches(it, wanted));
  const used = typed.toLowerCase().split(/\s+/);
  return (
    <Card title="In the registry">
      {isPending && <p className="px-4 py-3 text-muted">Asking the registry…</p>}
      {error && (
        <ProblemView problem={asProblem(error)} className="m-4">
          <Button onClick={() => refetch()}>Try again</Button>
        </ProblemView>
      )}
      {all.length > 0 && (
        <fieldset className="flex flex-wrap gap-1.5 px-4 py-2">
          <legend className="sr-only">Narrow what was found</legend>
          {facets(all).map(({ operator, count }) => (
            <Button
              key={operator}
              size="sm"
              aria-pressed={used.includes(operator.toLowerCase())}
              variant={used.includes(operator.toLowerCase()) ? "primary" : "secondary"}
              onClick={() => onNarrow(toggled(typed, operator))}
            >
              {operator} <span className="opacity-80">{count}</span>
            </Button>
          ))}
        </fieldset>
      )}
      {data && hits.length === 0 && <Empty sentence={`Nothing in the registry says “${typed}”.`} />}
      {hits.length > 0 && (
        <ul className="divide-y">
          {hits.map((hit) => (
            <HitRow key={`${hit.name} ${hit.version}`} hit={hit} onChoose={onChoose} />
          ))}
        </ul>
      )}
      {hasNextPage && (
        <p className="px-4 py-3">
          <Button disabled={isFetchingNextPage} onClick={() => fetchNextPage()}>
            {isFetchingNextPage ? "Asking…" : "More"}
          </Button>
        </p>
      )}
    </Card>
  );
}

function HitRow({ hit, onChoose }: { hit: Hit; onChoose: (name: string) => void }) {
  return (
    <li className="flex flex-wrap items-start gap-3 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <h3 className="font-medium">
          <Foreign text={hit.title} plain />
        </h3>
        <p className="break-words text-muted">
          <Foreign text={hit.description} />
        </p>
        <p className="mt-1 flex flex-wrap gap-1.5">
          <Badge className="font-mono">{hit.name}</Badge>
          <Badge>{hit.version}</Badge>
          {hit.kinds.map((it) => (
            <Badge key={it}>{it}</Badge>
          ))}
          {hit.status !== "active" && <Badge>{hit.status}</Badge>}
        </p>
        <p className="mt-1 break-words text-muted text-sm">
          by {hit.publisher}
          {hit.updated && ` · updated ${hit.updated.slice(0, 10)}`}
          {hit.needs.length > 0 && ` · needs ${hit.needs.join(", ")}`}
        </p>
      </div>
      <Button aria-label={`Look at ${hit.title}`} onClick={() => onChoose(hit.name)}>
        Look
      </Button>
    </li>
  );
}
