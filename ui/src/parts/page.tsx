/** The frame of a screen: title, one line about it, its actions. */

import type { ReactNode } from "react";
import { cn } from "@/lib/class";
import { useTitle } from "./use-title";

type Props = { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode; wide?: boolean };

export function Page({ title, about, actions, children, wide }: Props) {
  useTitle(title);
  return (
    <div className={cn("mx-auto w-full px-4 py-5 md:px-6", wide ? "max-w-[100rem]" : "max-w-5xl")}>
      <header className="mb-4 flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          <h1 className="font-semibold text-xl">{title}</h1>
          {about && <p className="text-muted">{about}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a screen that stands and fails alone. */
export function Card({
  title,
  actions,
  children,
  id,
  className,
}: {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  id?: string;
  className?: string;
}) {
  return (
    <section id={id} className={cn("rounded-lg border bg-surface", className)}>
      <header className="flex min-h-11 flex-wrap items-center gap-2 border-b px-4 py-1.5">
        <h2 className="min-w-0 flex-1 font-semibold">{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}
