/** Tools: a list, and the runner beside it; on a narrow page one after the other. */

import { Link } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import type { WholeInstance } from "@/api/types";
import { cn } from "@/lib/class";
import { decodeArgs } from "@/lib/link-args";
import { Empty } from "@/parts/empty";
import { Button } from "@/ui/button";
import { Runner } from "./runner";
import { ToolList } from "./tool-list";

type Props = { instance: WholeInstance; selected: string | undefined; args: string | undefined };

export function ToolsTab({ instance, selected, args }: Props) {
  const tool = instance.tool_list.find((it) => it.name === selected);
  const given = args === undefined ? undefined : decodeArgs(args);
  if (instance.tool_list.length === 0 && instance.age_s === null) {
    return <Empty sentence="Its tools are not known yet: the server was never reached." />;
  }
  if (instance.tool_list.length === 0) {
    return (
      <Empty sentence="This server offers no tools">
        <Button asChild>
          <Link to="/mcp/$id" params={{ id: instance.slug }} search={{ tab: "prompts" }}>
            Prompts
          </Link>
        </Button>
        <Button asChild>
          <Link to="/mcp/$id" params={{ id: instance.slug }} search={{ tab: "resources" }}>
            Resources
          </Link>
        </Button>
      </Empty>
    );
  }
  return (
    <div className="@container/tab h-full">
      <div className="grid h-full min-h-0 grid-cols-1 @2xl/tab:grid-cols-[minmax(15rem,20rem)_minmax(0,1fr)]">
        <div
          className={cn(
            "min-h-0 bg-surface @2xl/tab:block @2xl/tab:border-r",
            selected !== undefined && "hidden",
          )}
        >
          <ToolList instance={instance} selected={selected} />
        </div>
        <div
          className={cn(
            "@container thin-scroll min-h-0 overflow-y-auto",
            selected === undefined && "hidden @2xl/tab:block",
          )}
        >
          <Button asChild variant="ghost" size="sm" className="m-2 @2xl/tab:hidden!">
            <Link to="/mcp/$id" params={{ id: instance.slug }} search={{}}>
              <ArrowLeft />
              All tools
            </Link>
          </Button>
          {tool ? (
            <Runner key={`${tool.public_name} ${args ?? ""}`} instance={instance} tool={tool} args={given} />
          ) : (
            <Empty
              sentence={
                selected === undefined ? "Choose a tool to run it." : `No tool here is called “${selected}”.`
              }
            />
          )}
        </div>
      </div>
    </div>
  );
}
