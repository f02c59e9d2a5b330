/** An error where it happened: sentence, code, hint, everything the server said, and a copy for a bug report. */

import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Problem } from "@/api/types";
import { cn } from "@/lib/class";
import { Badge } from "@/ui/badge";
import { CopyButton } from "./copy-button";
import { Foreign } from "./foreign";

type Props = {
  problem: Problem;
  callId?: string;
  /** What can be done about it, as buttons. */
  children?: ReactNode;
  className?: string;
};

export function ProblemView({ problem, callId, children, className }: Props) {
  const whole = () => JSON.stringify({ ...problem, ...(callId ? { call: callId } : {}) }, null, 2);
  const command = /`(toolgrove [^`]+)`/.exec(problem.hint ?? "")?.[1];
  return (
    <div role="alert" className={cn("rounded-md border border-bad/40 bg-bad-soft px-3 py-2.5", className)}>
      <div className="flex items-start gap-2">
        <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
        <div className="min-w-0 flex-1 space-y-1">
          <p className="font-medium">
            <Sentence text={problem.detail} />
          </p>
          {problem.hint && (
            <p className="flex flex-wrap items-center gap-x-2 text-muted">
              <span>
                <Sentence text={problem.hint} />
              </span>
              {command && (
                <CopyButton text={command} label={`Copy ${command}`}>
                  Copy command
                </CopyButton>
              )}
            </p>
          )}
          <p className="flex flex-wrap items-center gap-1.5">
            <Badge className="font-mono">{problem.code}</Badge>
            {callId && <Badge className="font-mono">call {callId}</Badge>}
          </p>
        </div>
        <CopyButton text={whole} label="Copy the error" />
      </div>
      {problem.data !== undefined && problem.data !== null && (
        <pre className="thin-scroll mt-2 max-h-60 overflow-auto rounded-sm bg-surface p-2 text-sm">
          <Foreign
            text={typeof problem.data === "string" ? problem.data : JSON.stringify(problem.data, null, 2)}
            block
          />
        </pre>
      )}
      {children && <div className="mt-2.5 flex flex-wrap gap-2 pl-6">{children}</div>}
    </div>
  );
}

/** The hub's sentences start small and put names in backticks; a page starts them with a capital and sets names apart. */
export function Sentence({ text }: { text: string }) {
  const parts = text.split(/`([^`]+)`/);
  return parts.map((part, index) =>
    index % 2 === 1 ? (
      <code key={index} className="rounded-sm bg-hover px-1">
        <Foreign text={part} plain />
      </code>
    ) : (
      <Foreign key={index} text={index === 0 ? capital(part) : part} />
    ),
  );
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
