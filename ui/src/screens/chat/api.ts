/** What the chat asks and changes, turns excepted. */

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { get, patch, remove } from "@/api/http";
import type { Chat, ChatTool, ChatWhole, Overrides } from "@/api/types.gen";
import { type Message, NO_THREAD, type Thread } from "@/lib/chat-thread";
import { forget, isFollowed, putChat, threadKey } from "./turn";

export const chatsQuery = queryOptions({
  queryKey: ["chats"],
  queryFn: ({ signal }) => get<Chat[]>("/api/chats", signal),
});

/** What is stored; while a turn is being heard, what is here is newer. */
export const chatQuery = (id: string) =>
  queryOptions({
    queryKey: threadKey(id),
    queryFn: async ({ client, signal }): Promise<Thread> => {
      const { chat, messages } = await get<ChatWhole>(`/api/chats/${encodeURIComponent(id)}`, signal);
      const now = client.getQueryData<Thread>(threadKey(id));
      if (now && isFollowed(id)) return now;
      return { ...NO_THREAD, chat, messages: messages as Message[] };
    },
  });

export const chatToolsQuery = (id: string) =>
  queryOptions({
    queryKey: ["chat-tools", id],
    queryFn: ({ signal }) => get<ChatTool[]>(`/api/chats/${encodeURIComponent(id)}/tools`, signal),
  });

export type ChatChange = {
  title?: string;
  bud_id?: string | null;
  model?: string | null;
  mcp_config_overrides?: Overrides;
};

export function useChangeChat(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: ChatChange) => patch<Chat>(`/api/chats/${id}`, change),
    onSuccess: (chat) => {
      client.setQueryData<Thread>(threadKey(id), (thread) => thread && { ...thread, chat });
      putChat(client, chat);
    },
  });
}

export function useRemoveChat(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => remove(`/api/chats/${id}`),
    onSuccess: () => forget(client, id),
  });
}
