/** What the server's process writes to stderr, as it writes it. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { asProblem } from "@/api/http";
import { logQuery } from "@/api/queries";
import type { WholeInstance } from "@/api/types";
import { cn } from "@/lib/class";
import { LEVELS, type LogLevel, levelOf } from "@/lib/log-level";
import { CopyButton } from "@/parts/copy-button";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { ScrollBox } from "@/parts/scroll-box";
import { SkeletonRows } from "@/parts/skeleton";
import { Checkbox, Input, Select } from "@/ui/input";

const COLOUR: Record<LogLevel, string> = {
  error: "text-bad",
  warning: "text-warn",
  info: "",
  debug: "text-muted",
};

export function LogTab({ instance }: { instance: WholeInstance }) {
  const [follow, setFollow] = useState(true);
  const [level, setLevel] = useState<LogLevel>("debug");
  const [search, setSearch] = useState("");
  const log = useQuery(logQuery(instance.id));
  const end = useRef<HTMLDivElement>(null);
  const lines = log.data?.lines ?? [];
  const shown = lines.filter(
    (it) =>
      LEVELS.indexOf(levelOf(it)) <= LEVELS.indexOf(level) && it.toLowerCase().includes(search.toLowerCase()),
  );
  const last = (log.data?.from ?? 0) + lines.length;
  useEffect(() => {
    if (follow && last > 0) end.current?.scrollIntoView({ block: "nearest" });
  }, [follow, last]);
  if (log.isPending) return <SkeletonRows rows={6} />;
  if (log.isError) return <ProblemView problem={asProblem(log.error)} className="m-4" />;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b px-4 py-2">
        <Input
          type="search"
          aria-label="Find in the log"
          placeholder="Find in the log"
          className="min-w-40 max-w-60 flex-1"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <Select
          aria-label="Level"
          value={level}
          onChange={(event) => setLevel(event.target.value as LogLevel)}
        >
          {LEVELS.map((it) => (
            <option key={it} value={it}>
              {it === "debug" ? "everything" : it}
            </option>
          ))}
        </Select>
        <Checkbox checked={follow} onChange={(event) => setFollow(event.target.checked)}>
          Follow
        </Checkbox>
        <CopyButton text={() => shown.join("\n")} label="Copy the log">
          Copy
        </CopyButton>
      </div>
      {lines.length === 0 ? (
        <Empty sentence="The process has written nothing." />
      ) : (
        <ScrollBox label="Log" className="min-h-0 flex-1 bg-sunken px-4 py-2">
          <ol className="font-mono text-sm leading-5">
            {shown.map((line, index) => (
              <li key={index} className={cn("whitespace-pre-wrap", COLOUR[levelOf(line)])}>
                <Foreign text={line} plain />
              </li>
            ))}
          </ol>
          <div ref={end} />
        </ScrollBox>
      )}
    </div>
  );
}
