/** Copies and says so in its own place. */

import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { copy } from "@/app/clipboard";
import { Button } from "@/ui/button";

type Props = { text: string | (() => string); label: string; children?: ReactNode; className?: string };

export function CopyButton({ text, label, children, className }: Props) {
  const [state, setState] = useState<"" | "Copied" | "Not allowed here">("");
  useEffect(() => {
    if (state === "") return;
    const timer = setTimeout(() => setState(""), 1600);
    return () => clearTimeout(timer);
  }, [state]);
  const run = async () =>
    setState((await copy(typeof text === "string" ? text : text())) ? "Copied" : "Not allowed here");
  const icon = state === "Copied" ? <Check className="text-ok" /> : <Copy />;
  return (
    <Button
      variant="ghost"
      size={children ? "sm" : "icon-sm"}
      onClick={run}
      aria-label={children ? undefined : label}
      title={label}
      className={className}
    >
      {icon}
      {children && <span>{state || children}</span>}
      <span className="sr-only" aria-live="polite">
        {state}
      </span>
    </Button>
  );
}
