/** The place of a screen that is not built yet. */

import { Link, useRouterState } from "@tanstack/react-router";
import { Empty } from "@/parts/empty";
import { useTitle } from "@/parts/use-title";
import { Button } from "@/ui/button";

const WORDS: Record<string, [string, string]> = {
  chat: ["Chat", "Chat comes with buds. Until then, tools run from their own page."],
  plans: ["Plan", "Plans come with buds. Until then, tools run one at a time from their own page."],
};

export function Later() {
  const place = useRouterState({
    select: (state) => state.location.pathname.replace(/^\/ui/, "").split("/")[1] ?? "",
  });
  const [title, sentence] = WORDS[place] ?? ["Later", "Nothing here yet."];
  useTitle(title);
  return (
    <>
      <h1 className="sr-only">{title}</h1>
      <Empty sentence={sentence}>
        <Button asChild variant="primary">
          <Link to="/mcp">Open MCP</Link>
        </Button>
        <Button asChild variant="link">
          <Link to="/mcp" search={{ add: "" }}>
            Add a server
          </Link>
        </Button>
      </Empty>
    </>
  );
}
