/** Browsers with the extension: pairing, their tabs and which one is in front, what they share, what is remembered. */

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { asProblem } from "@/api/http";
import { tabsQuery, useForgetTab, usePairBrowser, useRememberTool } from "@/api/tabs";
import type { OpenTab, PairedBrowser, Pairing, TabsView } from "@/api/types";
import { useNow } from "@/app/now";
import { ago, plural } from "@/lib/format";
import { Confirm } from "@/parts/confirm";
import { Foreign } from "@/parts/foreign";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { SnippetView } from "@/parts/snippet";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";

type Remembered = TabsView["remembered"][number];

const LINE = "flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2.5 last:border-b-0";

export function BrowserTabs() {
  const tabs = useQuery(tabsQuery);
  const pair = usePairBrowser();
  return (
    <Card
      id="browser"
      title="Browser"
      actions={
        <Button size="sm" disabled={pair.isPending} onClick={() => pair.mutate()}>
          Pair a browser
        </Button>
      }
    >
      {pair.data && <PairingCode key={pair.data.code} pairing={pair.data} />}
      {pair.error && <ProblemView problem={asProblem(pair.error)} className="m-4" />}
      {tabs.isPending && <SkeletonRows rows={2} />}
      {tabs.isError && <ProblemView problem={asProblem(tabs.error)} className="m-4" />}
      {tabs.data && <Everything {...tabs.data} />}
      {tabs.data && <RelayProblem {...tabs.data} />}
    </Card>
  );
}

function PairingCode({ pairing: { paste, link, code, seconds } }: { pairing: Pairing }) {
  return (
    <div className="space-y-2 border-b bg-accent-soft p-4">
      <p>
        Paste this into the extension. It works once, within {plural(Math.round(seconds / 60), "minute")}.
      </p>
      <SnippetView text={paste} label="the code" secret={code} />
      <p>Or open this address in the browser that is to be paired:</p>
      <SnippetView text={link} label="the address" secret={code} />
    </div>
  );
}

/** What is wrong with the port for pages that connect by themselves, whether or not one has. */
function RelayProblem({ relay }: TabsView) {
  const problem = relay.state === "failed" ? relay.problem : relay.state === "on" ? relay.note : null;
  return problem && <p className="border-t p-4 text-warn">{problem}</p>;
}

function Everything({ browsers, tabs, remembered }: TabsView) {
  if (browsers.length === 0 && tabs.length === 0 && remembered.length === 0) {
    return (
      <p className="p-4 text-muted">
        No browser is paired. Pages that you share from one offer their tools to your clients.
      </p>
    );
  }
  const isOf = (browser: PairedBrowser) => (tab: OpenTab) => tab.browser === browser.id;
  const lone = tabs.filter((tab) => !browsers.some((it) => it.id === tab.browser));
  const kept = remembered.filter((it) => !tabs.some((tab) => tab.tools.some((own) => isSame(tab, own, it))));
  return (
    <>
      {browsers.map((it) => (
        <OneBrowser key={it.id} browser={it} tabs={tabs.filter(isOf(it))} remembered={remembered} />
      ))}
      {lone.length > 0 && (
        <Group title="Pages that connect by themselves">
          {lone.map((it) => (
            <Tab key={`${it.domain} ${it.tab}`} tab={it} remembered={remembered} />
          ))}
        </Group>
      )}
      {kept.length > 0 && (
        <Group title="Remembered">
          {kept.map((it) => (
            <Kept key={it.name} {...it} />
          ))}
        </Group>
      )}
    </>
  );
}

const isSame = (tab: OpenTab, own: OpenTab["tools"][number], { domain, own_name }: Remembered) =>
  tab.domain === domain && own.own_name === own_name;

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="border-b last:border-b-0">
      <h3 className="px-4 pt-3 pb-1 font-medium text-muted text-sm">{title}</h3>
      <ul>{children}</ul>
    </section>
  );
}

type OfBrowser = { browser: PairedBrowser; tabs: OpenTab[]; remembered: Remembered[] };

