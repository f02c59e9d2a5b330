/** What a person said, and what a model answered. */

import { Link2, SquarePen } from "lucide-react";
import { memo, type ReactNode, useState } from "react";
import { copy } from "@/app/clipboard";
import { toast } from "@/app/toast";
import { type Content, isDraft, type Message } from "@/lib/chat-thread";
import { count } from "@/lib/format";
import { ContentView } from "@/parts/content-view";
import { CopyButton } from "@/parts/copy-button";
import { Foreign } from "@/parts/foreign";
import { Markdown } from "@/parts/markdown";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Textarea } from "@/ui/input";
import { NoModel } from "./no-model";

/** Says something; with `edit`, in the place of what was said then. */
export type Say = (text: string, edit?: string, images?: Content["images"]) => void;

/** A text this long is not read as Markdown, and not whole. */
const LONG = 50_000;

export const Said = memo(function Said({
  message,
  busy,
  onSay,
}: {
  message: Message;
  busy: boolean;
  onSay: Say;
}) {
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

export const Spoken = memo(function Spoken({
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
            <span className="mr-1 text-muted text-sm tabular-nums">
              {model && "· "}
              {count(usage.input)} tokens in, {count(usage.output)} out
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

function Tools({ id, text, children }: { id: string; text: string; children?: ReactNode }) {
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
        <Link2 />
      </Button>
    </div>
  );
}
