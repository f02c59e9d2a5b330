/** A new password, for those who have one. */

import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { useChangePassword } from "@/api/mutations";
import { FormField } from "@/parts/form-field";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";

export function Password() {
  const change = useChangePassword();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate(
      { current, new: next },
      {
        onSuccess: () => {
          setCurrent("");
          setNext("");
        },
      },
    );
  };
  return (
    <Card title="Password">
      <form onSubmit={submit} className="space-y-4 p-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <FormField label="Current password">
            {(props) => (
              <Input
                {...props}
                type="password"
                autoComplete="current-password"
                value={current}
                onChange={(event) => setCurrent(event.target.value)}
              />
            )}
          </FormField>
          <FormField label="New password">
            {(props) => (
              <Input
                {...props}
                type="password"
                autoComplete="new-password"
                value={next}
                onChange={(event) => setNext(event.target.value)}
              />
            )}
          </FormField>
        </div>
        {change.error && <ProblemView problem={asProblem(change.error)} />}
        <p role="status" className="text-muted">
          {change.isSuccess ? "Changed. Your other browsers are signed out." : ""}
        </p>
        <Button type="submit" disabled={current === "" || next === "" || change.isPending}>
          Change password
        </Button>
      </form>
    </Card>
  );
}
