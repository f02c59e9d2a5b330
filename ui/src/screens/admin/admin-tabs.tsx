/** The pages of the admin. */

import { Link } from "@tanstack/react-router";

const look =
  "-mb-px flex h-9 shrink-0 items-center border-transparent border-b-2 px-2.5 text-muted hover:text-text aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-text";

type Place = "registry" | "people" | "workspaces" | "changes";

export function AdminTabs({ here }: { here: Place }) {
  const current = (place: Place) => ({
    className: look,
    "aria-current": place === here ? ("page" as const) : undefined,
  });
  return (
    <nav aria-label="Admin" className="thin-scroll mb-4 flex gap-1 overflow-x-auto border-b">
      <Link to="/admin/mcp" activeProps={{}} {...current("registry")}>
        Registry
      </Link>
      <Link to="/admin/people" search={{}} activeProps={{}} {...current("people")}>
        People
      </Link>
      <Link to="/admin/people" search={{ tab: "workspaces" }} activeProps={{}} {...current("workspaces")}>
        Workspaces
      </Link>
      <Link to="/admin/people" search={{ tab: "changes" }} activeProps={{}} {...current("changes")}>
        Changes
      </Link>
    </nav>
  );
}
