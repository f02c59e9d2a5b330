/** The people of this hub, their roles, and invitations. */

import { useQuery } from "@tanstack/react-query";
import { Ellipsis, Plus } from "lucide-react";
import { useState } from "react";
import { asProblem } from "@/api/http";
import { useChangePerson, useInviteAgain, useRemovePerson } from "@/api/mutations";
import { peopleQuery } from "@/api/queries";
import type { PersonRow, Role } from "@/api/types";
import { useNow } from "@/app/now";
import { cn } from "@/lib/class";
import { ago } from "@/lib/format";
import { ROLES } from "@/lib/roles";
import { Confirm } from "@/parts/confirm";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Select } from "@/ui/input";
import { Menu, MenuContent, MenuItem, MenuTrigger } from "@/ui/menu";
import { InviteDialog, InviteLink } from "./invite";

const SIGN_IN: Record<PersonRow["sign_in"], string> = {
  password: "Password",
  oidc: "Provider",
  local: "Key of this machine",
  invited: "Invited",
};

export function PeopleList({ isSolo, selected }: { isSolo: boolean; selected: string | undefined }) {
  const people = useQuery(peopleQuery);
  const [isInviting, setInviting] = useState(false);
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center justify-end gap-3">
        {isSolo && (
          <p className="min-w-0 flex-1 basis-60 text-muted">
            Only you. Set <code>mode = "team"</code> in <code>toolgrove.toml</code> to invite others.
          </p>
        )}
        <Button variant="primary" disabled={isSolo} onClick={() => setInviting(true)}>
          <Plus />
          Invite
        </Button>
      </div>
      {people.isError && <ProblemView problem={asProblem(people.error)} />}
      <div className="@container overflow-hidden rounded-lg border bg-surface">
        {people.isPending && <SkeletonRows rows={3} />}
        {people.data && (
          <table className="w-full table-fixed border-collapse text-left">
            <caption className="sr-only">People</caption>
            <thead className="border-b bg-sunken text-muted text-sm">
              <tr>
                <th className="py-2 pl-4 font-medium">Name</th>
                <th className="hidden w-36 py-2 font-medium @2xl:table-cell">Signs in by</th>
                <th className="hidden w-28 py-2 font-medium @xl:table-cell">Last seen</th>
                <th className="hidden w-40 py-2 font-medium @lg:table-cell">Role</th>
                <th className="w-12 py-2">
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {people.data.map((it) => (
                <Row key={it.id} person={it} selected={it.id === selected} isSolo={isSolo} />
              ))}
            </tbody>
          </table>
        )}
      </div>
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
    </div>
  );
}

function Row({ person, selected, isSolo }: { person: PersonRow; selected: boolean; isSolo: boolean }) {
  const now = useNow();
  const change = useChangePerson(person.id);
  const again = useInviteAgain(person.id);
  const remove = useRemovePerson(person.id);
  const [isAsking, setAsking] = useState(false);
  const problem = change.error ?? again.error;
  const role = (
    <Select
      aria-label={`Role of ${person.name}`}
      className="w-full"
      disabled={isSolo || change.isPending}
      value={change.isPending ? (change.variables.role ?? person.role) : person.role}
      onChange={(event) => change.mutate({ role: event.target.value as Role })}
    >
      {ROLES.map((it) => (
        <option key={it.id} value={it.id}>
          {it.name}
        </option>
      ))}
    </Select>
  );
  return (
    <tr className={cn("border-b last:border-b-0", selected && "bg-accent-soft")}>
      <td className="py-2 pr-3 pl-4">
        <Foreign text={person.name} plain className="block font-medium" />
        <Foreign text={person.email ?? ""} plain className="block truncate text-muted" />
        <div className="mt-1 @lg:hidden">{role}</div>
        {problem && <p className="text-bad text-sm">{asProblem(problem).detail}</p>}
        {again.data && <InviteLink name={person.name} invite={again.data} />}
      </td>
      <td className="hidden py-2 pr-3 text-muted @2xl:table-cell">{SIGN_IN[person.sign_in]}</td>
      <td className="hidden py-2 pr-3 text-muted @xl:table-cell">
        {person.last_seen_at ? ago(person.last_seen_at, now) : "never"}
      </td>
      <td className="hidden py-2 pr-3 @lg:table-cell">{role}</td>
      <td className="py-2 pr-3">
        {!isSolo && (
          <Menu>
            <MenuTrigger asChild>
              <Button variant="ghost" size="icon-sm" aria-label={`More for ${person.name}`}>
                <Ellipsis />
              </Button>
            </MenuTrigger>
            <MenuContent>
              {person.sign_in !== "oidc" && (
                <MenuItem onSelect={() => again.mutate()}>New sign-in link</MenuItem>
              )}
              <MenuItem className="text-bad" onSelect={() => setAsking(true)}>
                Remove
              </MenuItem>
            </MenuContent>
          </Menu>
        )}
        <Confirm
          open={isAsking}
          onOpenChange={setAsking}
          question={`Remove ${person.name}?`}
          effect="Their instances, credentials and tokens are deleted, and their clients stop working."
          verb="Remove"
          busy={remove.isPending}
          problem={remove.error ? asProblem(remove.error) : undefined}
          onConfirm={() => remove.mutate(undefined, { onSuccess: () => setAsking(false) })}
        />
      </td>
    </tr>
  );
}