function OneBrowser({ browser, tabs, remembered }: OfBrowser) {
  const now = useNow();
  const forget = useForgetTab("browsers");
  const [isAsking, setAsking] = useState(false);
  const sites = [...new Set(tabs.map((it) => it.origin))];
  return (
    <section className="border-b last:border-b-0">
      <div className={`${LINE} border-b-0`}>
        <div className="min-w-0 flex-1 basis-48">
          <h3 className="flex flex-wrap items-center gap-1.5">
            <Foreign text={browser.name || "A browser"} plain className="font-medium" />
            <Badge tone={browser.connected ? "accent" : undefined}>
              {browser.connected ? "connected" : "away"}
            </Badge>
          </h3>
          <p className="text-muted">
            {browser.connected
              ? `${plural(tabs.length, "tab")} with tools, ${plural(sites.length, "shared site")} open`
              : `Seen ${ago(browser.last_seen, now)}`}
          </p>
        </div>
        <Button size="sm" onClick={() => setAsking(true)}>
          Unpair
        </Button>
      </div>
      <ul>
        {tabs.map((it) => (
          <Tab key={`${it.domain} ${it.tab}`} tab={it} remembered={remembered} />
        ))}
      </ul>
      <Confirm
        question={`Unpair ${browser.name || "this browser"}?`}
        effect="Its tabs are gone for your clients at once. It can be paired again with a new code."
        verb="Unpair"
        open={isAsking}
        onOpenChange={setAsking}
        busy={forget.isPending}
        problem={forget.error ? asProblem(forget.error) : undefined}
        onConfirm={() => forget.mutate(browser.id, { onSuccess: () => setAsking(false) })}
      />
    </section>
  );
}

function Tab({ tab, remembered }: { tab: OpenTab; remembered: Remembered[] }) {
  const remember = useRememberTool();
  const forget = useForgetTab("tools");
  return (
    <li className="border-b px-4 py-2.5 last:border-b-0">
      <p className="flex flex-wrap items-center gap-1.5">
        <Foreign text={tab.domain} plain className="font-medium" />
        <Badge>Tab {tab.tab}</Badge>
        {tab.active && <Badge tone="accent">in front</Badge>}
        {tab.incognito && <Badge>private</Badge>}
        <Foreign text={tab.title ?? ""} plain className="min-w-0 truncate text-muted" />
      </p>
      {tab.claims && (
        <p className="text-warn">
          Claims to be <Foreign text={tab.claims} plain />
        </p>
      )}
      <ul className="mt-1 space-y-0.5">
        {tab.tools.map((it) => {
          const kept = remembered.find((kept) => isSame(tab, it, kept));
          return (
            <li key={it.name} className="flex flex-wrap items-center gap-x-2">
              <code className="text-sm">
                <Foreign text={it.own_name} plain />
              </code>
              <Foreign text={it.description} plain className="min-w-0 flex-1 basis-40 truncate text-muted" />
              <Button
                size="sm"
                variant="ghost"
                aria-pressed={kept !== undefined}
                aria-label={`Remember ${it.own_name} of ${tab.domain}, tab ${tab.tab}`}
                disabled={remember.isPending || forget.isPending || tab.incognito}
                onClick={() => (kept ? forget.mutate(kept.name) : remember.mutate(it.name))}
              >
                {kept ? "Remembered" : "Remember"}
              </Button>
            </li>
          );
        })}
      </ul>
    </li>
  );
}

function Kept({ name, own_name, domain }: Remembered) {
  const forget = useForgetTab("tools");
  return (
    <li className={LINE}>
      <p className="min-w-0 flex-1 basis-48">
        <code className="text-sm">
          <Foreign text={own_name} plain />
        </code>{" "}
        of <Foreign text={domain} plain className="font-medium" />
        <span className="block text-muted">No tab is open. A call opens one.</span>
      </p>
      <Button
        size="sm"
        aria-label={`Forget ${own_name} of ${domain}`}
        disabled={forget.isPending}
        onClick={() => forget.mutate(name)}
      >
        Forget
      </Button>
    </li>
  );
}
