/** A new instance of a server: slug, name and the values its admin asks for. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useId, useState } from "react";
import { asProblem } from "@/api/http";
import { useAddInstance } from "@/api/mutations";
import { authConfigsQuery } from "@/api/queries";
import type { Instance, Server } from "@/api/types";
import { nameFromUrl } from "@/lib/paste";
import { freeSlug, slugProblem } from "@/lib/slug";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogContent, DialogFooter } from "@/ui/dialog";
import { Input, Select } from "@/ui/input";

type Props = { server: Server; instances: Instance[]; onClose: () => void };

export function UseDialog({ server, instances, onClose }: Props) {
  const navigate = useNavigate();
  const add = useAddInstance();
  const configs = useQuery({ ...authConfigsQuery(server.id), retry: false });
  const [configId, setConfigId] = useState<string>();
  const config = configs.data?.find((it) => it.id === configId) ?? configs.data?.[0];
  const entries = config?.entries ?? [];
  const [slug, setSlug] = useState(() =>
    freeSlug(
      nameFromUrl(server.endpoint),
      instances.map((it) => it.slug),
    ),
  );
  const [name, setName] = useState(server.name);
  const [values, setValues] = useState<Record<string, string>>({});
  const form = useId();
  const wrong = slugProblem(slug);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wrong) return;
    const credentials =
      entries.length > 0
        ? { credentials: Object.fromEntries(entries.map((it) => [it.key, values[it.key] ?? ""])) }
        : {};
    const auth = config ? { auth_config_id: config.id } : {};
    add.mutate(
      { server_id: server.id, slug, name, ...auth, ...credentials },
      { onSuccess: (made) => void navigate({ to: "/mcp/$id", params: { id: made.slug } }) },
    );
  };
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent
        title={`Use ${server.name}`}
        description="Your own instance, with your own name and credentials. You may have several."
      >
        <DialogBody>
          <form id={form} onSubmit={submit} className="space-y-4">
            <FormField label="Slug" about={`Tools are called mcp__${slug || "slug"}__…`} problem={wrong}>
              {(props) => (
                <Input
                  {...props}
                  value={slug}
                  onChange={(event) => setSlug(event.target.value)}
                  className="font-mono"
                  autoComplete="off"
                  spellCheck={false}
                />
              )}
            </FormField>
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
            {configs.data && configs.data.length > 1 && (
              <FormField label="Sign in by">
                {(props) => (
                  <Select
                    {...props}
                    className="w-full"
                    value={config?.id ?? ""}
                    onChange={(event) => setConfigId(event.target.value)}
                  >
                    {configs.data.map((it) => (
                      <option key={it.id} value={it.id}>
                        {it.name}
                      </option>
                    ))}
                  </Select>
                )}
              </FormField>
            )}
            {config?.type === "oauth" && (
              <p className="text-muted">You sign in at the server's own page, right after this.</p>
            )}
            {entries.map((it) => (
              <FormField
                key={it.key}
                label={it.key}
                about={it.in === "query" ? "Sent as a part of the address" : "Sent as a header"}
              >
                {(props) => (
                  <Input
                    {...props}
                    type="password"
                    autoComplete="off"
                    value={values[it.key] ?? ""}
                    onChange={(event) => setValues({ ...values, [it.key]: event.target.value })}
                  />
                )}
              </FormField>
            ))}
            {add.error && <ProblemView problem={asProblem(add.error)} />}
          </form>
        </DialogBody>
        <DialogFooter>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} variant="primary" disabled={add.isPending || wrong !== undefined}>
            Use
          </Button>
        </DialogFooter>
      </DialogContent>
    </Dialog>
  );
}
