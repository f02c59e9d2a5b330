/** A tool that is used: what it was told, how far it is, what it asks, what came of it. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  Check,
  ChevronRight,
  CircleAlert,
  CircleDashed,
  CircleX,
  LoaderCircle,
  RefreshCw,
  SquarePen,
  TriangleAlert,
} from "lucide-react";
import { memo, useState } from "react";
import { ask, asProblem } from "@/api/http";
import { useConnect } from "@/api/mutations";
import { registryQuery } from "@/api/queries";
import type { Problem } from "@/api/types";
import type { ChatQuestion } from "@/api/types.gen";
import type { CallProgress, Phase } from "@/lib/call-state";
import { type Content, isDraft, type Message, phaseOf } from "@/lib/chat-thread";
import { cn } from "@/lib/class";
import { duration } from "@/lib/format";
import { type Home, homeOf } from "@/lib/home-of";
import type { Json } from "@/lib/json";
import { callLine } from "@/lib/slash";
import { ContentView, TextView } from "@/parts/content-view";
import { CopyButton } from "@/parts/copy-button";
import { Foreign } from "@/parts/foreign";
import { JsonView } from "@/parts/json-view";
import { ProblemView } from "@/parts/problem";
import { Announcer, Progress } from "@/parts/progress";
import { ToolIcon } from "@/parts/tool-icon";
import { Button } from "@/ui/button";
import { Ask } from "./ask";
import { Nested } from "./nested";

const WORDS: Record<Phase, string> = {
  drafting: "Writing",
  waiting: "Needs your leave",
  running: "Running",
  "needs-input": "Asks a question",
  done: "Done",
  failed: "Failed",
  denied: "Denied",
  cancelled: "Stopped",
};
const LOOK: Record<Phase, [typeof Check, string]> = {
  drafting: [SquarePen, "text-info"],
  waiting: [TriangleAlert, "text-warn"],
  running: [LoaderCircle, "animate-spin text-info"],
  "needs-input": [CircleDashed, "text-info"],
  done: [Check, "text-ok"],
  failed: [CircleAlert, "text-bad"],
  denied: [CircleX, "text-muted"],
  cancelled: [CircleX, "text-muted"],
};

type Props = {
  chatId: string;
  message: Message;
  asked: ChatQuestion | undefined;
  progress: CallProgress | undefined;
  /** Part of what was said last: told to a screen reader. */
  isLatest: boolean;
  /** Nothing follows it, so it is open. */
  isLast: boolean;
  onAgain: (line: string) => void;
  onStop: () => void;
};

export const ToolCard = memo(function ToolCard({
  chatId,
  message,
  asked,
  progress,
  isLatest,
  isLast,
  onAgain,
  onStop,
}: Props) {
  const { content } = message;
  const { data: entries } = useQuery(registryQuery);
  const home = homeOf(entries, content.tool ?? "", content.server);
  const [startedAt] = useState(() => Date.now());
  const phase = phaseOf(content, asked);
  const line = home.server && callLine(home.server, home.method, JSON.stringify(content.arguments ?? {}));
  const isOver = content.state !== "running";
  return (
    <Frame
      phase={phase}
      home={home}
      ms={content.ms}
      opens={isLast || !isOver || phase === "failed"}
      summary={isOver ? firstLine(content.text) : undefined}
    >
      {isLatest && <Announcer state={{ phase, ...(progress ? { progress } : {}) }} tool={home.method} />}
      {content.arguments !== undefined && <Arguments value={content.arguments} />}
      {asked && <Ask chatId={chatId} asked={asked} home={home} />}
      {phase === "running" && (
        <Progress state={{ phase, startedAt, ...(progress ? { progress } : {}) }} onCancel={onStop} />
      )}
      <Outcome content={content} home={home} callId={message.call_id} />
      {isOver && message.call_id && home.entry?.kind === "bud" && <Nested callId={message.call_id} />}
      {isOver && !isDraft(message) && (
        <p className="flex flex-wrap items-center gap-1">
          {line && (
            <Button size="sm" variant="ghost" onClick={() => onAgain(line)}>
              <RefreshCw />
              Run again
            </Button>
          )}
          {content.text !== "" && <CopyButton text={content.text} label="Copy the result" />}
          {message.call_id && (
            <Button asChild size="sm" variant="ghost">
              <Link to="/activity/$call" params={{ call: message.call_id }}>
                Steps of this call
              </Link>
            </Button>
          )}
        </p>
      )}
    </Frame>
  );
});

/** As much of what is being written is shown. */
const MOST = 4000;

/** A tool that the model is still asking for. */
export function UseCard({ name, text, isWriting }: { name: string; text: string; isWriting: boolean }) {
  const { data: entries } = useQuery(registryQuery);
  return (
    <Frame phase={isWriting ? "drafting" : "cancelled"} home={homeOf(entries, name)} opens>
      <Written text={text || "…"} />
    </Frame>
  );
}

