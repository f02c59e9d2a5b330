/** A new entry. Its address must be one; nothing is asked of it before it is saved. */

import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { useAddServer } from "@/api/mutations";
import { nameFromUrl } from "@/lib/paste";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Input, Textarea } from "@/ui/input";

type Props = { workspaceId: string; endpoint: string; onAdded: (id: string) => void };

export function AddServer({ workspaceId, endpoint: given, onAdded }: Props) {
  const add = useAddServer();
  const [endpoint, setEndpoint] = useState(given);
  const [name, setName] = useState<string>();
  const [description, setDescription] = useState("");
  const wanted = name ?? (endpoint.trim() === "" ? "" : nameFromUrl(endpoint.trim()));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate(
      { workspaceId, name: wanted, endpoint: endpoint.trim(), ...(description ? { description } : {}) },
      { onSuccess: (server) => onAdded(server.id) },
    );
  };
  return (
    <form onSubmit={submit} className="space-y-4 p-4">
      <FormField label="URL" about="Streamable HTTP. It is saved as it is; its preview follows.">
        {(props) => (
          <Input
            {...props}
            autoFocus
            inputMode="url"
            spellCheck={false}
            placeholder="https://api.example.com/mcp"
            className="font-mono text-sm"
            value={endpoint}
            onChange={(event) => setEndpoint(event.target.value)}
          />
        )}
      </FormField>
      <FormField label="Name">
        {(props) => (
          <Input
            {...props}
            maxLength={100}
            value={wanted}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </FormField>
      <FormField label="Description" optional>
        {(props) => (
          <Textarea
            {...props}
            rows={2}
            maxLength={255}
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        )}
      </FormField>
      {add.error && <ProblemView problem={asProblem(add.error)} />}
      <Button
        type="submit"
        variant="primary"
        disabled={add.isPending || endpoint.trim() === "" || wanted === ""}
      >
        Add
      </Button>
    </form>
  );
}
