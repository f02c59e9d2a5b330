/** A label, its box, a line about it, and what is wrong. */

import { type ReactNode, useId } from "react";

type BoxProps = { id: string; "aria-describedby"?: string; "aria-invalid"?: true };
type Props = {
  label: ReactNode;
  about?: ReactNode;
  problem?: string | undefined;
  optional?: boolean;
  children: (props: BoxProps) => ReactNode;
};

export function FormField({ label, about, problem, optional, children }: Props) {
  const id = useId();
  const described = problem || about ? { "aria-describedby": `${id}-about` } : {};
  return (
    <div className="space-y-1">
      <label htmlFor={id} className="block font-medium">
        {label}
        {optional && <span className="font-normal text-muted"> · optional</span>}
      </label>
      {children({ id, ...described, ...(problem ? { "aria-invalid": true as const } : {}) })}
      {(problem || about) && (
        <p id={`${id}-about`} className={problem ? "text-bad" : "text-muted"}>
          {problem ?? about}
        </p>
      )}
    </div>
  );
}
