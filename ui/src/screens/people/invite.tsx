/** Inviting somebody: who, as what, and the link that lets them in once. */

import { type FormEvent, useId, useState } from "react";
import { asProblem } from "@/api/http";
import { useInvite } from "@/api/mutations";
import type { Invite, Role } from "@/api/types";
import { clock } from "@/lib/format";
import { ROLES } from "@/lib/roles";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { SnippetView } from "@/parts/snippet";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogContent, DialogFooter } from "@/ui/dialog";
import { Input, Select } from "@/ui/input";

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const invite = useInvite();
  const form = useId();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    invite.mutate({ email, role, ...(name ? { name } : {}) });
  };
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent title="Invite" description="They get a link that works once.">
        <DialogBody>
          {invite.data ? (
            <InviteLink name={invite.data.name} invite={invite.data.invite} />
          ) : (
            <form id={form} onSubmit={submit} className="space-y-4">
              <FormField label="Email">
                {(props) => (
                  <Input
                    {...props}
                    autoFocus
                    type="email"
                    required
                    value={email}
                    onChange={(event) => setEmail(event.target.value)}
                  />
                )}
              </FormField>
              <FormField label="Name" optional>
                {(props) => (
                  <Input
                    {...props}
                    maxLength={100}
                    value={name}
                    onChange={(event) => setName(event.target.value)}
                  />
                )}
              </FormField>
              <FormField label="Role">
                {(props) => (
                  <Select
                    {...props}
                    className="w-full"
                    value={role}
                    onChange={(event) => setRole(event.target.value as Role)}
                  >
                    {ROLES.map((it) => (
                      <option key={it.id} value={it.id}>
                        {it.name}
                      </option>
                    ))}
                  </Select>
                )}
              </FormField>
              {invite.error && <ProblemView problem={asProblem(invite.error)} />}
            </form>
          )}
        </DialogBody>
        <DialogFooter>
          {invite.data ? (
            <Button variant="primary" onClick={onClose}>
              Done
            </Button>
          ) : (
            <>
              <Button onClick={onClose}>Cancel</Button>
              <Button type="submit" form={form} variant="primary" disabled={invite.isPending || email === ""}>
                Invite
              </Button>
            </>
          )}
        </DialogFooter>
      </DialogContent>
    </Dialog>
  );
}

export function InviteLink({ name, invite }: { name: string; invite: Invite }) {
  return (
    <div className="space-y-2 py-1">
      <p>
        Send this link to {name}. It works once, until {clock(invite.expires_at, Date.now())}.
      </p>
      <SnippetView text={invite.url} label="the link" />
    </div>
  );
}
