/** Every question the page asks, with the key its answer is kept under. */

import { infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";
import { get, Refused } from "./http";
import type {
  AdminLogRow,
  AuthConfig,
  Browser,
  CallDetail,
  CallRecord,
  CallStats,
  ConnectedClient,
  HubStatus,
  Instance,
  LogLines,
  Member,
  Meta,
  PersonRow,
  Preview,
  RegistryEntry,
  SeenTool,
  Server,
  SignIn,
  Token,
  WholeInstance,
  Workspace,
} from "./types";

const MINUTE = 60_000;

/** The event stream keeps answers fresh, so nothing is asked again just because a window came to the front. */
export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: MINUTE,
        gcTime: 10 * MINUTE,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        retry: (tries, error) => tries < 2 && error instanceof Refused && isPassing(error.problem.status),
        retryDelay: (tries) => 400 * 2 ** tries,
      },
      mutations: { retry: false },
    },
  });
}

const isPassing = (status: number) => status === 0 || status === 503;

export const statusQuery = queryOptions({
  queryKey: ["status"],
  queryFn: ({ signal }) => get<HubStatus>("/api/status", signal),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Part of the hub and without tools: it would only puzzle people. */
export const isHollow = (it: Instance) => it.kind === "builtin" && it.tools === 0;

export const instancesQuery = queryOptions({
  queryKey: ["instances"],
  queryFn: async ({ signal }) =>
    (await get<Instance[]>("/api/mcp/instances", signal)).filter((it) => !isHollow(it)),
});

/** By id or by slug. */
export const instanceQuery = (word: string) =>
  queryOptions({
    queryKey: ["instance", word],
    queryFn: ({ signal }) => get<WholeInstance>(`/api/mcp/instances/${encodeURIComponent(word)}`, signal),
  });

/** The sign-in there is, or null. */
export const signInQuery = (id: string) =>
  queryOptions({
    queryKey: ["sign-in", id],
    queryFn: ({ signal }) => get<SignIn | null>(`/api/mcp/instances/${id}/connect`, signal),
    retry: false,
  });

export const logQuery = (id: string) =>
  queryOptions({
    queryKey: ["instance-log", id],
    queryFn: ({ signal }) => get<LogLines>(`/api/mcp/instances/${id}/log`, signal),
    staleTime: 0,
  });

export const registryQuery = queryOptions({
  queryKey: ["registry"],
  queryFn: ({ signal }) => get<RegistryEntry[]>("/api/mcp/registry", signal),
  staleTime: MINUTE,
});

/** Methods and signatures of one server, fetched on hover and read by the sidebar and the palettes. */
export const metaQuery = (serverId: string) =>
  queryOptions({
    queryKey: ["registry", serverId, "meta"],
    queryFn: ({ signal }) => get<Meta>(`/api/mcp/meta/${serverId}`, signal),
    staleTime: MINUTE,
  });

export const serversQuery = queryOptions({
  queryKey: ["servers"],
  queryFn: ({ signal }) => get<Server[]>("/api/mcp/servers", signal),
});

export const previewQuery = (serverId: string) =>
  queryOptions({
    queryKey: ["server-preview", serverId],
    queryFn: ({ signal }) => get<Preview>(`/api/mcp/servers/${serverId}/preview`, signal),
    staleTime: 0,
    retry: false,
  });

export const authConfigsQuery = (serverId: string) =>
  queryOptions({
    queryKey: ["auth-configs", serverId],
    queryFn: ({ signal }) => get<AuthConfig[]>(`/api/mcp/servers/${serverId}/auth-configs`, signal),
  });

export const CALLS_PAGE = 500;

/** What the hub filters by itself; the rest of a filter line is applied on the page. */
export type CallsWanted = Partial<
  Record<"tool" | "outcome" | "instance" | "door" | "min_ms" | "since" | "until", string>
>;

export const callsQuery = (wanted: CallsWanted = {}) =>
  infiniteQueryOptions({
    queryKey: ["calls", wanted],
    queryFn: ({ signal, pageParam }) => {
      const query = new URLSearchParams({ limit: String(CALLS_PAGE), ...wanted });
      if (pageParam) query.set("before", pageParam);
      return get<CallRecord[]>(`/api/calls?${query}`, signal);
    },
    initialPageParam: "",
    getNextPageParam: (page) => (page.length < CALLS_PAGE ? undefined : page.at(-1)?.id),
  });

export const callQuery = (id: string) =>
  queryOptions({
    queryKey: ["call", id],
    queryFn: ({ signal }) => get<CallDetail>(`/api/calls/${encodeURIComponent(id)}`, signal),
  });

/** The last day in hours. */
export const statsQuery = (wanted: CallsWanted = {}) =>
  queryOptions({
    queryKey: ["call-stats", wanted],
    queryFn: ({ signal }) =>
      get<CallStats>(`/api/calls/stats?${new URLSearchParams({ slots: "48", ...wanted })}`, signal),
    retry: false,
  });

export const workspacesQuery = queryOptions({
  queryKey: ["workspaces"],
  queryFn: ({ signal }) => get<Workspace[]>("/api/workspaces", signal),
});

export const peopleQuery = queryOptions({
  queryKey: ["people"],
  queryFn: ({ signal }) => get<PersonRow[]>("/api/people", signal),
});

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => get<Token[]>("/api/tokens", signal),
});

export const adminLogQuery = queryOptions({
  queryKey: ["admin-log"],
  queryFn: ({ signal }) => get<AdminLogRow[]>("/api/admin/log", signal),
});

export const membersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["members", workspaceId],
    queryFn: ({ signal }) => get<Member[]>(`/api/workspaces/${workspaceId}/members`, signal),
  });

export const browsersQuery = queryOptions({
  queryKey: ["browsers"],
  queryFn: ({ signal }) => get<Browser[]>("/api/sessions", signal),
  retry: false,
});

export const clientsQuery = queryOptions({
  queryKey: ["clients"],
  queryFn: ({ signal }) => get<ConnectedClient[]>("/api/oauth/clients", signal),
});

/** The whole catalogue as somebody sees it, with what they do not see and why: `role:<role>`, a person, or
 * `<person>/<token>`. */
export const seenByQuery = (who: string) => {
  const [person, token] = who.split("/");
  const path = who.startsWith("role:") ? `roles/${who.slice(5)}` : `people/${person}`;
  return queryOptions({
    queryKey: ["seen-by", who],
    queryFn: ({ signal }) => get<SeenTool[]>(`/api/${path}/catalog${token ? `?token=${token}` : ""}`, signal),
    retry: false,
  });
};

export const tokensOfQuery = (personId: string) =>
  queryOptions({
    queryKey: ["tokens", personId],
    queryFn: ({ signal }) => get<Token[]>(`/api/people/${personId}/tokens`, signal),
  });
