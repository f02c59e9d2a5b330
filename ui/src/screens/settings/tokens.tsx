/** Tokens of the person: made, shown once, granted, revoked. */

import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { useAddToken, useRevokeToken } from "@/api/mutations";
import { instancesQuery, tokensQuery } from "@/api/queries";
import type { NewToken, Token } from "@/api/types";
import { useNow } from "@/app/now";
import { ago } from "@/lib/format";
import { Confirm } from "@/parts/confirm";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { SnippetView } from "@/parts/snippet";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Checkbox, Input, Select } from "@/ui/input";

export function Tokens() {
  const tokens = useQuery({ ...tokensQuery, retry: false });
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState<NewToken>();
  return (
    <Card
      id="tokens"
      title="Tokens"
      actions={
        <Button size="sm" onClick={() => setAdding(true)} disabled={isAdding}>
          New token
        </Button>
      }
    >
      {made && (
        <div className="space-y-2 border-b bg-accent-soft p-4">
          <p>
            This is the token <Foreign text={made.name} plain className="font-medium" />. It is shown only
            now.
          </p>
          <SnippetView text={made.token} label="the token" secret={made.token} />
        </div>
      )}
      {isAdding && (
        <NewTokenForm
          onMade={(token) => {
            setMade(token);
            setAdding(false);
          }}
          onCancel={() => setAdding(false)}
        />
      )}
      {tokens.isPending && <SkeletonRows rows={2} />}
      {tokens.isError && <ProblemView problem={asProblem(tokens.error)} className="m-4" />}
      {tokens.data?.length === 0 && !isAdding && (
        <p className="p-4 text-muted">No tokens. Clients that cannot sign in by themselves need one.</p>
      )}
      <ul>
        {tokens.data?.map((it) => (
          <TokenRow key={it.id} token={it} />
        ))}
      </ul>
    </Card>
  );
}

function TokenRow({ token }: { token: Token }) {
  const now = useNow();
  const revoke = useRevokeToken();
  const [isAsking, setAsking] = useState(false);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2.5 last:border-b-0">
      <div className="min-w-0 flex-1 basis-48">
        <p className="flex flex-wrap items-center gap-1.5">
          <Foreign text={token.name} plain className="font-medium" />
          <Badge>{token.names_profile}</Badge>
          {token.grants === null ? (
            <Badge>everything</Badge>
          ) : (
            token.grants.map((it) => <Badge key={it.instance_id}>{it.slug}</Badge>)
          )}
        </p>
        <p className="text-muted">
          {token.last_used_at ? `Used ${ago(token.last_used_at, now)}` : "Never used"}
        </p>
      </div>
      <Button size="sm" variant="danger" onClick={() => setAsking(true)}>
        Revoke
      </Button>
      <Confirm
        open={isAsking}
        onOpenChange={setAsking}
        question={`Revoke ${token.name}?`}
        effect={token.last_used_at ? "Clients that use it stop working." : "No client has used it."}
        verb="Revoke"
        busy={revoke.isPending}
        problem={revoke.error ? asProblem(revoke.error) : undefined}
        onConfirm={() => revoke.mutate(token.id, { onSuccess: () => setAsking(false) })}
      />
    </li>
  );
}

function NewTokenForm({ onMade, onCancel }: { onMade: (token: NewToken) => void; onCancel: () => void }) {
  const add = useAddToken();
  const { data: instances } = useQuery(instancesQuery);
  const [name, setName] = useState("");
  const [profile, setProfile] = useState("double");
  const [isLimited, setLimited] = useState(false);
  const [granted, setGranted] = useState<string[]>([]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate(
      { name, names_profile: profile, ...(isLimited ? { grants: granted } : {}) },
      { onSuccess: onMade },
    );
  };
  return (
    <form onSubmit={submit} className="space-y-4 border-b p-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <FormField label="Name">
          {(props) => (
            <Input
              {...props}
              autoFocus
              maxLength={100}
              placeholder="Cursor on my laptop"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </FormField>
        <FormField label="Tool names">
          {(props) => (
            <Select
              {...props}
              className="w-full"
              value={profile}
              onChange={(event) => setProfile(event.target.value)}
            >
              <option value="double">mcp__slug__tool</option>
              <option value="single">mcp_slug__tool</option>
            </Select>
          )}
        </FormField>
      </div>
      <fieldset className="space-y-1">
        <legend className="font-medium">May use</legend>
        <Checkbox checked={isLimited} onChange={(event) => setLimited(event.target.checked)}>
          Only some instances
        </Checkbox>
        {isLimited && (
          <div className="thin-scroll max-h-48 overflow-y-auto pl-6">
            {instances?.map((it) => (
              <Checkbox
                key={it.id}
                checked={granted.includes(it.id)}
                onChange={(event) =>
                  setGranted(
                    event.target.checked ? [...granted, it.id] : granted.filter((id) => id !== it.id),
                  )
                }
              >
                <Foreign text={it.slug} plain className="font-mono text-sm" />
              </Checkbox>
            ))}
          </div>
        )}
      </fieldset>
      {add.error && <ProblemView problem={asProblem(add.error)} />}
      <div className="flex gap-2">
        <Button type="submit" variant="primary" disabled={name.trim() === "" || add.isPending}>
          Make token
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
