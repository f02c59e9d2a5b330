/** Everything said in a chat. It stays at its end while words come, unless somebody reads further up. */

import { useQueryClient } from "@tanstack/react-query";
import { ChevronDown, ExternalLink, SquarePen, Unplug } from "lucide-react";
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { copy } from "@/app/clipboard";
import { moveFocus, useCommand } from "@/app/commands";
import { toast } from "@/app/toast";
import { type Content, isDraft, type Message, type Row, rowsOf, type Thread } from "@/lib/chat-thread";
import { count } from "@/lib/format";
import { ContentView } from "@/parts/content-view";
import { CopyButton } from "@/parts/copy-button";
import { Foreign } from "@/parts/foreign";
import { Markdown } from "@/parts/markdown";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Textarea } from "@/ui/input";
import { Ask } from "./ask";
import { NoModel } from "./no-model";
import { ToolCard, UseCard } from "./tool-card";
import { follow } from "./turn";

/** A text this long is not read as Markdown, and not whole. */
const LONG = 50_000;

/** A question that belongs to no card. */
const NOWHERE = { entry: undefined, server: undefined, method: "" };

export type Say = (text: string, edit?: string, images?: Content["images"]) => void;

type Props = {
  chatId: string;
  thread: Thread;
  busy: boolean;
  onSay: Say;
  onStop: () => void;
};

export function ThreadView({ chatId, thread, busy, onSay, onStop }: Props) {
  const client = useQueryClient();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const rows = useMemo(() => rowsOf(thread.messages), [thread.messages]);
  const latest = rows.findLastIndex((it) => it.kind === "user");
  useCommand("next", () => moveFocus(box.current, 1));
  useCommand("previous", () => moveFocus(box.current, -1));

  const toEnd = () => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever something was said
  useLayoutEffect(() => {
    if (isAtEnd.current) toEnd();
  }, [thread]);
  useEffect(() => {
    const wanted = location.hash.startsWith("#m-") && document.getElementById(location.hash.slice(1));
    if (!wanted) return;
    isAtEnd.current = false;
    wanted.scrollIntoView({ block: "start" });
  }, []);
  const onScroll = () => {
    const it = box.current;
    if (!it) return;
    isAtEnd.current = it.scrollHeight - it.scrollTop - it.clientHeight < 48;
    setAway(!isAtEnd.current);
  };

  // The same for as long as the page is open, so that only what changed is drawn again.
  const now = useRef({ thread, busy, onSay, onStop });
  now.current = { thread, busy, onSay, onStop };
  const say = useCallback<Say>((...given) => now.current.busy || now.current.onSay(...given), []);
  const stop = useCallback(() => now.current.onStop(), []);
  const again = useCallback(() => {
    const last = now.current.thread.messages.findLast((it) => it.role === "user");
    if (last) say(last.content.text, isDraft(last) ? undefined : last.id, last.content.images);
  }, [say]);
  return (
    <div className="relative min-h-0 flex-1">
      <section
        ref={box}
        aria-label="Messages"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard could not scroll
        tabIndex={0}
        onScroll={onScroll}
        className="thin-scroll h-full overflow-y-auto"
      >
        <div className="mx-auto w-full max-w-[50rem] space-y-4 px-3 py-5 md:px-6">
          {rows.map((row, at) => (
            <RowView
              key={row.key}
              row={row}
              chatId={chatId}
              thread={thread}
              busy={busy}
              isLatest={at > latest}
              onSay={say}
              onStop={stop}
              onAgain={again}
            />
          ))}
          {thread.asks
            .filter((it) => it.message === null)
            .map((it) => (
              <Ask key={it.id} chatId={chatId} asked={it} tool="" home={NOWHERE} />
            ))}
          {thread.stream === "lost" && (
            <p role="alert" className="flex flex-wrap items-center gap-2 text-warn">
              <Unplug aria-hidden className="size-4" />
              Connection lost
              <Button size="sm" onClick={() => void follow(client, chatId)}>
                Continue
              </Button>
            </p>
          )}
        </div>
      </section>
      <div role="status" className="sr-only">
        {busy ? "The answer is on its way" : rows.length > 0 ? "The answer is there" : ""}
      </div>
      {isAway && (
        <Button
          size="sm"
          className="absolute right-4 bottom-2 shadow-pop"
          onClick={() => {
            isAtEnd.current = true;
            toEnd();
          }}
        >
          <ChevronDown />
          To the end
        </Button>
      )}
    </div>
  );
}

type RowProps = {
  row: Row;
  chatId: string;
  thread: Thread;
  busy: boolean;
  isLatest: boolean;
  onSay: Say;
  onStop: () => void;
  onAgain: () => void;
};

