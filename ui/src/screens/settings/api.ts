/** What is asked and changed of a workspace's files. */

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { get, post, remove } from "@/api/http";
import { upsert } from "@/api/patch";
import type { WorkspaceFile } from "@/api/types.gen";

const pathOf = (workspaceId: string) => `/api/workspaces/${workspaceId}/files`;

export const filesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["files", workspaceId],
    queryFn: ({ signal }) => get<WorkspaceFile[]>(pathOf(workspaceId), signal),
  });

export function useAddFile(workspaceId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (file: { name: string; text: string; mime_type?: string }) =>
      post<WorkspaceFile>(pathOf(workspaceId), file),
    onSuccess: (row) =>
      client.setQueryData(
        filesQuery(workspaceId).queryKey,
        (list) => list && upsert(list, row, (it) => it.name),
      ),
  });
}

export function useRemoveFile(workspaceId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => remove(`${pathOf(workspaceId)}/${id}`),
    onSuccess: (_, id) =>
      client.setQueryData(filesQuery(workspaceId).queryKey, (list) => list?.filter((it) => it.id !== id)),
  });
}
