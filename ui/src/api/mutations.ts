/** Everything the page changes. Each sends one request and puts its answer into the cache; nothing is asked again. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { sseEvents } from "@/lib/sse";
import { ask, patch, post, Refused, remove } from "./http";
import { dropInstance, dropServer, putInstance, putServer, upsert } from "./patch";
import {
  authConfigsQuery,
  browsersQuery,
  clientsQuery,
  instancesQuery,
  membersQuery,
  peopleQuery,
  serversQuery,
  tokensQuery,
  workspacesQuery,
} from "./queries";
import type {
  AuthConfig,
  AuthEntry,
  Diagnosis,
  Imported,
  ImportStep,
  Instance,
  Invite,
  Invited,
  Member,
  NewToken,
  Permission,
  PersonRow,
  Preview,
  Problem,
  Role,
  Server,
  Step,
  WholeInstance,
  Workspace,
} from "./types";

const instancePath = (id: string) => `/api/mcp/instances/${encodeURIComponent(id)}`;

export type InstanceChange = {
  enabled?: boolean;
  slug?: string;
  name?: string;
  description?: string;
  credentials?: Record<string, string>;
};

export function useChangeInstance(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: InstanceChange) => patch<WholeInstance>(instancePath(id), change),
    onSuccess: (whole) => putInstance(client, whole),
  });
}

/** On or off. What keeps an instance off may be its server: then that is turned on, and the instance follows. */
export function useTurn(instance: Instance) {
  const client = useQueryClient();
  const isHeldOff = instance.enabled && instance.health.state === "disabled";
  return useMutation<unknown, Error, boolean>({
    // Whoever changes their mind at once gets both, one after the other.
    scope: { id: `turn ${instance.id}` },
    mutationFn: async (enabled) => {
      if (enabled && isHeldOff) {
        putServer(client, await patch<Server>(`/api/mcp/servers/${instance.server_id}`, { enabled }));
      } else putInstance(client, await patch<WholeInstance>(instancePath(instance.id), { enabled }));
    },
  });
}

export function useSwitchTool(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ tool, ...change }: { tool: string; enabled?: boolean; permission?: Permission }) =>
      patch<WholeInstance>(`${instancePath(id)}/tools/${encodeURIComponent(tool)}`, change),
    onSuccess: (whole) => putInstance(client, whole),
  });
}

export function useRefresh(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => post<WholeInstance>(`${instancePath(id)}/refresh`),
    onSuccess: (whole) => putInstance(client, whole),
  });
}

export function useDoctor(id: string) {
  return useMutation({ mutationFn: () => post<Diagnosis>(`${instancePath(id)}/doctor`) });
}

/** A server that somebody pasted for themselves goes with its last instance; a shared one stays for others. */
export function useRemoveInstance({ id, server_id }: Instance) {
  const client = useQueryClient();
  const isLast = () => {
    const server = client.getQueryData(serversQuery.queryKey)?.find((it) => it.id === server_id);
    const instances = client.getQueryData(instancesQuery.queryKey) ?? [];
    return server?.origin === "paste" && instances.every((it) => it.id === id || it.server_id !== server_id);
  };
  return useMutation({
    mutationFn: async () => {
      const withServer = isLast();
      await remove(withServer ? `/api/mcp/servers/${server_id}` : instancePath(id));
      dropInstance(client, id);
      if (withServer) dropServer(client, server_id);
    },
  });
}

/** Leaves for the provider in this window; its way back is `/ui/mcp`. */
export function useConnect(id: string) {
  return useMutation({
    mutationFn: () => post<{ url: string }>(`${instancePath(id)}/connect`),
    onSuccess: ({ url }) => location.assign(url),
  });
}

export type NewInstance = {
  server_id: string;
  slug?: string;
  name?: string;
  credentials?: Record<string, string>;
};

export function useAddInstance() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewInstance) => post<WholeInstance>("/api/mcp/instances", body),
    onSuccess: (whole) => putInstance(client, whole),
  });
}

export type ImportBody = { text: string; save_anyway?: boolean; replace?: boolean };

/** Steps of the doctor, by server, while an import runs. */
export type OnStep = (server: string, step: Step) => void;

export function useImport(onStep: OnStep) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ImportBody) => importServers(body, onStep),
    onSuccess: ({ added }) => {
      for (const { instance } of added) if (instance) putInstance(client, instance);
    },
  });
}

/** The hub may answer at once, or tell every step and then the end. */
async function importServers(body: ImportBody, onStep: OnStep): Promise<Imported> {
  const response = await ask("POST", "/api/mcp/import", body, "application/json, text/event-stream");
  if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) {
    return (await response.json()) as Imported;
  }
  for await (const { event, data } of sseEvents(response.body)) {
    if (event === "step") {
      const { server, step } = JSON.parse(data) as ImportStep;
      onStep(server, step);
    } else if (event === "done") return JSON.parse(data) as Imported;
    else if (event === "error") throw new Refused(JSON.parse(data) as Problem);
  }
  throw new Error("the hub went away before the import ended");
}

