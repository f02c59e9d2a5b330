/** Who answers and with what: kept on the page until there is a chat, then in it. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "@/api/http";
import type { Chat } from "@/api/types.gen";
import { NO_OVERRIDES } from "@/lib/chat-tools";
import { budsQuery } from "../bud/api";
import { chatsQuery, chatToolsQuery, useChangeChat } from "./api";
import type { Chosen } from "./setup";
import { NEW } from "./turn";

/** Until somebody chooses, a new chat is answered by the model of the last one. */
const NOTHING = { bud: null, model: undefined, overrides: NO_OVERRIDES };
type Own = Omit<Chosen, "model"> & { model: string | null | undefined };

export function useSetup(id: string | undefined, chat: Chat | undefined) {
  const client = useQueryClient();
  const [own, setOwn] = useState<Own>(NOTHING);
  const [isCounting, setCounting] = useState(false);
  const save = useChangeChat(id ?? NEW);
  const { data: buds } = useQuery(budsQuery);
  const { data: chats } = useQuery(chatsQuery);
  const last = own.bud === null ? chats?.find((it) => it.model !== null)?.model : null;
  const model = own.model === undefined ? (last ?? null) : own.model;
  const stored = chat && { bud: chat.bud_id, model: chat.model, overrides: chat.mcp_config_overrides };
  const chosen = stored ?? { ...own, model };
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
    ...(model === null ? {} : { model }),
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
