/** What every field of a form needs: how to change a value, and what is wrong. */

import { createContext, useContext } from "react";
import { type Json, type Path, pointer } from "@/lib/json";
import type { Problem } from "@/lib/validate";

type FormContext = {
  problems: Problem[];
  set: (path: Path, value: Json | undefined) => void;
  /** A box whose text is not a value yet keeps the form from being sent. */
  setUnfinished: (pointer: string, problem: string | undefined) => void;
};

export const Form = createContext<FormContext>({ problems: [], set: () => {}, setUnfinished: () => {} });

export const useForm = () => useContext(Form);

export function useProblem(path: Path): string | undefined {
  const wanted = pointer(path);
  return useForm().problems.find((it) => it.pointer === wanted)?.text;
}
