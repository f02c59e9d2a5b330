/** What is said next: text, pictures, or a line that calls something. `/` and `@` offer what is already known. */

import { useQueryClient } from "@tanstack/react-query";
import { ArrowUp } from "lucide-react";
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useReducer,
  useRef,
  useState,
} from "react";
import { metaQuery, registryQuery } from "@/api/queries";
import type { Picture } from "@/api/types.gen";
import { mountTaker } from "@/app/insert";
import { callSnippet, type Snippet } from "@/lib/call-snippet";
import { cn } from "@/lib/class";
import { type Line, readLine } from "@/lib/slash";
import { type Choice, choicesFor, wantedAt } from "@/lib/slash-choices";
import { Button } from "@/ui/button";
import { budsQuery } from "../bud/api";
import { PictureButton, Pictures, pictureOf } from "./pictures";
import { optionId, SlashPalette } from "./slash-palette";

type Call = Extract<Line, { kind: "call" }>;
type Props = {
  initial: string;
  /** Whether one has come to say something. */
  focused: boolean;
  busy: boolean;
  /** False when the hub did not take it; then the text comes back. */
  onSend: (text: string, images: Picture[]) => Promise<boolean>;
  /** Somebody has to fill in the arguments; `clear` empties the box once that is done. */
  onForm: (call: Call, clear: () => void) => void;
  onStop: () => void;
  onRun: (command: NonNullable<Choice["run"]>) => void;
  children: ReactNode;
};

const MOST_BYTES = 5_000_000;

