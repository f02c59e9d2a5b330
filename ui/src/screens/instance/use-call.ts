/** One call at a time: started, cancelled, asked, answered, ended. */

import { useEffect, useReducer, useRef } from "react";
import { asProblem } from "@/api/http";
import { mcp, withAnswers } from "@/api/mcp";
import type { Problem } from "@/api/types";
import { type CallEvent, type CallState, nextState } from "@/lib/call-state";
import type { JsonObject } from "@/lib/json";
import { mcpProblem } from "@/lib/mcp-problem";
import type { Answers, McpRequest, Question } from "@/lib/mcp-request";

export type Run = {
  state: CallState;
  result?: JsonObject;
  problem?: Problem;
  questions?: Question[];
};

type Request = Omit<McpRequest, "id">;
type Action =
  | { type: "reset" }
  | { type: "event"; event: CallEvent; result?: JsonObject; problem?: Problem; questions?: Question[] };

const FRESH: Run = { state: { phase: "drafting" } };

function reduce(run: Run, action: Action): Run {
  if (action.type === "reset") return FRESH;
  const { event, type: _, ...rest } = action;
  const state = nextState(run.state, event);
  // What comes after the end belongs to a call that is no longer shown.
  return state === run.state ? run : { ...run, ...rest, state };
}

export function useCall(door: string) {
  const [run, dispatch] = useReducer(reduce, FRESH);
  const open = useRef<{ controller: AbortController; base: Request; state: string | undefined }>(undefined);
  useEffect(() => () => open.current?.controller.abort(), []);

  /** `base` is the request without answers: each round brings only its own. */
  const send = async (request: Request, base: Request) => {
    const controller = new AbortController();
    open.current = { controller, base, state: undefined };
    const isCurrent = () => open.current?.controller === controller;
    const tell = (
      event: CallEvent,
      more: { result?: JsonObject; problem?: Problem; questions?: Question[] } = {},
    ) => isCurrent() && dispatch({ type: "event", event, ...more });
    const fail = (problem: Problem) => tell({ type: "ended", end: "failed", at: Date.now() }, { problem });
    try {
      const answer = await mcp(door, request, {
        signal: controller.signal,
        onProgress: (progress) => tell({ type: "progress", progress }),
      });
      if (answer.kind === "error") fail(mcpProblem(answer.error));
      else if (answer.kind === "questions") {
        if (open.current && isCurrent()) open.current.state = answer.state;
        tell({ type: "asked" }, { questions: answer.questions });
      } else {
        const end = answer.result.isError === true ? "failed" : "done";
        tell({ type: "ended", end, at: Date.now() }, { result: answer.result });
      }
    } catch (error) {
      if (!controller.signal.aborted) fail(asProblem(error));
    }
  };

  const start = (request: Request) => {
    open.current?.controller.abort();
    dispatch({ type: "reset" });
    dispatch({ type: "event", event: { type: "started", at: Date.now() } });
    void send(request, request);
  };
  const answer = (answers: Answers) => {
    const before = open.current;
    if (!before) return;
    dispatch({ type: "event", event: { type: "answered" } });
    void send(
      { ...before.base, params: withAnswers(before.base.params, answers, before.state) },
      before.base,
    );
  };
  /** Closing the connection cancels a call that runs; one that waits for an answer is told that none comes. */
  const cancel = () => {
    const before = open.current;
    before?.controller.abort();
    if (before && run.state.phase === "needs-input") {
      const none = Object.fromEntries((run.questions ?? []).map((it) => [it.key, { action: "cancel" }]));
      void mcp(door, { ...before.base, params: withAnswers(before.base.params, none, before.state) }).catch(
        () => {},
      );
    }
    dispatch({ type: "event", event: { type: "ended", end: "cancelled", at: Date.now() } });
  };
  const reset = () => {
    open.current?.controller.abort();
    open.current = undefined;
    dispatch({ type: "reset" });
  };
  return { run, start, cancel, answer, reset };
}
