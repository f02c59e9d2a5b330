/** Workspaces and who is in them. */

import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { useAddWorkspace, usePutMember, useRemoveMember } from "@/api/mutations";
import { membersQuery, workspacesQuery } from "@/api/queries";
import type { Role, Workspace } from "@/api/types";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Input, Select } from "@/ui/input";

export function Workspaces() {
  const workspaces = useQuery(workspacesQuery);
  return (
    <div className="space-y-4">
      {workspaces.isPending && <SkeletonRows rows={3} />}
      {workspaces.isError && <ProblemView problem={asProblem(workspaces.error)} />}
      {workspaces.data?.map((it) => (
        <WorkspaceMembers key={it.id} workspace={it} />
      ))}
      <NewWorkspace />
    </div>
  );
}

function NewWorkspace() {
  const add = useAddWorkspace();
  const [name, setName] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate({ name }, { onSuccess: () => setName("") });
  };
  return (
    <form onSubmit={submit} className="space-y-2">
      <div className="flex max-w-md items-end gap-2">
        <div className="flex-1">
          <FormField label="New workspace">
            {(props) => (
              <Input
                {...props}
                maxLength={100}
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </FormField>
        </div>
        <Button type="submit" disabled={name.trim() === "" || add.isPending}>
          Add
        </Button>
      </div>
      {add.error && <ProblemView problem={asProblem(add.error)} />}
    </form>
  );
}

function WorkspaceMembers({ workspace }: { workspace: Workspace }) {
  const members = useQuery(membersQuery(workspace.id));
  const put = usePutMember(workspace.id);
  const remove = useRemoveMember(workspace.id);
  const [email, setEmail] = useState("");
  const problem = put.error ?? remove.error;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    put.mutate({ email, role: "member" }, { onSuccess: () => setEmail("") });
  };
  return (
    <Card title={<Foreign text={workspace.name} plain />}>
      {members.isPending && <SkeletonRows rows={2} />}
      {members.isError && <ProblemView problem={asProblem(members.error)} className="m-4" />}
      <ul>
        {members.data?.map((it) => (
          <li key={it.person_id} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2">
            <span className="min-w-0 flex-1 basis-40">
              <Foreign text={it.name} plain className="font-medium" />{" "}
              <Foreign text={it.email ?? ""} plain className="text-muted" />
            </span>
            <Select
              aria-label={`Role of ${it.name} in ${workspace.name}`}
              value={it.role === "admin" ? "workspace-admin" : it.role}
              onChange={(event) => put.mutate({ person_id: it.person_id, role: event.target.value as Role })}
            >
              <option value="member">Member</option>
              <option value="workspace-admin">Workspace admin</option>
            </Select>
            <Button
              variant="ghost"
              size="icon-sm"
              aria-label={`Take ${it.name} out of ${workspace.name}`}
              onClick={() => remove.mutate(it.person_id)}
            >
              <X />
            </Button>
          </li>
        ))}
      </ul>
      <form onSubmit={submit} className="flex flex-wrap items-center gap-2 p-4">
        <Input
          type="email"
          aria-label={`Email of a new member of ${workspace.name}`}
          placeholder="Email of somebody here"
          className="min-w-40 max-w-64 flex-1"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <Button type="submit" size="sm" disabled={email === "" || put.isPending}>
          Add member
        </Button>
      </form>
      {problem && <ProblemView problem={asProblem(problem)} className="mx-4 mb-4" />}
    </Card>
  );
}
