/** The filter line, with what it did not understand. */

import { Search } from "lucide-react";
import { useId, useRef } from "react";
import { useCommand } from "@/app/commands";
import type { FilterProblem } from "@/lib/activity-filter";
import { Sentence } from "@/parts/problem";
import { Input } from "@/ui/input";

type Props = { line: string; problems: FilterProblem[]; onChange: (line: string) => void };

export function FilterBar({ line, problems, onChange }: Props) {
  const box = useRef<HTMLInputElement>(null);
  const id = useId();
  useCommand("search", () => box.current?.focus());
  return (
    <div className="space-y-1">
      <div className="relative">
        <Search aria-hidden className="pointer-events-none absolute top-2 left-2 size-4 text-muted" />
        <Input
          ref={box}
          type="search"
          aria-label="Filter"
          aria-describedby={id}
          aria-invalid={problems.length > 0 || undefined}
          spellCheck={false}
          placeholder="tool:github* end:failed >500ms by:me"
          className="pl-8 font-mono text-sm"
          value={line}
          onChange={(event) => onChange(event.target.value)}
        />
      </div>
      <div id={id} className="text-sm">
        {problems.map((it) => (
          <p key={`${it.at} ${it.text}`} className="text-warn">
            <Sentence text={it.text} />
          </p>
        ))}
      </div>
    </div>
  );
}
