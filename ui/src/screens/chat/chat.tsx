/** Chat: threads beside what is said in one of them. A new one and an old one are the same page. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { MessageSquare } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { asProblem } from "@/api/http";
import { registryQuery } from "@/api/queries";
import type { Problem } from "@/api/types";
import type { Picture } from "@/api/types.gen";
import { useWide } from "@/app/wide";
import { NO_THREAD } from "@/lib/chat-thread";
import { NO_OVERRIDES } from "@/lib/chat-tools";
import { budWord, type Line, readLine } from "@/lib/slash";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { useTitle } from "@/parts/use-title";
import { Button } from "@/ui/button";
import { Dialog, DialogContent } from "@/ui/dialog";
import { budsQuery, modelsQuery } from "../bud/api";
import { chatQuery, chatToolsQuery, useChangeChat } from "./api";
import { CallForm } from "./call-form";
import { ChatRail } from "./chat-rail";
import { Composer } from "./composer";
import { NoModel } from "./no-model";
import { type Chosen, SetupRow } from "./setup";
import { ThreadView } from "./thread";
import { ThreadList } from "./thread-list";
import { ToolsSheet } from "./tools-sheet";
import { follow, NEW, send, stop } from "./turn";

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

const NOTHING: Chosen = { bud: null, model: null, overrides: NO_OVERRIDES };

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

/** Who answers and with what: kept here until there is a chat, then in it. */
function useSetup(
  id: string | undefined,
  chat:
    | { bud_id: string | null; model: string | null; mcp_config_overrides: Chosen["overrides"] }
    | undefined,
) {
  const client = useQueryClient();
  const [own, setOwn] = useState<Chosen>(NOTHING);
  const [isCounting, setCounting] = useState(false);
  const save = useChangeChat(id ?? NEW);
  const { data: buds } = useQuery(budsQuery);
  const stored = chat && { bud: chat.bud_id, model: chat.model, overrides: chat.mcp_config_overrides };
  const chosen = stored ?? own;
  const change = (next: Partial<Chosen>) => {
    if (!stored) {
      setOwn({ ...own, ...next });
      return;
    }
    save.mutate(
      {
        ...(next.bud === undefined ? {} : { bud_id: next.bud }),
        ...(next.model === undefined ? {} : { model: next.model }),
        ...(next.overrides === undefined ? {} : { mcp_config_overrides: next.overrides }),
      },
      // What the hub had counted is no longer so; from here on the page counts.
      {
        onSuccess: () => {
          setCounting(true);
          client.removeQueries({ queryKey: chatToolsQuery(id ?? NEW).queryKey });
        },
      },
    );
  };
  const made = {
    ...(own.bud === null ? {} : { bud_id: own.bud }),
    ...(own.model === null ? {} : { model: own.model }),
    ...(own.overrides === NO_OVERRIDES ? {} : { mcp_config_overrides: own.overrides }),
  };
  return {
    chosen,
    change,
    made,
    counted: isCounting ? undefined : id,
    bud: buds?.find((it) => it.id === chosen.bud)?.mcp_config,
    problem: save.error ? asProblem(save.error) : undefined,
  };
}

/** Nothing was said yet: what could be, from one's own tools. */
function Beginning({ onText }: { onText: (text: string) => void }) {
  const { data: models } = useQuery(modelsQuery);
  const { data: entries } = useQuery(registryQuery);
  const usable = (entries ?? []).filter((it) => it.reason === null && it.tools > 0);
  const starters = usable.slice(0, 4).map((it) => {
    const slug = it.instance?.slug ?? it.name;
    return it.kind === "bud"
      ? { key: it.id, words: `Ask ${it.name}`, text: `${budWord(it.name)} ` }
      : { key: it.id, words: `Call a tool of ${it.name}`, text: `/call ${slug}.` };
  });
  return (
    <div className="thin-scroll min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex min-h-full w-full max-w-[50rem] flex-col justify-end gap-4 px-3 py-6 md:px-6">
        {models?.providers.length === 0 && <NoModel />}
        <p className="text-muted">Ask something, or call a tool.</p>
        {starters.length > 0 && (
          <ul className="grid gap-2 sm:grid-cols-2">
            {starters.map((it) => (
              <li key={it.key}>
                <Button className="w-full justify-start! overflow-hidden" onClick={() => onText(it.text)}>
                  <Foreign text={it.words} plain className="truncate" />
                </Button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
