/** What a line may begin with, above the composer. Focus stays in the text box. */

import { Terminal } from "lucide-react";
import { useEffect, useRef } from "react";
import { cn } from "@/lib/class";
import type { Choice } from "@/lib/slash-choices";
import { Foreign } from "@/parts/foreign";
import { ServerIcon } from "@/parts/server-icon";
import { ToolIcon } from "@/parts/tool-icon";

type Props = { id: string; choices: Choice[]; at: number; onChoose: (choice: Choice) => void };

export const optionId = (id: string, at: number) => `${id}-${at}`;

export function SlashPalette({ id, choices, at, onChoose }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector(`[data-at="${at}"]`)?.scrollIntoView?.({ block: "nearest" });
  }, [at]);
  return (
    <div
      ref={list}
      id={id}
      role="listbox"
      aria-label="What to call"
      className="thin-scroll absolute inset-x-0 bottom-full z-10 mb-1.5 max-h-72 animate-in overflow-y-auto rounded-lg border bg-surface p-1 shadow-pop"
    >
      {choices.map((it, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the text box has the keys
        <div
          key={it.key}
          id={optionId(id, index)}
          role="option"
          tabIndex={-1}
          data-at={index}
          aria-selected={index === at}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(it)}
          className={cn(
            "flex min-h-8 cursor-default items-center gap-2 rounded-md px-2 hover:bg-hover",
            index === at && "bg-hover",
          )}
        >
          <Picture choice={it} />
          <Foreign text={it.label} plain className="max-w-[60%] shrink-0 truncate font-mono text-sm" />
          <Foreign text={it.about} plain className="min-w-0 flex-1 truncate text-muted text-sm" />
        </div>
      ))}
    </div>
  );
}

function Picture({ choice: { kind, from, label, icon } }: { choice: Choice }) {
  if (kind === "command") return <Terminal aria-hidden className="size-3.5 shrink-0 text-muted" />;
  if (kind === "bud")
    return <ServerIcon icon={icon ?? ""} name={label} kind="bud" transport="bud" className="size-4!" />;
  return <ToolIcon kind={from ?? "external"} />;
}
