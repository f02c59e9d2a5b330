/** Everything said in a chat. It stays at its end while words come, unless somebody reads further up. */

import { useQueryClient } from "@tanstack/react-query";
import { ChevronDown, Unplug } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { moveFocus, useCommand } from "@/app/commands";
import { isDraft, type Row, rowsOf, type Thread } from "@/lib/chat-thread";
import { Button } from "@/ui/button";
import { Ask } from "./ask";
import { Said, type Say, Spoken } from "./message";
import { ToolCard, UseCard } from "./tool-card";
import { follow } from "./turn";

/** A question that belongs to no card. */
const NOWHERE = { entry: undefined, server: undefined, method: "" };

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
              isLast={at === rows.length - 1}
              onSay={say}
              onStop={stop}
              onAgain={again}
            />
          ))}
          {thread.asks
            .filter((it) => it.message === null)
            .map((it) => (
              <Ask key={it.id} chatId={chatId} asked={it} home={NOWHERE} />
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
  isLast: boolean;
  onSay: Say;
  onStop: () => void;
  onAgain: () => void;
};

function RowView({ row, chatId, thread, busy, isLatest, isLast, onSay, onStop, onAgain }: RowProps) {
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
            isLast={isLast}
            onAgain={onSay}
            onStop={onStop}
          />
        </article>
      );
    }
  }
}
