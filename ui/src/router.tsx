/** Every route on one page. Screens come when they are wanted; what is selected stands in the address. */

import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  parseSearchWith,
  type RouterHistory,
  stringifySearchWith,
} from "@tanstack/react-router";
import { NotFound, ScreenProblem } from "./app/fallback";
import { Shell } from "./app/shell";
import { Home } from "./screens/home/home";

type Search = Record<string, unknown>;

/** Text parameters of an address; whatever is not text is not there. */
function texts<K extends string>(...names: K[]) {
  return (search: Search): { [key in K]?: string } => {
    const found: { [key in K]?: string } = {};
    for (const name of names) if (typeof search[name] === "string") found[name] = search[name];
    return found;
  };
}

const root = createRootRouteWithContext<{ client: QueryClient }>()({
  component: Shell,
  notFoundComponent: NotFound,
});
const under = () => root;

const home = createRoute({
  getParentRoute: under,
  path: "/",
  validateSearch: texts("client"),
  component: Home,
});
const mcp = createRoute({
  getParentRoute: under,
  path: "/mcp",
  validateSearch: texts("q", "scope", "select", "add", "bud"),
  component: lazyRouteComponent(() => import("./screens/mcp/mcp"), "Mcp"),
});
const instance = createRoute({
  getParentRoute: under,
  path: "/mcp/$id",
  validateSearch: texts("tab", "tool", "args", "q", "prompt", "resource"),
  component: lazyRouteComponent(() => import("./screens/instance/instance"), "InstanceScreen"),
});
const activity = createRoute({
  getParentRoute: under,
  path: "/activity",
  validateSearch: texts("q", "from", "to"),
  component: lazyRouteComponent(() => import("./screens/activity/activity"), "ActivityScreen"),
});
const call = createRoute({
  getParentRoute: under,
  path: "/activity/$call",
  validateSearch: texts("tab", "q"),
  component: lazyRouteComponent(() => import("./screens/activity/call"), "CallScreen"),
});
const admin = createRoute({
  getParentRoute: under,
  path: "/admin/mcp",
  validateSearch: texts("q", "select", "as", "add"),
  component: lazyRouteComponent(() => import("./screens/admin/admin"), "AdminScreen"),
});
const people = createRoute({
  getParentRoute: under,
  path: "/admin/people",
  validateSearch: texts("select", "tab"),
  component: lazyRouteComponent(() => import("./screens/people/people"), "PeopleScreen"),
});
const settings = createRoute({
  getParentRoute: under,
  path: "/settings",
  component: lazyRouteComponent(() => import("./screens/settings/settings"), "SettingsScreen"),
});
const discover = createRoute({
  getParentRoute: under,
  path: "/discover",
  validateSearch: texts("q", "select", "version"),
  component: lazyRouteComponent(() => import("./screens/discover/discover"), "Discover"),
});
/** One component for both, so that a chat which gets its id stays as it is. */
const chat = createRoute({
  getParentRoute: under,
  path: "/chat",
  validateSearch: texts("prompt"),
  component: lazyRouteComponent(() => import("./screens/chat/chat"), "ChatScreen"),
});
const oneChat = createRoute({ getParentRoute: () => chat, path: "/$id" });
const plan = createRoute({
  getParentRoute: under,
  path: "/plans/$id",
  validateSearch: texts("node"),
  component: lazyRouteComponent(() => import("./screens/plan/plan"), "PlanScreen"),
});

export function makeRouter(client: QueryClient, history?: RouterHistory) {
  return createRouter({
    routeTree: root.addChildren([
      home,
      mcp,
      instance,
      activity,
      call,
      admin,
      people,
      settings,
      discover,
      chat.addChildren([oneChat]),
      plan,
    ]),
    basepath: "/ui",
    context: { client },
    ...(history ? { history } : {}),
    defaultPreload: "intent",
    defaultPreloadDelay: 80,
    defaultErrorComponent: ScreenProblem,
    scrollRestoration: true,
    scrollToTopSelectors: ["#main"],
    // Addresses hold plain text, as somebody would type it.
    parseSearch: parseSearchWith((text) => text),
    stringifySearch: stringifySearchWith(String),
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
