/** The first three steps. Each ticks itself; done, the card is gone. */

import { Link } from "@tanstack/react-router";
import { CircleCheck, CircleDashed } from "lucide-react";
import type { ReactNode } from "react";
import type { ChecklistStep } from "@/lib/checklist";
import { cn } from "@/lib/class";
import { Card } from "@/parts/page";
import { Button } from "@/ui/button";

const NEXT: Record<ChecklistStep["id"], { about: string; action: ReactNode }> = {
  server: {
    about: "A URL, a command line, or the JSON you already have.",
    action: (
      <Link to="/mcp" search={{ add: "" }}>
        Add server
      </Link>
    ),
  },
  client: { about: "Copy the snippet of your client below.", action: <a href="#clients">Show snippets</a> },
  call: {
    about: "Ask your client for something, or run a tool here.",
    action: <Link to="/mcp">Open MCP</Link>,
  },
};

export function Checklist({ steps }: { steps: ChecklistStep[] }) {
  const next = steps.find((it) => !it.done)?.id;
  return (
    <Card title="First steps">
      <ol>
        {steps.map((step) => {
          const Icon = step.done ? CircleCheck : CircleDashed;
          return (
            <li
              key={step.id}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2.5 last:border-b-0"
            >
              <Icon aria-hidden className={cn("size-4.5 shrink-0", step.done ? "text-ok" : "text-muted")} />
              <div className="min-w-0 flex-1 basis-48">
                <p className={cn("font-medium", step.done && "text-muted")}>
                  {step.text}
                  <span className="sr-only">{step.done ? ": done" : ": to do"}</span>
                </p>
                {!step.done && <p className="text-muted">{NEXT[step.id].about}</p>}
              </div>
              {!step.done && (
                <Button
                  asChild
                  size="sm"
                  variant={step.id === next ? "primary" : "secondary"}
                  className="ml-7.5 sm:ml-0"
                >
                  {NEXT[step.id].action}
                </Button>
              )}
            </li>
          );
        })}
      </ol>
    </Card>
  );
}