function RowView({ row, chatId, thread, busy, isLatest, onSay, onStop, onAgain }: RowProps) {
  switch (row.kind) {
    case "user":
      return <Said message={row.message} busy={busy} onSay={onSay} />;
    case "answer":
      return <Spoken message={row.message} canRetry={isLatest && !busy} onAgain={onAgain} />;
    case "use":
      return (
        <UseCard name={row.name} text={row.text} isWriting={busy && row.owner.content.state !== "stopped"} />
      );
    case "tool": {
      const { message } = row;
      return (
        <article id={`m-${message.id}`} tabIndex={-1} data-item className="scroll-mt-4 rounded-lg">
          <ToolCard
            chatId={chatId}
            message={message}
            asked={thread.asks.find((it) => it.message === message.id)}
            progress={thread.progress[message.id]}
            isLatest={isLatest}
            onAgain={onSay}
            onStop={onStop}
          />
        </article>
      );
    }
  }
}

const Said = memo(function Said({ message, busy, onSay }: { message: Message; busy: boolean; onSay: Say }) {
  const [edited, setEdited] = useState<string>();
  const { text, images } = message.content;
  if (edited !== undefined) {
    return (
      <form
        className="space-y-2 rounded-lg border bg-surface p-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (edited.trim() === "" || busy) return;
          setEdited(undefined);
          onSay(edited, message.id, images);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") setEdited(undefined);
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.requestSubmit();
        }}
      >
        <Textarea
          aria-label="Your message"
          autoFocus
          rows={Math.min(edited.split("\n").length + 1, 12)}
          value={edited}
          onChange={(event) => setEdited(event.target.value)}
        />
        <p className="text-muted text-sm">What follows this message is forgotten.</p>
        <div className="flex gap-2">
          <Button type="submit" variant="primary" size="sm" disabled={busy || edited.trim() === ""}>
            Send again
          </Button>
          <Button size="sm" onClick={() => setEdited(undefined)}>
            Keep
          </Button>
        </div>
      </form>
    );
  }
  return (
    <article
      id={`m-${message.id}`}
      tabIndex={-1}
      data-item
      aria-label="You"
      className="ml-auto w-fit max-w-[85%] scroll-mt-4 rounded-lg bg-accent-soft px-3 py-2"
    >
      <Foreign text={text} block className="max-w-[72ch]" />
      {images?.map((it, index) => (
        <ContentView key={index} part={{ kind: "image", mimeType: it.mimeType, data: it.data }} />
      ))}
      {!isDraft(message) && (
        <Tools id={message.id} text={text}>
          <Button
            variant="ghost"
            size="icon-sm"
            aria-label="Edit and send again"
            disabled={busy}
            onClick={() => setEdited(text)}
          >
            <SquarePen />
          </Button>
        </Tools>
      )}
    </article>
  );
});

const Spoken = memo(function Spoken({
  message,
  canRetry,
  onAgain,
}: {
  message: Message;
  canRetry: boolean;
  onAgain: () => void;
}) {
  const { text, state, error, model, usage } = message.content;
  return (
    <article
      id={`m-${message.id}`}
      tabIndex={-1}
      data-item
      aria-label="Answer"
      aria-busy={state === "running"}
      className="max-w-[72ch] scroll-mt-4 space-y-2 rounded-lg"
    >
      <Words text={text} />
      {state === "running" && text === "" && (
        <p className="flex h-5 items-center gap-1" aria-hidden>
          <span className="size-2 animate-pulse rounded-full bg-muted" />
        </p>
      )}
      {state === "stopped" && <p className="text-muted">Stopped</p>}
      {error &&
        (error.code === "model.missing" ? (
          <NoModel>
            {canRetry && (
              <Button size="sm" onClick={onAgain}>
                Try again
              </Button>
            )}
          </NoModel>
        ) : (
          <ProblemView problem={error}>
            {canRetry && (
              <Button size="sm" onClick={onAgain}>
                Try again
              </Button>
            )}
          </ProblemView>
        ))}
      {state !== "running" && text !== "" && (
        <Tools id={message.id} text={text}>
          {model && <Foreign text={model} plain className="truncate text-muted text-sm" />}
          {usage && (
            <span className="text-muted text-sm tabular-nums">
              {count(usage.input)} in, {count(usage.output)} out
            </span>
          )}
        </Tools>
      )}
    </article>
  );
});

function Words({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= LONG) return <Markdown text={text} />;
  return (
    <>
      <Foreign text={isWhole ? text : text.slice(0, LONG)} block />
      {!isWhole && (
        <Button size="sm" onClick={() => setWhole(true)}>
          Expand, {count(text.length)} characters
        </Button>
      )}
    </>
  );
}

function Tools({ id, text, children }: { id: string; text: string; children?: React.ReactNode }) {
  const link = async () => {
    const url = `${location.origin}${location.pathname}#m-${id}`;
    await toast((await copy(url)) ? "Copied a link to this message" : "This browser does not allow copying");
  };
  return (
    <div className="flex flex-wrap items-center gap-1">
      {children}
      <CopyButton text={text} label="Copy the message" />
      <Button
        variant="ghost"
        size="icon-sm"
        aria-label="Copy a link to this message"
        onClick={() => void link()}
      >
        <ExternalLink />
      </Button>
    </div>
  );
}
