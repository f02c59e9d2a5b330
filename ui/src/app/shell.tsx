/** What stays while pages change: places, registry, top bar, palette. Reads no route but to know whether the registry is open. */

import { skipToken, useQuery } from "@tanstack/react-query";
import { Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { lazy, memo, type ReactNode, Suspense, useEffect, useState } from "react";
import { ASKING } from "@/api/events";
import { statusQuery } from "@/api/queries";
import { SkeletonRows } from "@/parts/skeleton";
import { Dialog, DialogContent } from "@/ui/dialog";
import { TooltipProvider } from "@/ui/tooltip";
import { useCommand } from "./commands";
import { useKeys } from "./keys";
import { Nav } from "./nav";
import { setPreference, usePreference } from "./preferences";
import { Splitter } from "./splitter";
import { TopBar } from "./top-bar";
import { mayAdmin } from "./who";

const loadRegistry = () => import("./registry/registry").then(({ Registry }) => ({ default: Registry }));
const Registry = lazy(loadRegistry);
const loadPalette = () => import("./palette");
const Palette = lazy(loadPalette);
const Shortcuts = lazy(() => import("./shortcuts"));
const TabQuestions = lazy(() => import("./tab-questions"));

type Over = "menu" | "palette" | "shortcuts" | undefined;

export function Shell() {
  useKeys();
  const [over, setOver] = useState<Over>();
  useCommand("palette", () => setOver("palette"));
  useCommand("search", () => setOver("palette"));
  useCommand("shortcuts", () => setOver("shortcuts"));
  useEffect(() => {
    // Palette and registry open at once because they are already here.
    const idle = window.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 500));
    idle(() => void Promise.all([loadPalette(), loadRegistry()]));
  }, []);
  const asking = useQuery({ queryKey: ASKING, queryFn: skipToken, initialData: false });
  const close = () => setOver(undefined);
  return (
    <TooltipProvider delayDuration={400}>
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <Arrival />
      <div className="flex h-dvh w-full overflow-hidden">
        <Places />
        <Frame onOver={setOver} />
      </div>
      <Dialog open={over === "menu"} onOpenChange={(open) => !open && close()}>
        <DialogContent side="left" title="Menu">
          <MenuNav onGo={close} />
          <div className="min-h-0 flex-1 border-t">
            <Suspense fallback={<SkeletonRows rows={8} />}>
              <Registry onGo={close} />
            </Suspense>
          </div>
        </DialogContent>
      </Dialog>
      <Suspense>
        {over === "palette" && <Palette onClose={close} onShortcuts={() => setOver("shortcuts")} />}
        {over === "shortcuts" && <Shortcuts onClose={close} />}
        {asking.data && <TabQuestions />}
      </Suspense>
    </TooltipProvider>
  );
}

/** Tells a screen reader which page it has come to. */
function Arrival() {
  const router = useRouter();
  const [title, setTitle] = useState("");
  useEffect(
    () =>
      router.subscribe(
        "onRendered",
        ({ pathChanged }) => pathChanged && setTimeout(() => setTitle(document.title)),
      ),
    [router],
  );
  return (
    <div role="status" className="sr-only">
      {title}
    </div>
  );
}

function useMayAdmin(): boolean {
  const { data } = useQuery(statusQuery);
  return data !== undefined && mayAdmin(data);
}

const Places = memo(function Places() {
  const admin = useMayAdmin();
  return (
    <div className="hidden w-16 shrink-0 border-r bg-sunken md:block">
      <Nav admin={admin} />
    </div>
  );
});

function MenuNav({ onGo }: { onGo: () => void }) {
  return <Nav admin={useMayAdmin()} wide onGo={onGo} />;
}

/** The registry is part of the work on these pages, and in the way on the others. */
const WITH_REGISTRY = /^(\/ui)?\/(mcp|chat|plans)(\/|$)/;

function Frame({ onOver }: { onOver: (over: Over) => void }) {
  const isHere = useRouterState({ select: (state) => WITH_REGISTRY.test(state.location.pathname) });
  const key = isHere ? "registryHere" : "registryElsewhere";
  const isOpen = usePreference(key);
  const toggle = () => setPreference(key, !isOpen);
  useCommand("registry", toggle);
  return (
    <>
      <SideBar open={isOpen}>{registry}</SideBar>
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar
          onMenu={() => onOver("menu")}
          onRegistry={toggle}
          onSearch={() => onOver("palette")}
          registryOpen={isOpen}
        />
        <main id="main" tabIndex={-1} className="thin-scroll min-h-0 flex-1 overflow-y-auto outline-none">
          <Outlet />
        </main>
      </div>
    </>
  );
}

/** Made once, so that no change of page draws it again. */
const registry = (
  <Suspense fallback={<SkeletonRows rows={8} />}>
    <Registry />
  </Suspense>
);

function SideBar({ open, children }: { open: boolean; children: ReactNode }) {
  const width = usePreference("registryWidth");
  // Once opened it stays, so that opening it again shows it as it was.
  const [wasOpen, setWasOpen] = useState(open);
  if (open && !wasOpen) setWasOpen(true);
  return (
    <aside
      aria-label="Registry"
      hidden={!open}
      style={{ width }}
      className="relative hidden shrink-0 border-r bg-sunken md:block md:[&[hidden]]:hidden"
    >
      {wasOpen && children}
      <Splitter
        label="Width of the registry"
        value={width}
        min={200}
        max={480}
        onChange={(it) => setPreference("registryWidth", it)}
      />
    </aside>
  );
}
