/** Settings of one instance: its names, its credentials, what changed, and its end. */

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { useChangeInstance, useConnect, useRemoveInstance } from "@/api/mutations";
import { serversQuery, signInQuery } from "@/api/queries";
import type { Tool, WholeInstance } from "@/api/types";
import { diffLines } from "@/lib/diff";
import { kindWord } from "@/lib/kind";
import { slugProblem } from "@/lib/slug";
import { safeLink } from "@/lib/untrusted";
import { Confirm } from "@/parts/confirm";
import { DiffView } from "@/parts/diff-view";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Input, Textarea } from "@/ui/input";

export function SettingsTab({ instance }: { instance: WholeInstance }) {
  const changed = instance.tool_list.filter((it) => it.changed);
  // What comes with the hub is neither renamed nor removed.
  const isOurs = instance.transport === "builtin" || instance.transport === "tab";
  return (
    <div className="thin-scroll h-full overflow-y-auto">
      <div className="mx-auto max-w-3xl space-y-5 p-4 md:p-6">
        {changed.length > 0 && <Changes tools={changed} />}
        {!isOurs && <Names key={instance.slug} instance={instance} />}
        <Credentials instance={instance} />
        <Definition instance={instance} />
        {!isOurs && <End instance={instance} />}
      </div>
    </div>
  );
}

function Names({ instance }: { instance: WholeInstance }) {
  const navigate = useNavigate();
  const change = useChangeInstance(instance.id);
  const [slug, setSlug] = useState(instance.slug);
  const [name, setName] = useState(instance.name);
  const [description, setDescription] = useState(instance.description);
  const wrong = slugProblem(slug);
  const isSame = slug === instance.slug && name === instance.name && description === instance.description;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate(
      { slug, name, description },
      {
        onSuccess: (whole) =>
          void navigate({
            to: "/mcp/$id",
            params: { id: whole.slug },
            search: { tab: "settings" },
            replace: true,
          }),
      },
    );
  };
  return (
    <Card title="Names">
      <form onSubmit={submit} className="space-y-4 p-4">
        <FormField label="Name">
          {(props) => (
            <Input
              {...props}
              value={name}
              maxLength={100}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </FormField>
        <FormField label="Slug" about={`Tools are called mcp__${slug || "slug"}__…`} problem={wrong}>
          {(props) => (
            <Input
              {...props}
              value={slug}
              className="font-mono"
              spellCheck={false}
              onChange={(event) => setSlug(event.target.value)}
            />
          )}
        </FormField>
        <FormField label="Description" optional>
          {(props) => (
            <Textarea
              {...props}
              value={description}
              maxLength={255}
              rows={2}
              onChange={(event) => setDescription(event.target.value)}
            />
          )}
        </FormField>
        {change.error && <ProblemView problem={asProblem(change.error)} />}
        <Button type="submit" variant="primary" disabled={isSame || wrong !== undefined || change.isPending}>
          Save
        </Button>
      </form>
    </Card>
  );
}

/** Values go in and never come out. */
function Credentials({ instance }: { instance: WholeInstance }) {
  const change = useChangeInstance(instance.id);
  const [values, setValues] = useState<Record<string, string>>({});
  const wanted = instance.credentials ?? [];
  if (instance.auth_type === "oauth") return <SignedIn instance={instance} />;
  if (wanted.length === 0) return null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ credentials: values }, { onSuccess: () => setValues({}) });
  };
  return (
    <Card title="Credentials">
      <form onSubmit={submit} className="space-y-4 p-4">
        {wanted.map((it) => (
          <FormField
            key={it.key}
            label={it.key}
            about={it.has_value ? "A value is stored. It is never shown." : "No value yet"}
          >
            {(props) => (
              <Input
                {...props}
                type="password"
                autoComplete="off"
                placeholder={it.has_value ? "••••••••" : ""}
                value={values[it.key] ?? ""}
                onChange={(event) => setValues({ ...values, [it.key]: event.target.value })}
              />
            )}
          </FormField>
        ))}
        {change.error && <ProblemView problem={asProblem(change.error)} />}
        <Button
          type="submit"
          variant="primary"
          disabled={wanted.some((it) => !values[it.key]) || change.isPending}
        >
          Save
        </Button>
      </form>
    </Card>
  );
}

function SignedIn({ instance }: { instance: WholeInstance }) {
  const connect = useConnect(instance.id);
  const { data: signIn } = useQuery(signInQuery(instance.id));
  return (
    <Card title="Sign-in">
      <div className="space-y-3 p-4">
        {signIn ? (
          <p>
            Signed in at <Foreign text={hostOf(signIn.issuer)} plain className="font-medium" />
            {signIn.scope && (
              <>
                , for <Foreign text={signIn.scope} plain className="font-mono text-sm" />
              </>
            )}
          </p>
        ) : (
          <p className="text-muted">{instance.health.summary}</p>
        )}
        <Button disabled={connect.isPending} onClick={() => connect.mutate()}>
          {signIn ? "Reconnect" : "Sign in"}
        </Button>
        {connect.error && <ProblemView problem={asProblem(connect.error)} />}
      </div>
    </Card>
  );
}

const hostOf = (url: string) => safeLink(url)?.host ?? url;

function Definition({ instance }: { instance: WholeInstance }) {
  const { data: servers } = useQuery(serversQuery);
  const server = servers?.find((it) => it.id === instance.server_id);
  const rows: [string, string][] = [
    ["Server", instance.server_name],
    ["Kind", kindWord(instance.transport)],
    ["Address", server?.endpoint ?? ""],
    ["Origin", server?.origin ?? ""],
    ["Protocol", instance.era ? `${instance.era.version} (${instance.era.era})` : "not known yet"],
    ["Own endpoint", `${location.origin}/mcp/i/${instance.slug}`],
  ];
  return (
    <Card
      title="Definition"
      actions={
        instance.transport === "bud" && (
          <Button asChild size="sm">
            <Link to="/mcp" search={{ bud: instance.server_id }}>
              Edit bud
            </Link>
          </Button>
        )
      }
    >
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1.5 p-4">
        {rows.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd>
              <Foreign text={value || "–"} plain className="font-mono text-sm" />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Changes({ tools }: { tools: Tool[] }) {
  return (
    <Card title={`Changed since approved: ${tools.length}`}>
      <ul>
        {tools.map((it) => (
          <li key={it.name} className="space-y-2 border-b p-4 last:border-b-0">
            <p className="font-mono font-medium">
              <Foreign text={it.name} plain />
            </p>
            {it.changed && (
              <DiffView
                lines={diffLines(
                  JSON.stringify(it.changed.before, null, 2),
                  JSON.stringify(it.changed.after, null, 2),
                )}
              />
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function End({ instance }: { instance: WholeInstance }) {
  const [isAsking, setAsking] = useState(false);
  const remove = useRemoveInstance(instance);
  const navigate = useNavigate();
  return (
    <Card title="Remove">
      <div className="flex flex-wrap items-center gap-3 p-4">
        <p className="min-w-0 flex-1 basis-60 text-muted">
          Its tools leave every list, and its credentials are deleted.
        </p>
        <Button variant="danger" onClick={() => setAsking(true)}>
          Remove
        </Button>
      </div>
      <Confirm
        open={isAsking}
        onOpenChange={setAsking}
        question={`Remove server "${instance.name}"?`}
        effect="Its tools leave every list, and its credentials are deleted."
        verb="Remove"
        busy={remove.isPending}
        problem={remove.error ? asProblem(remove.error) : undefined}
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => void navigate({ to: "/mcp" }) })}
      />
    </Card>
  );
}
