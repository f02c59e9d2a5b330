/** A server's picture: fetched by the hub, never by the browser; else what kind it is, else its first letter. */

import { Box, Calculator, FileSearch, Globe, PanelTop, Sprout, Terminal, Unplug } from "lucide-react";
import { useState } from "react";
import { cn } from "@/lib/class";

type Props = {
  name: string;
  kind: string;
  transport: string;
  /** Where the hub has its picture, for what may have one; anything but an address of the hub is not fetched. */
  icon?: string;
  className?: string;
};

const BY_TRANSPORT = {
  stdio: Terminal,
  unix: Unplug,
  pipe: Unplug,
  wasm: Box,
  builtin: FileSearch,
  tab: PanelTop,
};

export function ServerIcon({ name, kind, transport, icon, className }: Props) {
  const [isBroken, setBroken] = useState(false);
  const frame = cn(
    "grid size-5 shrink-0 place-items-center overflow-hidden rounded-sm bg-hover text-muted",
    className,
  );
  if (icon?.startsWith("/api/") && !(transport in BY_TRANSPORT) && !isBroken) {
    return (
      <img
        src={icon}
        alt=""
        loading="lazy"
        decoding="async"
        onError={() => setBroken(true)}
        className={cn(frame, "object-contain")}
      />
    );
  }
  const Icon = iconFor(name, kind, transport);
  return (
    <span aria-hidden className={frame}>
      {Icon ? (
        <Icon className="size-3.5" />
      ) : (
        <span className="font-semibold text-xs uppercase">{[...name][0] ?? "?"}</span>
      )}
    </span>
  );
}

function iconFor(name: string, kind: string, transport: string) {
  if (kind === "builtin") return name.includes("calc") ? Calculator : FileSearch;
  if (kind === "bud") return Sprout;
  if (transport in BY_TRANSPORT) return BY_TRANSPORT[transport as keyof typeof BY_TRANSPORT];
  return /^[\p{L}\p{N}]/u.test(name) ? undefined : Globe;
}