export function Composer({ initial, focused, busy, onSend, onForm, onStop, onRun, children }: Props) {
  const client = useQueryClient();
  const [text, setText] = useState(initial);
  const [caret, setCaret] = useState(initial.length);
  const [images, setImages] = useState<Picture[]>([]);
  const [at, setAt] = useState(0);
  const [, redraw] = useReducer((times: number) => times + 1, 0);
  const [isClosed, setClosed] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const box = useRef<HTMLTextAreaElement>(null);
  const frame = useRef<HTMLFormElement>(null);
  const selection = useRef<[number, number]>(undefined);
  const id = useId();

  const wanted = isClosed ? undefined : wantedAt(text, caret);
  const choices = wanted
    ? choicesFor(wanted, {
        entries: client.getQueryData(registryQuery.queryKey) ?? [],
        metaOf: (it) => client.getQueryData(metaQuery(it).queryKey),
        addresses: client.getQueryData(budsQuery.queryKey) ?? [],
      })
    : [];
  const isOpen = choices.length > 0;
  const chosen = Math.min(at, choices.length - 1);

  const put = (next: string, select?: [number, number]) => {
    setText(next);
    setCaret(select?.[1] ?? next.length);
    setAt(0);
    setWrong(undefined);
    selection.current = select ?? [next.length, next.length];
  };
  const insert = ({ text: snippet, select }: Snippet) => {
    setClosed(true);
    // A line takes the place of a line; among words it stands where they are.
    const isLine = /^\s*(?:[/@]|$)/.test(text);
    const from = isLine ? 0 : caret;
    const rest = isLine ? "" : text.slice(caret);
    put(text.slice(0, from) + snippet + rest, [from + select[0], from + select[1]]);
    // A window that it was inserted from closes first; until then it keeps the focus.
    setTimeout(() => box.current?.focus());
  };
  const take = useRef(insert);
  take.current = insert;
  useEffect(() => mountTaker(({ server, method }) => take.current(callSnippet(server, method))), []);
  useDrop(frame, take);
  useEffect(() => {
    // What an address brought is there to be finished.
    const gap = initial.indexOf("…");
    if (focused) box.current?.focus();
    if (gap >= 0) box.current?.setSelectionRange(gap, gap + 1);
  }, [initial, focused]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the text is another
  useLayoutEffect(() => {
    const it = box.current;
    if (!it) return;
    it.style.height = "auto";
    it.style.height = `${Math.min(it.scrollHeight + 2, 240)}px`;
    if (selection.current) it.setSelectionRange(...selection.current);
    selection.current = undefined;
  }, [text]);

  const choose = (choice: Choice) => {
    if (choice.run) {
      put("");
      onRun(choice.run);
      return;
    }
    if (choice.kind === "tool") setClosed(true);
    // Choosing a server asks for its methods, and they are offered when they come; typing asks nothing.
    if (choice.serverId) void client.prefetchQuery(metaQuery(choice.serverId)).then(redraw);
    put(choice.text, choice.select);
    box.current?.focus();
  };

  const submit = async () => {
    if (busy || (text.trim() === "" && images.length === 0)) return;
    const line = readLine(text);
    if (line.kind === "wrong") {
      setWrong(`${line.problem} (character ${line.at + 1})`);
      box.current?.setSelectionRange(line.at, text.length);
      return;
    }
    if (line.kind === "call" && line.args === undefined) {
      onForm(line, () => put(""));
      return;
    }
    const sent = { text, images };
    put("");
    setImages([]);
    if (await onSend(sent.text, sent.images)) return;
    // Not taken: it comes back, unless something else was typed meanwhile.
    setText((now) => (now === "" ? sent.text : now));
    setImages((now) => (now.length === 0 ? sent.images : now));
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (isOpen && step !== undefined) {
      event.preventDefault();
      setAt((chosen + step + choices.length) % choices.length);
    } else if (
      isOpen &&
      (event.key === "Enter" || event.key === "Tab") &&
      !event.shiftKey &&
      !event.ctrlKey
    ) {
      event.preventDefault();
      const choice = choices[chosen];
      if (choice) choose(choice);
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void submit();
    } else if (event.key === "Escape") {
      if (isOpen) {
        event.preventDefault();
        setClosed(true);
      } else if (busy) onStop();
      else box.current?.blur();
    }
  };
  const addFiles = async (files: Iterable<File>) => {
    for (const file of files) {
      if (!file.type.startsWith("image/")) setWrong("Only pictures can be attached");
      else if (file.size > MOST_BYTES) setWrong("A picture may have at most 5 MB");
      else {
        const picture = await pictureOf(file);
        setImages((before) => [...before, picture]);
      }
    }
  };
  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    void addFiles(event.clipboardData.files);
  };

  return (
    <form
      ref={frame}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      className="relative mx-auto w-full max-w-[50rem] px-3 pb-3 md:px-6"
    >
      <div className="relative">
        {isOpen && <SlashPalette id={id} choices={choices} at={chosen} onChoose={choose} />}
        <div className="rounded-lg border border-line-strong/70 bg-surface focus-within:border-line-strong">
          <Pictures
            images={images}
            onRemove={(gone) => setImages(images.filter((_, index) => index !== gone))}
          />
          <textarea
            ref={box}
            rows={2}
            aria-label="Message"
            aria-autocomplete="list"
            aria-haspopup="listbox"
            aria-controls={isOpen ? id : undefined}
            aria-activedescendant={isOpen ? optionId(id, chosen) : undefined}
            aria-describedby={`${id}-wrong`}
            aria-invalid={wrong !== undefined || undefined}
            placeholder="Ask, or type / for tools and @ for buds"
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setCaret(event.target.selectionStart);
              setAt(0);
              setWrong(undefined);
              setClosed(false);
            }}
            onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
            onKeyDown={onKeyDown}
            onPaste={onPaste}
            className="thin-scroll block w-full resize-none bg-transparent px-3 pt-2.5 pb-1 outline-none"
          />
          <div className="flex flex-wrap items-center gap-1.5 px-2 pb-2">
            {children}
            <PictureButton onFiles={(files) => void addFiles(files)} />
            {busy ? (
              <Button size="icon" className="ml-auto" aria-label="Stop" onClick={onStop}>
                <span aria-hidden className="size-3 rounded-xs bg-current" />
              </Button>
            ) : (
              <Button
                type="submit"
                size="icon"
                variant="primary"
                className="ml-auto"
                aria-label="Send"
                disabled={text.trim() === "" && images.length === 0}
              >
                <ArrowUp />
              </Button>
            )}
          </div>
        </div>
      </div>
      <p id={`${id}-wrong`} role="alert" className={cn("text-bad", wrong && "pt-1")}>
        {wrong}
      </p>
      <div role="status" className="sr-only">
        {isOpen ? `${choices.length} to choose from` : ""}
      </div>
    </form>
  );
}

/** A method that is dropped is inserted as Enter would insert it. */
function useDrop(
  frame: React.RefObject<HTMLFormElement | null>,
  take: React.RefObject<(snippet: Snippet) => void>,
): void {
  useEffect(() => {
    let stop: (() => void) | undefined;
    let isGone = false;
    void import("@atlaskit/pragmatic-drag-and-drop/element/adapter").then(({ dropTargetForElements }) => {
      if (isGone || !frame.current) return;
      stop = dropTargetForElements({
        element: frame.current,
        canDrop: ({ source }) => source.data.type === "method",
        onDrop: ({ source: { data } }) => take.current(callSnippet(String(data.server), String(data.method))),
      });
    });
    return () => {
      isGone = true;
      stop?.();
    };
  }, [frame, take]);
}
