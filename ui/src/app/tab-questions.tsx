/** What a page in the person's browser asks, wherever the person is: the client of its call could not be asked. */

import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useId } from "react";
import { asProblem } from "@/api/http";
import { tabQuestionsQuery, useAnswerPage } from "@/api/tabs";
import type { TabQuestion } from "@/api/types";
import { type FlatField, flatFields, flatValues } from "@/lib/flat-form";
import type { Json } from "@/lib/json";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogContent, DialogFooter } from "@/ui/dialog";
import { Checkbox, Input, Select } from "@/ui/input";

export default function TabQuestions() {
  const questions = useQuery(tabQuestionsQuery);
  const [first] = questions.data ?? [];
  return first ? <Question key={first.id} question={first} /> : null;
}

function Question({ question: { id, domain, tool, message, schema } }: { question: TabQuestion }) {
  const answer = useAnswerPage();
  const reply = (it: unknown) => answer.mutate({ id, answer: it });
  const fields = flatFields(schema as Json);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    reply({ action: "accept", content: flatValues(fields, new FormData(event.currentTarget)) });
  };
  return (
    <Dialog open onOpenChange={(open) => !open && reply({ action: "cancel" })}>
      <DialogContent
        title={
          <>
            <Foreign text={domain} plain /> asks
          </>
        }
        description={
          <>
            While it runs <Foreign text={tool} plain className="font-mono" />. After two minutes without an
            answer it hears that you cancelled.
          </>
        }
      >
        <form onSubmit={submit} className="contents">
          <DialogBody className="space-y-4">
            <Foreign text={message} plain block className="font-medium" />
            {fields.map((it) => (
              <Field key={it.name} field={it} />
            ))}
            {answer.error && <ProblemView problem={asProblem(answer.error)} />}
          </DialogBody>
          <DialogFooter>
            <Button onClick={() => reply({ action: "decline" })}>Decline</Button>
            <Button type="submit" variant="primary" disabled={answer.isPending}>
              Answer
            </Button>
          </DialogFooter>
        </form>
      </DialogContent>
    </Dialog>
  );
}

function Field({ field: { name, label, about, kind, choices, isRequired, initial } }: { field: FlatField }) {
  const id = useId();
  const text = <Foreign text={label} plain />;
  const first = initial === undefined ? "" : String(initial);
  if (kind === "yes") {
    return (
      <Checkbox name={name} defaultChecked={initial === true}>
        {text}
      </Checkbox>
    );
  }
  const box = { name, id: `${id}-box`, required: isRequired, defaultValue: first, "aria-describedby": id };
  return (
    <div className="space-y-1">
      <label htmlFor={box.id} className="block font-medium">
        {text}
      </label>
      {kind === "choice" ? (
        <Select {...box} className="w-full">
          <option value="">–</option>
          {choices.map((it) => (
            <option key={it}>{it}</option>
          ))}
        </Select>
      ) : (
        <Input {...box} type={kind} {...(kind === "number" ? { step: "any" } : {})} />
      )}
      <p id={id} className="text-muted">
        {isRequired ? "Needed. " : "Optional. "}
        <Foreign text={about} plain />
      </p>
    </div>
  );
}
