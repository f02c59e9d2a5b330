/** The places of the page, as icons with their names. */

import { Link, useRouterState } from "@tanstack/react-router";
import { Activity, Compass, House, MessageSquare, Plug, Settings, Shield } from "lucide-react";
import { cn } from "@/lib/class";

const PLACES = [
  { to: "/", name: "Home", icon: House, exact: true },
  { to: "/chat", name: "Chat", icon: MessageSquare },
  { to: "/mcp", name: "MCP", icon: Plug },
  { to: "/discover", name: "Discover", icon: Compass },
  { to: "/activity", name: "Activity", icon: Activity },
] as const;

type Props = { admin: boolean; wide?: boolean; onGo?: () => void };

export function Nav({ admin, wide = false, onGo }: Props) {
  const item = cn(
    "flex items-center rounded-md text-muted transition-colors hover:bg-hover hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent [&_svg]:size-4.5",
    wide ? "h-9 gap-2.5 px-2.5" : "w-14 flex-col justify-center gap-0.5 py-1.5 text-xs",
  );
  const isAdmin = useRouterState({ select: (state) => state.location.pathname.includes("/admin/") });
  const go = onGo ? { onClick: onGo } : {};
  return (
    <nav aria-label="Places" className={cn("flex flex-col gap-1", wide ? "p-2" : "h-full items-center py-2")}>
      {PLACES.map(({ to, name, icon: Icon, ...rest }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: "exact" in rest, includeSearch: false }}
          className={item}
          {...go}
        >
          <Icon aria-hidden />
          {name}
        </Link>
      ))}
      {admin && (
        <Link
          to="/admin/mcp"
          activeProps={{}}
          aria-current={isAdmin ? "page" : undefined}
          className={item}
          {...go}
        >
          <Shield aria-hidden />
          Admin
        </Link>
      )}
      <Link to="/settings" className={cn(item, !wide && "mt-auto")} {...go}>
        <Settings aria-hidden />
        Settings
      </Link>
    </nav>
  );
}
