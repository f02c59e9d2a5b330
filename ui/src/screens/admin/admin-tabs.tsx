/** The pages of the admin. */

import { Link } from "@tanstack/react-router";

const look =
  "-mb-px flex h-9 shrink-0 items-center border-transparent border-b-2 px-2.5 text-muted hover:text-text aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-text";

/** The registry keeps what is chosen in its address; the others are told apart by theirs. */
const byPath = { className: look, activeOptions: { includeSearch: false } };
const byTab = { className: look, activeOptions: { exact: true } };

export function AdminTabs() {
  return (
    <nav aria-label="Admin" className="thin-scroll mb-4 flex gap-1 overflow-x-auto border-b">
      <Link to="/admin/mcp" {...byPath}>
        Registry
      </Link>
      <Link to="/admin/people" search={{}} {...byTab}>
        People
      </Link>
      <Link to="/admin/people" search={{ tab: "workspaces" }} {...byTab}>
        Workspaces
      </Link>
      <Link to="/admin/people" search={{ tab: "changes" }} {...byTab}>
        Changes
      </Link>
    </nav>
  );
}
