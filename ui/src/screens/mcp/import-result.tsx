/** An import while it runs and when it has ended: every server stands alone. */

import { Link } from "@tanstack/react-router";
import { CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import type { Imported, Step } from "@/api/types";
import { plural } from "@/lib/format";
import type { Pasted } from "@/lib/paste";
import { Foreign } from "@/parts/foreign";
import { Sentence } from "@/parts/problem";
import { Steps } from "@/parts/steps";
import { Button } from "@/ui/button";

type Props = {
  pasted: Pasted;
  steps: Record<string, Step[]>;
  result: Imported | undefined;
  onSaveAnyway: (names: string[]) => void;
};

export function ImportResult({ pasted, steps, result, onSaveAnyway }: Props) {
  if (!result) {
    const names = pasted.names.length > 0 ? pasted.names : ["The servers of this text"];
    return (
      <ul aria-live="polite" className="space-y-3">
        {names.map((name) => (
          <li key={name}>
            <p className="flex items-center gap-2">
              <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin text-info" />
              <Foreign text={name} plain className="font-medium" />
              <span className="text-muted">is asked for its tools…</span>
            </p>
            <Steps steps={steps[name] ?? []} className="mt-1 ml-6" />
          </li>
        ))}
      </ul>
    );
  }
  const { added, failed, message_success, message_error } = result;
  return (
    <div className="space-y-4">
      <div role="status" className="sr-only">
        {message_success} {message_error}
      </div>
      <ul className="space-y-2">
        {added.map((it) => (
          <li key={it.id} className="rounded-md border px-3 py-2">
            <p className="flex flex-wrap items-center gap-2">
              <CircleCheck aria-hidden className="size-4 shrink-0 text-ok" />
              <Link to="/mcp/$id" params={{ id: it.slug }} className="font-medium hover:underline">
                <Foreign text={it.name} plain />
              </Link>
              <span className="text-muted">
                {it.tools === null ? "sign in to use" : plural(it.tools, "tool")}
              </span>
            </p>
            {it.warning && (
              <p className="ml-6 text-warn">
                <Sentence text={it.warning} />
              </p>
            )}
            <Steps steps={steps[it.name] ?? []} className="mt-1 ml-6" />
          </li>
        ))}
        {failed.map((it) => (
          <li key={it.name} className="rounded-md border border-bad/40 bg-bad-soft px-3 py-2">
            <p className="flex items-center gap-2">
              <CircleX aria-hidden className="size-4 shrink-0 text-bad" />
              <Foreign text={it.name} plain className="font-medium" />
            </p>
            <p className="ml-6">
              <Sentence text={it.error} />
            </p>
            <Steps steps={steps[it.name] ?? []} className="mt-1 ml-6" />
          </li>
        ))}
      </ul>
      {failed.length > 0 && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-2 text-muted">
          {failed.length === 1 ? "It was not kept." : "They were not kept."}
          <Button size="sm" onClick={() => onSaveAnyway(failed.map((it) => it.name))}>
            Save anyway
          </Button>
        </p>
      )}
    </div>
  );
}
