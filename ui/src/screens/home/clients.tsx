/** How to connect each client. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import { useState } from "react";
import { asProblem } from "@/api/http";
import { useAddToken } from "@/api/mutations";
import { CLIENTS, type ClientId, clientSnippet } from "@/lib/snippets";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SnippetView } from "@/parts/snippet";
import { Button } from "@/ui/button";
import { Tabs, TabsContent, TabsList, TabsTrigger } from "@/ui/tabs";

const PLACEHOLDER = "<key>";

export function Clients({ endpoint, by }: { endpoint: string; by: "oauth" | "key" }) {
  const { client } = useSearch({ from: "/" });
  const navigate = useNavigate({ from: "/" });
  const shown = CLIENTS.find((it) => it.id === client)?.id ?? "claude-code";
  const [tokens, setTokens] = useState<Partial<Record<ClientId, string>>>({});
  return (
    <Card title="Connect a client" id="clients">
      <Tabs
        value={shown}
        onValueChange={(id) => navigate({ search: { client: id }, replace: true, resetScroll: false })}
      >
        <TabsList aria-label="Client" className="px-2">
          {CLIENTS.map((it) => (
            <TabsTrigger key={it.id} value={it.id}>
              {it.name}
            </TabsTrigger>
          ))}
        </TabsList>
        {CLIENTS.map(({ id, name }) => (
          <TabsContent key={id} value={id} className="p-4">
            <ClientPanel
              id={id}
              name={name}
              endpoint={endpoint}
              by={by}
              token={tokens[id]}
              onToken={(token) => setTokens((before) => ({ ...before, [id]: token }))}
            />
          </TabsContent>
        ))}
      </Tabs>
    </Card>
  );
}

type PanelProps = {
  id: ClientId;
  name: string;
  endpoint: string;
  by: "oauth" | "key";
  token: string | undefined;
  onToken: (token: string) => void;
};

function ClientPanel({ id, name, endpoint, by, token, onToken }: PanelProps) {
  const add = useAddToken();
  const secret = token ?? PLACEHOLDER;
  const snippet = clientSnippet(id, { endpoint, by, secret });
  const needsKey = snippet.text.includes(secret);
  return (
    <div className="space-y-3">
      <p className="text-muted">{snippet.where}</p>
      <SnippetView
        text={snippet.text}
        label={`the snippet for ${name}`}
        {...(token ? { secret: token } : {})}
      />
      {snippet.note && <p className="text-muted">{snippet.note}</p>}
      {needsKey && token && (
        <p className="text-muted">
          This token is shown only now. Copy the snippet before you leave this page.
        </p>
      )}
      {needsKey && !token && (
        <p className="text-muted">
          Put a token in the place of <code>{PLACEHOLDER}</code>, or the key that <code>toolgrove serve</code>{" "}
          prints.
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {needsKey && !token && (
          <Button
            size="sm"
            disabled={add.isPending}
            onClick={() => add.mutate({ name }, { onSuccess: (made) => onToken(made.token) })}
          >
            Make a token for {name}
          </Button>
        )}
        {snippet.link && (
          <Button asChild size="sm">
            <a href={snippet.link}>
              <ExternalLink aria-hidden />
              Open in {name}
            </a>
          </Button>
        )}
      </div>
      {add.error && <ProblemView problem={asProblem(add.error)} />}
    </div>
  );
}
