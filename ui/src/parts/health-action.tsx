/** The one thing to do about an instance, as a button or a link. */

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { asProblem } from "@/api/http";
import { useConnect, useRefresh, useTurn } from "@/api/mutations";
import type { Instance, Problem } from "@/api/types";
import { Button } from "@/ui/button";

type Props = { instance: Instance; onProblem: (problem: Problem | undefined) => void };

export function HealthAction({ instance, onProblem }: Props) {
  const { id, slug, health } = instance;
  const connect = useConnect(id);
  const refresh = useRefresh(id);
  const turn = useTurn(instance);
  const { action } = health;
  if (!action) return null;
  const told = {
    onError: (error: Error) => onProblem(asProblem(error)),
    onSuccess: () => onProblem(undefined),
  };
  const primary = health.level === "warn" ? "primary" : "secondary";
  const run = (busy: boolean, start: () => void) => (
    <Button size="sm" variant={primary} disabled={busy} onClick={start}>
      {action.label}
    </Button>
  );
  const go = (tab: string): ReactNode => (
    <Button asChild size="sm" variant={primary}>
      <Link to="/mcp/$id" params={{ id: slug }} search={{ tab }}>
        {action.label}
      </Link>
    </Button>
  );
  switch (action.kind) {
    case "sign_in":
    case "reconnect":
      return run(connect.isPending, () => connect.mutate(undefined, { onError: told.onError }));
    case "restart":
    case "open_tab":
      return run(refresh.isPending, () => refresh.mutate(undefined, told));
    case "turn_on":
      return run(turn.isPending, () => turn.mutate(true, told));
    case "cancel":
      return run(turn.isPending, () => turn.mutate(false, told));
    case "show_log":
      return go("log");
    case "review":
    case "set_up":
      return go("settings");
    case "show_other":
      return (
        <Button asChild size="sm">
          <Link to="/mcp" search={{ q: health.summary.replace(/^Duplicate of /, "") }}>
            {action.label}
          </Link>
        </Button>
      );
  }
}
