/** What a tool wants to know before it goes on, asked in its own card. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import { useSwitchTool } from "@/api/mutations";
import type { ChatQuestion } from "@/api/types.gen";
import type { Home } from "@/lib/home-of";
import { isObject } from "@/lib/json";
import type { Question } from "@/lib/mcp-request";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { Questions } from "@/parts/questions";
import { Button } from "@/ui/button";
import { type Answer, answer } from "./turn";

type Props = { chatId: string; asked: ChatQuestion; home: Home };

export function Ask({ chatId, asked, home }: Props) {
  const client = useQueryClient();
  const reply = useMutation({
    mutationFn: (given: Answer) => answer(client, chatId, asked.id, given),
  });
  const problem = reply.error && <ProblemView problem={asProblem(reply.error)} />;
  if (asked.permission) {
    return (
      <div className="space-y-3 rounded-md border border-warn/40 bg-warn-soft p-3">
        <Foreign text={asked.text} plain block className="font-medium" />
        <div className="flex flex-wrap gap-2">
          <Button
            size="sm"
            variant="primary"
            disabled={reply.isPending}
            onClick={() => reply.mutate({ action: "accept" })}
          >
            Allow once
          </Button>
          <Button
            size="sm"
            disabled={reply.isPending}
            onClick={() => reply.mutate({ action: "accept", remember: "chat" })}
          >
            Allow in this chat
          </Button>
          {home.entry?.instance && (
            <Always
              instanceId={home.entry.instance.id}
              method={home.method}
              onDone={() => reply.mutate({ action: "accept" })}
            />
          )}
          <Button size="sm" disabled={reply.isPending} onClick={() => reply.mutate({ action: "decline" })}>
            Deny
          </Button>
        </div>
        {problem}
      </div>
    );
  }
  return (
    <>
      <Questions
        questions={[questionOf(asked)]}
        onAnswer={(answers) => reply.mutate((answers[asked.id] ?? { action: "cancel" }) as Answer)}
      />
      {problem}
    </>
  );
}

function questionOf({ id, text, schema, url }: ChatQuestion): Question {
  if (url !== null) return { key: id, kind: "url", message: text, url };
  return { key: id, kind: "form", message: text, schema: isObject(schema) ? schema : {} };
}

/** The tool's permission is changed first; then it goes on. */
function Always({ instanceId, method, onDone }: { instanceId: string; method: string; onDone: () => void }) {
  const change = useSwitchTool(instanceId);
  return (
    <>
      <Button
        size="sm"
        disabled={change.isPending}
        onClick={() => change.mutate({ tool: method, permission: "allow" }, { onSuccess: onDone })}
      >
        Always
      </Button>
      {change.error && <ProblemView problem={asProblem(change.error)} className="w-full" />}
    </>
  );
}
