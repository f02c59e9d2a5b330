/** The chats there are, last used first. */

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Ellipsis, LoaderCircle, Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import type { Chat } from "@/api/types.gen";
import { useNow } from "@/app/now";
import { ago } from "@/lib/format";
import { Confirm } from "@/parts/confirm";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";
import { Menu, MenuContent, MenuItem, MenuTrigger } from "@/ui/menu";
import { chatsQuery, useChangeChat, useRemoveChat } from "./api";

export function ThreadList({ current, onGo }: { current: string | undefined; onGo?: () => void }) {
  const chats = useQuery(chatsQuery);
  const now = useNow();
  const go = onGo ? { onClick: onGo } : {};
  return (
    <nav aria-label="Chats" className="flex h-full min-h-0 flex-col">
      <div className="flex gap-2 p-2">
        <Button asChild className="flex-1" {...go}>
          <Link to="/chat">
            <Plus />
            New chat
          </Link>
        </Button>
        <Button asChild variant="ghost">
          <Link to="/plans/$id" params={{ id: "new" }}>
            New plan
          </Link>
        </Button>
      </div>
      {chats.isPending && <SkeletonRows rows={6} />}
      {chats.isError && (
        <ProblemView problem={asProblem(chats.error)} className="m-2">
          <Button size="sm" onClick={() => chats.refetch()}>
            Try again
          </Button>
        </ProblemView>
      )}
      {chats.data?.length === 0 && <Empty sentence="No chats yet" />}
      <ul className="thin-scroll min-h-0 flex-1 overflow-y-auto px-2 pb-4">
        {chats.data?.map((it) => (
          <li key={it.id}>
            <ChatRow
              chat={it}
              isCurrent={it.id === current}
              age={ago(it.updated_at, now)}
              {...(onGo ? { onGo } : {})}
            />
          </li>
        ))}
      </ul>
    </nav>
  );
}

type RowProps = { chat: Chat; isCurrent: boolean; age: string; onGo?: () => void };

function ChatRow({ chat, isCurrent, age, onGo }: RowProps) {
  const [mode, setMode] = useState<"" | "rename" | "remove">("");
  const navigate = useNavigate();
  const remove = useRemoveChat(chat.id);
  const title = chat.title || "Untitled";
  if (mode === "rename") return <Rename chat={chat} onDone={() => setMode("")} />;
  return (
    <div className="group flex items-center rounded-md hover:bg-hover has-aria-[current=page]:bg-accent-soft">
      <Link
        to="/chat/$id"
        params={{ id: chat.id }}
        aria-current={isCurrent ? "page" : undefined}
        onClick={onGo}
        className="flex min-h-8 min-w-0 flex-1 items-center gap-2 rounded-md py-1 pl-2"
      >
        <Foreign text={title} plain className="min-w-0 flex-1 truncate" />
        {chat.running ? (
          <LoaderCircle
            role="img"
            aria-label="Answering"
            className="size-3.5 shrink-0 animate-spin text-info"
          />
        ) : (
          <span className="shrink-0 text-muted text-xs">{age}</span>
        )}
      </Link>
      <Menu>
        <MenuTrigger asChild>
          <Button variant="ghost" size="icon-sm" aria-label={`More for ${title}`}>
            <Ellipsis />
          </Button>
        </MenuTrigger>
        <MenuContent>
          <MenuItem onSelect={() => setMode("rename")}>Rename</MenuItem>
          <MenuItem onSelect={() => setMode("remove")} className="text-bad">
            Remove
          </MenuItem>
        </MenuContent>
      </Menu>
      <Confirm
        open={mode === "remove"}
        onOpenChange={(open) => !open && setMode("")}
        question={`Remove chat "${title}"?`}
        effect="Everything said in it is deleted."
        verb="Remove"
        busy={remove.isPending}
        problem={remove.error ? asProblem(remove.error) : undefined}
        onConfirm={() =>
          remove.mutate(undefined, {
            onSuccess: () => {
              setMode("");
              if (isCurrent) void navigate({ to: "/chat" });
            },
          })
        }
      />
    </div>
  );
}

function Rename({ chat, onDone }: { chat: Chat; onDone: () => void }) {
  const [title, setTitle] = useState(chat.title);
  const change = useChangeChat(chat.id);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ title }, { onSuccess: onDone });
  };
  return (
    <form onSubmit={submit} className="space-y-1 py-1">
      <Input
        autoFocus
        aria-label="Name of the chat"
        maxLength={200}
        value={title}
        onChange={(event) => setTitle(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onDone()}
        onBlur={() => !change.isPending && onDone()}
      />
      {change.error && <p className="text-bad">{asProblem(change.error).detail}</p>}
    </form>
  );
}