/** What a model wrote, as it wrote it. */
function Written({ text }: { text: string }) {
  return (
    <pre className="thin-scroll max-h-60 overflow-auto whitespace-pre-wrap rounded-md bg-sunken p-3 text-sm leading-5">
      <Foreign text={text.length > MOST ? `…${text.slice(-MOST)}` : text} plain />
    </pre>
  );
}

type FrameProps = {
  phase: Phase;
  home: Home;
  ms?: number | undefined;
  opens: boolean;
  summary?: string | undefined;
  children: React.ReactNode;
};

function Frame({ phase, home, ms, opens, summary, children }: FrameProps) {
  const [chosen, setChosen] = useState<boolean>();
  const isOpen = chosen ?? (opens || phase === "waiting" || phase === "needs-input");
  const [Icon, colour] = LOOK[phase];
  const isGone = phase === "denied" || phase === "cancelled";
  return (
    <fieldset
      aria-label={`${home.method || "Tool"}: ${WORDS[phase]}`}
      className="min-w-0 rounded-lg border bg-surface"
    >
      <h2>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setChosen(!isOpen)}
          className="flex min-h-9 w-full min-w-0 items-center gap-2 rounded-lg px-3 py-1.5 text-left hover:bg-hover focus-visible:outline-offset-[-2px]"
        >
          <ChevronRight
            aria-hidden
            className={cn(
              "size-3.5 shrink-0 text-muted transition-transform duration-150",
              isOpen && "rotate-90",
            )}
          />
          <ToolIcon kind={home.entry?.kind ?? "external"} />
          <span
            className={cn("min-w-0 shrink truncate font-medium font-mono text-sm", isGone && "line-through")}
          >
            <Foreign text={home.method || "Calling"} plain />
          </span>
          {home.server && <span className="shrink-0 text-muted text-sm max-sm:hidden">{home.server}</span>}
          <span className="min-w-0 flex-1 truncate text-muted text-sm">
            {!isOpen && summary && <Foreign text={summary} plain />}
          </span>
          {ms !== undefined && (
            <span className="shrink-0 text-muted text-sm tabular-nums">{duration(ms)}</span>
          )}
          <span className="flex shrink-0 items-center gap-1 text-sm">
            <Icon aria-hidden className={cn("size-3.5", colour)} />
            {WORDS[phase]}
          </span>
        </button>
      </h2>
      {isOpen && <div className="space-y-3 border-t p-3">{children}</div>}
    </fieldset>
  );
}

function Arguments({ value }: { value: Json }) {
  // Not JSON, so nobody could read it.
  if (typeof value === "string") return <Written text={value} />;
  const isEmpty = typeof value === "object" && Object.keys(value ?? {}).length === 0;
  return isEmpty ? <p className="text-muted">Without arguments</p> : <JsonView value={value} />;
}

function Outcome({ content, home, callId }: { content: Content; home: Home; callId: string | null }) {
  const { text, images, structured, error, result_id } = content;
  return (
    <>
      {error && (
        <ProblemView problem={error} {...(callId ? { callId } : {})}>
          {error.code === "instance.needs-reauth" && home.entry?.instance && (
            <Reconnect instanceId={home.entry.instance.id} />
          )}
        </ProblemView>
      )}
      {text !== "" && text !== error?.detail && (
        <div
          className={cn(
            content.state === "failed" && !error && "rounded-md border border-bad/40 bg-bad-soft p-3",
          )}
        >
          <TextView text={text} />
        </div>
      )}
      {images?.map((it, index) => (
        <ContentView key={index} part={{ kind: "image", mimeType: it.mimeType, data: it.data }} />
      ))}
      {structured !== undefined && structured !== null && (
        <details>
          <summary className="text-muted">Structured</summary>
          <JsonView value={structured} className="mt-2" />
        </details>
      )}
      {result_id && <Whole id={result_id} />}
    </>
  );
}

/** What was cut for the model is still there for people. */
function Whole({ id }: { id: string }) {
  const [state, setState] = useState<{ text?: string; problem?: Problem; busy?: boolean }>({});
  const load = async () => {
    setState({ busy: true });
    try {
      const response = await ask("GET", `/api/mcp/results/${id}`, undefined, "text/plain");
      setState({ text: await response.text() });
    } catch (error) {
      setState({ problem: asProblem(error) });
    }
  };
  if (state.text !== undefined) return <TextView text={state.text} />;
  return (
    <>
      {state.problem && <ProblemView problem={state.problem} />}
      <Button size="sm" disabled={state.busy} onClick={() => void load()}>
        Show all of it
      </Button>
    </>
  );
}

function Reconnect({ instanceId }: { instanceId: string }) {
  const connect = useConnect(instanceId);
  return (
    <Button size="sm" variant="primary" disabled={connect.isPending} onClick={() => connect.mutate()}>
      Reconnect
    </Button>
  );
}

const firstLine = (text: string) =>
  text
    .split("\n")
    .find((it) => it.trim() !== "")
    ?.slice(0, 140) ?? "";
