/** Texts of a workspace, for `file_search` to look in: added, listed, removed. */

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useRef, useState } from "react";
import { asProblem } from "@/api/http";
import { workspacesQuery } from "@/api/queries";
import type { WorkspaceFile } from "@/api/types.gen";
import { useNow } from "@/app/now";
import { ago, plural } from "@/lib/format";
import { Confirm } from "@/parts/confirm";
import { Foreign } from "@/parts/foreign";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Select } from "@/ui/input";
import { filesQuery, useAddFile, useRemoveFile } from "./api";

const MOST_BYTES = 512 * 1024;

export function Files() {
  const { data } = useQuery(workspacesQuery);
  const [chosen, setChosen] = useState<string>();
  const mine = data?.filter((it) => it.role !== null) ?? [];
  const workspace = mine.find((it) => it.id === chosen) ?? mine[0];
  if (!workspace) return null;
  return (
    <WorkspaceFiles key={workspace.id} workspaceId={workspace.id}>
      {mine.length > 1 && (
        <Select
          aria-label="Workspace of the files"
          value={workspace.id}
          onChange={(event) => setChosen(event.target.value)}
        >
          {mine.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </Select>
      )}
    </WorkspaceFiles>
  );
}

function WorkspaceFiles({ workspaceId, children }: { workspaceId: string; children: React.ReactNode }) {
  const files = useQuery({ ...filesQuery(workspaceId), retry: false });
  const add = useAddFile(workspaceId);
  const box = useRef<HTMLInputElement>(null);
  const [refused, setRefused] = useState<string[]>([]);
  const read = async (chosen: File[]) => {
    const wrong: string[] = [];
    for (const file of chosen) {
      const text = await textOf(file);
      if (text === undefined) wrong.push(file.name);
      // One after another; the first that the hub refuses is the last.
      else await add.mutateAsync({ name: file.name, text, ...(file.type ? { mime_type: file.type } : {}) });
    }
    setRefused(wrong);
  };
  return (
    <Card
      id="files"
      title="Files"
      actions={
        <>
          {children}
          <Button size="sm" disabled={add.isPending || !files.data} onClick={() => box.current?.click()}>
            <Plus />
            Add files
          </Button>
          <input
            ref={box}
            type="file"
            multiple
            hidden
            disabled={!files.data}
            aria-label="Files to add"
            onChange={(event) => {
              const chosen = [...(event.target.files ?? [])];
              event.target.value = "";
              setRefused([]);
              read(chosen).catch(() => undefined);
            }}
          />
        </>
      }
    >
      {refused.map((it) => (
        <p key={it} role="alert" className="px-4 pt-3 text-bad">
          <Foreign text={it} plain /> was left out: a file is a text of at most 512 KiB
        </p>
      ))}
      {add.error && <ProblemView problem={asProblem(add.error)} className="m-4" />}
      {files.isPending && <SkeletonRows rows={2} />}
      {files.isError && <ProblemView problem={asProblem(files.error)} className="m-4" />}
      {files.data?.length === 0 && (
        <p className="p-4 text-muted">
          No files. Buds and chats that use the server builtin find passages in what you add here.
        </p>
      )}
      <ul>
        {files.data?.map((it) => (
          <FileRow key={it.id} file={it} workspaceId={workspaceId} />
        ))}
      </ul>
    </Card>
  );
}

/** Nothing, if it is none or too long. */
async function textOf(file: File): Promise<string | undefined> {
  if (file.size > MOST_BYTES) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

function FileRow({ file, workspaceId }: { file: WorkspaceFile; workspaceId: string }) {
  const now = useNow();
  const remove = useRemoveFile(workspaceId);
  const [isAsking, setAsking] = useState(false);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2.5 last:border-b-0">
      <div className="min-w-0 flex-1 basis-48">
        <Foreign text={file.name} plain className="block break-words font-medium" />
        <span className="text-muted">
          {plural(file.chars, "character")} · added {ago(file.created_at, now)}
        </span>
      </div>
      {file.removable && (
        <Button size="sm" variant="danger" aria-label={`Remove ${file.name}`} onClick={() => setAsking(true)}>
          Remove
        </Button>
      )}
      <Confirm
        open={isAsking}
        onOpenChange={setAsking}
        question={`Remove ${file.name}?`}
        effect="It is no longer found in this workspace."
        verb="Remove"
        busy={remove.isPending}
        problem={remove.error ? asProblem(remove.error) : undefined}
        onConfirm={() => remove.mutate(file.id)}
      />
    </li>
  );
}
