/** ⌘K: go anywhere, open anything that is known. Typing sends nothing. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Command } from "cmdk";
import {
  Activity,
  Compass,
  House,
  Keyboard,
  MessageSquare,
  Monitor,
  Moon,
  Plug,
  Plus,
  Settings,
  Shield,
  Sprout,
  Sun,
  Users,
} from "lucide-react";
import type { ReactNode } from "react";
import { instancesQuery, registryQuery, statusQuery } from "@/api/queries";
import type { Meta, WholeInstance } from "@/api/types";
import { Foreign } from "@/parts/foreign";
import { StatusLine } from "@/parts/status-dot";
import { ToolIcon } from "@/parts/tool-icon";
import { Dialog, DialogContent } from "@/ui/dialog";
import { setPreference } from "./preferences";
import { mayAdmin } from "./who";

type Props = { onClose: () => void; onShortcuts: () => void };

export default function Palette({ onClose, onShortcuts }: Props) {
  const router = useRouter();
  const client = useQueryClient();
  // Asks for nothing, but shows what comes while it is open.
  const { data: status } = useQuery({ ...statusQuery, enabled: false });
  const { data: instances = [] } = useQuery({ ...instancesQuery, enabled: false });
  const tools = knownTools(client);
  const go = (run: () => unknown) => () => {
    onClose();
    run();
  };
  const place = (
    to: "/" | "/mcp" | "/chat" | "/discover" | "/activity" | "/settings" | "/admin/mcp" | "/admin/people",
  ) => go(() => router.navigate({ to }));
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent title="Search" bare className="overflow-hidden">
        <Command label="Search" loop className="flex min-h-0 flex-col">
          <Command.Input
            autoFocus
            placeholder="Go to a place, a server or a tool"
            className="h-12 w-full border-b bg-transparent px-4 text-lg outline-none"
          />
          <Command.List className="thin-scroll min-h-0 overflow-y-auto p-2 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-muted [&_[cmdk-group-heading]]:text-sm">
            <Command.Empty className="px-2 py-6 text-center text-muted">Nothing found</Command.Empty>
            <Command.Group heading="Places">
              <Item icon={<House />} keys="g h" onSelect={place("/")}>
                Home
              </Item>
              <Item icon={<Plug />} keys="g m" onSelect={place("/mcp")}>
                MCP
              </Item>
              <Item icon={<MessageSquare />} keys="g c" onSelect={place("/chat")}>
                Chat
              </Item>
              <Item icon={<Compass />} keys="g d" onSelect={place("/discover")}>
                Discover
              </Item>
              <Item icon={<Activity />} keys="g a" onSelect={place("/activity")}>
                Activity
              </Item>
              <Item icon={<Settings />} keys="g s" onSelect={place("/settings")}>
                Settings
              </Item>
              {status && mayAdmin(status) && (
                <>
                  <Item icon={<Shield />} onSelect={place("/admin/mcp")}>
                    Admin: registry
                  </Item>
                  <Item icon={<Users />} onSelect={place("/admin/people")}>
                    Admin: people
                  </Item>
                </>
              )}
            </Command.Group>
            {instances.length > 0 && (
              <Command.Group heading="Instances">
                {instances.map((it) => (
                  <Item
                    key={it.id}
                    value={`instance ${it.slug} ${it.name}`}
                    icon={<Plug />}
                    onSelect={go(() => router.navigate({ to: "/mcp/$id", params: { id: it.slug } }))}
                  >
                    <Foreign text={it.name} plain className="max-w-1/2 shrink-0 truncate" />
                    <StatusLine health={it.health} className="ml-auto truncate text-muted text-sm" />
                  </Item>
                ))}
              </Command.Group>
            )}
            {tools.length > 0 && (
              <Command.Group heading="Tools">
                {tools.map((it) => (
                  <Item
                    key={`${it.slug} ${it.name}`}
                    value={`tool ${it.slug} ${it.name}`}
                    icon={<ToolIcon kind={it.kind} />}
                    onSelect={go(() =>
                      router.navigate({ to: "/mcp/$id", params: { id: it.slug }, search: { tool: it.name } }),
                    )}
                  >
                    <Foreign text={it.name} plain className="truncate font-mono text-sm" />
                    <span className="ml-auto text-muted text-sm">{it.slug}</span>
                  </Item>
                ))}
              </Command.Group>
            )}
            <Command.Group heading="Actions">
              <Item
                icon={<Plus />}
                keys="n"
                onSelect={go(() => router.navigate({ to: "/mcp", search: { add: "" } }))}
              >
                Add a server
              </Item>
              <Item
                icon={<Sprout />}
                onSelect={go(() => router.navigate({ to: "/mcp", search: { bud: "new" } }))}
              >
                New bud
              </Item>
              <Item
                icon={<Activity />}
                onSelect={go(() => router.navigate({ to: "/plans/$id", params: { id: "new" } }))}
              >
                New plan
              </Item>
              <Item icon={<Sun />} onSelect={go(() => setPreference("theme", "light"))}>
                Light theme
              </Item>
              <Item icon={<Moon />} onSelect={go(() => setPreference("theme", "dark"))}>
                Dark theme
              </Item>
              <Item icon={<Monitor />} onSelect={go(() => setPreference("theme", "system"))}>
                Theme of the system
              </Item>
              <Item icon={<Keyboard />} keys="?" onSelect={onShortcuts}>
                Shortcuts
              </Item>
            </Command.Group>
          </Command.List>
        </Command>
      </DialogContent>
    </Dialog>
  );
}

function Item({
  icon,
  keys,
  children,
  onSelect,
  value,
}: {
  icon: ReactNode;
  keys?: string;
  children: ReactNode;
  onSelect: () => void;
  value?: string;
}) {
  return (
    <Command.Item
      onSelect={onSelect}
      {...(value ? { value } : {})}
      className="flex min-h-8 cursor-default items-center gap-2.5 rounded-md px-2 data-[selected=true]:bg-hover [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-muted"
    >
      {icon}
      {children}
      {keys && <kbd className="ml-auto rounded-sm bg-hover px-1 text-muted text-xs">{keys}</kbd>}
    </Command.Item>
  );
}

/** Tools of everything that was looked at; enough to jump to, and already here. */
function knownTools(client: ReturnType<typeof useQueryClient>) {
  const entries = client.getQueryData(registryQuery.queryKey) ?? [];
  const found = new Map<string, { slug: string; name: string; kind: "external" | "builtin" }>();
  for (const [, whole] of client.getQueriesData<WholeInstance>({ queryKey: ["instance"] })) {
    for (const it of whole?.tool_list ?? [])
      found.set(`${whole?.slug} ${it.name}`, { slug: whole?.slug ?? "", name: it.name, kind: "external" });
  }
  for (const [, meta] of client.getQueriesData<Meta>({ queryKey: ["registry"] })) {
    const entry = entries.find((it) => it.id === meta?.id);
    if (!entry?.instance || !Array.isArray(meta?.methods)) continue;
    const { slug } = entry.instance;
    for (const it of meta.methods)
      found.set(`${slug} ${it.name}`, {
        slug,
        name: it.name,
        kind: entry.kind === "builtin" ? "builtin" : "external",
      });
  }
  return [...found.values()].slice(0, 500);
}