export type NewServer = { workspaceId: string; name: string; endpoint: string; description?: string };
export type ServerChange = {
  enabled?: boolean;
  name?: string;
  description?: string;
  endpoint?: string;
  protocol?: string;
  era?: string;
};

export function useAddServer() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewServer) => post<Server>("/api/mcp/servers", body),
    onSuccess: (server) => putServer(client, server),
  });
}

export function useChangeServer(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: ServerChange) => patch<Server>(`/api/mcp/servers/${id}`, change),
    onSuccess: (server) => putServer(client, server),
  });
}

/** What an edit would lead to, without saving it. */
export function useDryRun(id: string) {
  return useMutation({
    mutationFn: (change: ServerChange) => post<Preview>(`/api/mcp/servers/${id}/preview`, change),
  });
}

export function useRemoveServer(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => remove(`/api/mcp/servers/${id}`),
    onSuccess: () => dropServer(client, id),
  });
}

export type NewAuthConfig = {
  type: "public" | "header" | "oauth";
  name: string;
  entries?: AuthEntry[];
  scopes?: string;
  client_id?: string;
  client_secret?: string;
};

export function useAddAuthConfig(serverId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewAuthConfig) => post<AuthConfig>(`/api/mcp/servers/${serverId}/auth-configs`, body),
    onSuccess: (config) =>
      client.setQueryData(authConfigsQuery(serverId).queryKey, (list) =>
        upsert(list ?? [], config, (it) => it.name),
      ),
  });
}

export function useRemoveAuthConfig(serverId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => remove(`/api/mcp/servers/${serverId}/auth-configs/${id}`),
    onSuccess: (_, id) =>
      client.setQueryData(authConfigsQuery(serverId).queryKey, (list) => list?.filter((it) => it.id !== id)),
  });
}

export function useAddToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string; names_profile?: string; grants?: string[] }) =>
      post<NewToken>("/api/tokens", body),
    onSuccess: ({ token: _, ...row }) =>
      client.setQueryData(tokensQuery.queryKey, (list) => list && upsert(list, row, (it) => it.name)),
  });
}

export function useRevokeToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => remove(`/api/tokens/${id}`),
    onSuccess: (_, id) =>
      client.setQueryData(tokensQuery.queryKey, (list) => list?.filter((it) => it.id !== id)),
  });
}

export function useInvite() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { email: string; name?: string; role: Role }) => post<Invited>("/api/people", body),
    onSuccess: ({ invite: _, ...row }) =>
      client.setQueryData(peopleQuery.queryKey, (list) => list && upsert(list, row, (it) => it.name)),
  });
}

export function useInviteAgain(id: string) {
  return useMutation({ mutationFn: () => post<Invite>(`/api/people/${id}/invite`) });
}

export function useChangePerson(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: { role?: Role; name?: string }) => patch<PersonRow>(`/api/people/${id}`, change),
    onSuccess: (row) =>
      client.setQueryData(peopleQuery.queryKey, (list) => list && upsert(list, row, (it) => it.name)),
  });
}

export function useRemovePerson(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => remove(`/api/people/${id}`),
    onSuccess: () => client.setQueryData(peopleQuery.queryKey, (list) => list?.filter((it) => it.id !== id)),
  });
}

export type WorkspaceChange = Partial<
  Pick<Workspace, "name" | "phase" | "allowlist" | "allowed_transports" | "pins">
>;

export function useChangeWorkspace(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: WorkspaceChange) => patch<Workspace>(`/api/workspaces/${id}`, change),
    onSuccess: (row) =>
      client.setQueryData(workspacesQuery.queryKey, (list) => list && upsert(list, row, (it) => it.name)),
  });
}

export function useAddWorkspace() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string }) => post<Workspace>("/api/workspaces", body),
    onSuccess: (row) =>
      client.setQueryData(workspacesQuery.queryKey, (list) => list && upsert(list, row, (it) => it.name)),
  });
}

export function usePutMember(workspaceId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { email?: string; person_id?: string; role?: Role }) =>
      post<Member[]>(`/api/workspaces/${workspaceId}/members`, body),
    onSuccess: (list) => client.setQueryData(membersQuery(workspaceId).queryKey, list),
  });
}

export function useRemoveMember(workspaceId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (personId: string) => remove(`/api/workspaces/${workspaceId}/members/${personId}`),
    onSuccess: (_, personId) =>
      client.setQueryData(membersQuery(workspaceId).queryKey, (list) =>
        list?.filter((it) => it.person_id !== personId),
      ),
  });
}

export function useEndBrowser() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => remove(`/api/sessions/${id}`),
    onSuccess: (_, id) =>
      client.setQueryData(browsersQuery.queryKey, (list) => list?.filter((it) => it.id !== id)),
  });
}

export function useDisconnectClient() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => remove(`/api/oauth/clients/${id}`),
    onSuccess: (_, id) =>
      client.setQueryData(clientsQuery.queryKey, (list) => list?.filter((it) => it.id !== id)),
  });
}

export function useChangePassword() {
  return useMutation({
    mutationFn: (body: { current: string; new: string }) => post<void>("/api/password", body),
  });
}
