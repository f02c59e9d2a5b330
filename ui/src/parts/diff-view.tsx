/** Two texts beside each other in time. Plus and minus say it, not only colour. */

import { cn } from "@/lib/class";
import type { DiffLine } from "@/lib/diff";
import { Foreign } from "./foreign";
import { ScrollBox } from "./scroll-box";

const MARK = { same: " ", gone: "-", new: "+" };

export function DiffView({ lines }: { lines: DiffLine[] }) {
  return (
    <ScrollBox label="Changes" className="max-h-96 rounded-md border bg-sunken">
      <pre className="py-2 text-sm leading-5">
        {lines.map((it, index) => (
          <div
            key={index}
            className={cn(
              "whitespace-pre-wrap px-3",
              it.kind === "gone" && "bg-bad-soft text-bad",
              it.kind === "new" && "bg-accent-soft text-accent",
            )}
          >
            {MARK[it.kind]} <Foreign text={it.text} plain />
          </div>
        ))}
      </pre>
    </ScrollBox>
  );
}
