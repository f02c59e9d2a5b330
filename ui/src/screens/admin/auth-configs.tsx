/** How people sign in to a server: the admin names what is needed, each person gives the values. */

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { type NewAuthConfig, useAddAuthConfig, useRemoveAuthConfig } from "@/api/mutations";
import { authConfigsQuery } from "@/api/queries";
import type { AuthConfig, AuthEntry } from "@/api/types";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Input, Select } from "@/ui/input";

const WORDS: Record<AuthConfig["type"], string> = {
  public: "Public",
  header: "Header or query",
  oauth: "OAuth",
};
const MOST = 8;

export function AuthConfigs({ serverId }: { serverId: string }) {
  const configs = useQuery(authConfigsQuery(serverId));
  const remove = useRemoveAuthConfig(serverId);
  const [isAdding, setAdding] = useState(false);
  return (
    <section aria-label="Sign-in" className="space-y-3 p-4">
      <div className="flex items-center gap-2">
        <h3 className="flex-1 font-semibold">Sign-in</h3>
        {!isAdding && (
          <Button size="sm" variant="ghost" onClick={() => setAdding(true)}>
            <Plus />
            Add
          </Button>
        )}
      </div>
      {configs.isPending && <SkeletonRows rows={1} className="p-0!" />}
      {configs.isError && <ProblemView problem={asProblem(configs.error)} />}
      {configs.data?.length === 0 && !isAdding && (
        <p className="text-muted">Anybody may use it without signing in.</p>
      )}
      <ul className="space-y-2">
        {configs.data?.map((it) => (
          <li key={it.id} className="flex items-start gap-2 rounded-md border px-3 py-2">
            <div className="min-w-0 flex-1">
              <p className="flex flex-wrap items-center gap-2">
                <Foreign text={it.name} plain className="font-medium" />
                <Badge>{WORDS[it.type]}</Badge>
              </p>
              <p className="font-mono text-muted text-sm">
                {it.entries.map((entry) => `${entry.in}: ${entry.key}`).join(", ") ||
                  it.endpoints?.client_id ||
                  ""}
              </p>
            </div>
            <Button
              variant="ghost"
              size="icon-sm"
              aria-label={`Remove ${it.name}`}
              disabled={remove.isPending}
              onClick={() => remove.mutate(it.id)}
            >
              <X />
            </Button>
          </li>
        ))}
      </ul>
      {remove.error && <ProblemView problem={asProblem(remove.error)} />}
      {isAdding && <NewConfig serverId={serverId} onDone={() => setAdding(false)} />}
    </section>
  );
}

function NewConfig({ serverId, onDone }: { serverId: string; onDone: () => void }) {
  const add = useAddAuthConfig(serverId);
  const [type, setType] = useState<"header" | "oauth">("header");
  const [name, setName] = useState("");
  const [entries, setEntries] = useState<AuthEntry[]>([{ in: "header", key: "Authorization" }]);
  const [client, setClient] = useState({ id: "", secret: "", scopes: "" });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate(bodyOf(type, name, entries, client), { onSuccess: onDone });
  };
  const setEntry = (at: number, entry: AuthEntry) => setEntries(entries.with(at, entry));
  return (
    <form onSubmit={submit} className="space-y-3 rounded-md border p-3">
      <FormField label="Kind">
        {(props) => (
          <Select
            {...props}
            className="w-full"
            value={type}
            onChange={(event) => setType(event.target.value as "header" | "oauth")}
          >
            <option value="header">Header or query</option>
            <option value="oauth">OAuth</option>
          </Select>
        )}
      </FormField>
      <FormField label="Name">
        {(props) => (
          <Input
            {...props}
            required
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </FormField>
      {type === "header" ? (
        <>
          {entries.map((it, at) => (
            <div key={at} className="flex items-center gap-2">
              <Select
                aria-label={`Place of value ${at + 1}`}
                value={it.in}
                onChange={(event) => setEntry(at, { ...it, in: event.target.value as AuthEntry["in"] })}
              >
                <option value="header">Header</option>
                <option value="query">Query</option>
              </Select>
              <Input
                aria-label={`Key of value ${at + 1}`}
                required
                className="font-mono text-sm"
                value={it.key}
                onChange={(event) => setEntry(at, { ...it, key: event.target.value })}
              />
              <Button
                variant="ghost"
                size="icon-sm"
                aria-label={`Remove value ${at + 1}`}
                disabled={entries.length === 1}
                onClick={() => setEntries(entries.toSpliced(at, 1))}
              >
                <X />
              </Button>
            </div>
          ))}
          <Button
            size="sm"
            disabled={entries.length >= MOST}
            onClick={() => setEntries([...entries, { in: "header", key: "" }])}
          >
            <Plus />
            Add value
          </Button>
        </>
      ) : (
        <>
          <p className="text-muted">
            Without a client the hub registers itself. Enter one where the provider has given you one.
          </p>
          <FormField label="Client id" optional>
            {(props) => (
              <Input
                {...props}
                autoComplete="off"
                value={client.id}
                onChange={(event) => setClient({ ...client, id: event.target.value })}
              />
            )}
          </FormField>
          <FormField label="Client secret" optional>
            {(props) => (
              <Input
                {...props}
                type="password"
                autoComplete="off"
                value={client.secret}
                onChange={(event) => setClient({ ...client, secret: event.target.value })}
              />
            )}
          </FormField>
          <FormField label="Scopes" optional>
            {(props) => (
              <Input
                {...props}
                autoComplete="off"
                value={client.scopes}
                onChange={(event) => setClient({ ...client, scopes: event.target.value })}
              />
            )}
          </FormField>
        </>
      )}
      {add.error && <ProblemView problem={asProblem(add.error)} />}
      <div className="flex gap-2">
        <Button type="submit" size="sm" variant="primary" disabled={add.isPending}>
          Add
        </Button>
        <Button size="sm" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

function bodyOf(
  type: "header" | "oauth",
  name: string,
  entries: AuthEntry[],
  client: { id: string; secret: string; scopes: string },
): NewAuthConfig {
  if (type === "header") return { type, name, entries };
  return {
    type,
    name,
    ...(client.id ? { client_id: client.id } : {}),
    ...(client.secret ? { client_secret: client.secret } : {}),
    ...(client.scopes ? { scopes: client.scopes } : {}),
  };
}
