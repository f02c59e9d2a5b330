/** Chat: threads beside what is said in one of them. A new one and an old one are the same page. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { MessageSquare } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { asProblem } from "@/api/http";
import type { Problem } from "@/api/types";
import type { Picture } from "@/api/types.gen";
import { useWide } from "@/app/wide";
import { NO_THREAD } from "@/lib/chat-thread";
import { type Line, readLine } from "@/lib/slash";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { useTitle } from "@/parts/use-title";
import { Button } from "@/ui/button";
import { Dialog, DialogContent } from "@/ui/dialog";
import { chatQuery } from "./api";
import { Beginning } from "./beginning";
import { CallForm } from "./call-form";
import { ChatRail } from "./chat-rail";
import { Composer } from "./composer";
import { SetupRow } from "./setup";
import { ThreadView } from "./thread";
import { ThreadList } from "./thread-list";
import { ToolsSheet } from "./tools-sheet";
import { follow, NEW, send, stop } from "./turn";
import { useSetup } from "./use-setup";

/** A chat that was begun on this page keeps its place when it gets its id. */
const places = new Map<string, string>();
let begun = 0;

export function ChatScreen() {
  const { id } = useParams({ strict: false });
  const { prompt } = useSearch({ from: "/chat" });
  const isWide = useWide();
  const [isList, setList] = useState(false);
  const place = id === undefined ? `${NEW} ${begun} ${prompt ?? ""}` : (places.get(id) ?? id);
  const menu = !isWide && (
    <Button size="sm" variant="ghost" onClick={() => setList(true)}>
      <MessageSquare />
      Chats
    </Button>
  );
  return (
    <div className="flex h-full min-h-0">
      {isWide && (
        <div className="w-60 shrink-0 border-r">
          <ThreadList current={id} />
        </div>
      )}
      <Conversation key={place} id={id} place={place} prompt={prompt ?? ""} menu={menu} />
      {isList && !isWide && (
        <Dialog open onOpenChange={setList}>
          <DialogContent side="left" title="Chats">
            <ThreadList current={id} onGo={() => setList(false)} />
          </DialogContent>
        </Dialog>
      )}
    </div>
  );
}

type ConversationProps = { id: string | undefined; place: string; prompt: string; menu: ReactNode };

function Conversation({ id: named, place, prompt, menu }: ConversationProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [born, setBorn] = useState<string>();
  const id = named ?? born;
  const query = useQuery({ ...chatQuery(id ?? NEW), enabled: id !== undefined });
  const thread = query.data ?? NO_THREAD;
  const { chat } = thread;
  const [form, setForm] = useState<{ call: Extract<Line, { kind: "call" }>; clear: () => void }>();
  const [isTools, setTools] = useState(false);
  const [isRail, setRail] = useState(false);
  const [stopProblem, setStopProblem] = useState<Problem>();
  const setup = useSetup(id, chat);
  const busy = thread.stream === "open" || (thread.stream === "lost" && chat?.running === true);
  useTitle(chat?.title || "Chat");

  const isRunning = chat?.running === true && thread.stream === "closed";
  useEffect(() => {
    // Somebody came back in the middle of it.
    if (isRunning && id !== undefined) void follow(client, id);
  }, [client, id, isRunning]);

  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  const onBorn = (fresh: string) => {
    // Whoever went elsewhere meanwhile stays there.
    if (!isHere.current) return;
    places.set(fresh, place);
    setBorn(fresh);
    void navigate({ to: "/chat/$id", params: { id: fresh }, replace: true }).then(() => {
      begun++;
    });
  };
  const say = async (text: string, images: Picture[] = [], edit?: string) => {
    // What was said before has to be here first.
    if (query.isLoading) return false;
    setStopProblem(undefined);
    const said = { text, ...(images.length > 0 ? { images } : {}), ...(edit === undefined ? {} : { edit }) };
    const problem = await send(client, {
      id,
      said,
      calls: readLine(text).kind !== "message",
      setup: setup.made,
      onBorn,
    });
    return problem === undefined;
  };
  const halt = () => void stop(id).catch((error) => setStopProblem(asProblem(error)));

  const isEmpty = thread.messages.length === 0 && !query.isLoading;
  const problem = thread.problem ?? stopProblem ?? setup.problem;
  return (
    <>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex h-10 shrink-0 items-center gap-2 border-b px-3">
          {menu}
          <h1 className="min-w-0 flex-1 truncate font-semibold">
            <Foreign text={chat?.title || "New chat"} plain />
          </h1>
          {!isEmpty && (
            <Button size="sm" variant="ghost" aria-expanded={isRail} onClick={() => setRail(!isRail)}>
              Calls
            </Button>
          )}
        </header>
        {query.isLoading && <SkeletonRows rows={4} className="flex-1" />}
        {query.isError && !query.data && (
          <div className="mx-auto w-full max-w-[50rem] flex-1 p-4">
            <ProblemView problem={asProblem(query.error)}>
              <Button size="sm" onClick={() => query.refetch()}>
                Try again
              </Button>
            </ProblemView>
          </div>
        )}
        {isEmpty && !query.isError && (
          <Beginning onText={(text) => void navigate({ to: "/chat", search: { prompt: text } })} />
        )}
        {!isEmpty && !query.isLoading && (
          <ThreadView
            chatId={id ?? NEW}
            thread={thread}
            busy={busy}
            onSay={(text, edit, images) => void say(text, images, edit)}
            onStop={halt}
          />
        )}
        {problem && (
          <div className="mx-auto w-full max-w-[50rem] px-3 pb-2 md:px-6">
            <ProblemView problem={problem} />
          </div>
        )}
        <Composer
          initial={prompt}
          focused={named === undefined}
          busy={busy}
          onSend={say}
          onForm={(call, clear) => setForm({ call, clear })}
          onStop={halt}
          onRun={(command) => (command === "new" ? void navigate({ to: "/chat" }) : setTools(true))}
        >
          <SetupRow
            chatId={setup.counted}
            chosen={setup.chosen}
            problem={setup.problem}
            onChange={setup.change}
            onTools={() => setTools(true)}
          />
        </Composer>
      </div>
      {isRail && <ChatRail thread={thread} onClose={() => setRail(false)} />}
      {form && (
        <CallForm
          call={form.call}
          onClose={() => setForm(undefined)}
          onSend={(line) => {
            form.clear();
            setForm(undefined);
            void say(line);
          }}
        />
      )}
      {isTools && (
        <ToolsSheet
          bud={setup.bud}
          overrides={setup.chosen.overrides}
          problem={setup.problem}
          onChange={(overrides) => setup.change({ overrides })}
          onClose={() => setTools(false)}
        />
      )}
    </>
  );
}
