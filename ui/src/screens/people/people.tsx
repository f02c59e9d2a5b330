/** People: who may enter, and what was changed. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { statusQuery } from "@/api/queries";
import { NotFound } from "@/app/fallback";
import { isAdmin } from "@/app/who";
import { Page } from "@/parts/page";
import { SkeletonRows } from "@/parts/skeleton";
import { AdminTabs } from "@/screens/admin/admin-tabs";
import { ChangeLog } from "./change-log";
import { PeopleList } from "./people-list";
import { Workspaces } from "./workspaces";

const route = getRouteApi("/admin/people");

const PAGES = {
  people: { title: "People", about: "Who may enter, and as what." },
  workspaces: { title: "Workspaces", about: "What is shared with whom." },
  changes: { title: "Changes", about: "Who changed what, the latest first." },
};

export function PeopleScreen() {
  const { tab, select } = route.useSearch();
  const { data: status } = useQuery(statusQuery);
  // Nothing is asked before it is known who asks.
  if (!status) return <SkeletonRows rows={6} />;
  if (!isAdmin(status)) return <NotFound />;
  const here = tab === "workspaces" || tab === "changes" ? tab : "people";
  return (
    <Page {...PAGES[here]}>
      <AdminTabs />
      {here === "people" && <PeopleList isSolo={status.mode === "solo"} selected={select} />}
      {here === "workspaces" && <Workspaces />}
      {here === "changes" && <ChangeLog />}
    </Page>
  );
}
