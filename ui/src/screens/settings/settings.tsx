/** Settings: me. */

import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import { statusQuery } from "@/api/queries";
import { setPreference, type Theme, usePreference } from "@/app/preferences";
import { Foreign } from "@/parts/foreign";
import { Card, Page } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Switch } from "@/ui/switch";
import { Accounts } from "./accounts";
import { BrowserTabs } from "./browser-tabs";
import { Browsers } from "./browsers";
import { ConnectedClients } from "./clients";
import { Files } from "./files";
import { Password } from "./password";
import { Tokens } from "./tokens";

const THEMES: { id: Theme; name: string }[] = [
  { id: "system", name: "System" },
  { id: "light", name: "Light" },
  { id: "dark", name: "Dark" },
];

export function SettingsScreen() {
  const status = useQuery(statusQuery);
  const isTeam = status.data !== undefined && status.data.mode !== "solo";
  return (
    <Page title="Settings">
      <div className="space-y-5">
        {status.isError && <ProblemView problem={asProblem(status.error)} />}
        {status.data && isTeam && <You {...status.data.me} />}
        <Appearance />
        <Shortcuts />
        <Tokens />
        <Accounts />
        <BrowserTabs />
        <Files />
        {isTeam && (
          <>
            <ConnectedClients />
            <Browsers />
            <Password />
          </>
        )}
        <Export />
        {status.data && (
          <p className="text-muted text-sm">
            {status.data.name} {status.data.version}, {status.data.mode}
          </p>
        )}
      </div>
    </Page>
  );
}

function You({ name, email, role }: { name: string; email: string | null; role: string }) {
  return (
    <Card title="You">
      <div className="flex flex-wrap items-center gap-3 p-4">
        <p className="min-w-0 flex-1">
          <Foreign text={name} plain className="font-medium" />{" "}
          <Foreign text={email ?? ""} plain className="text-muted" />
          <span className="block text-muted">{role}</span>
        </p>
        <form method="post" action="/ui/logout">
          <Button type="submit">Sign out</Button>
        </form>
      </div>
    </Card>
  );
}

function Appearance() {
  const theme = usePreference("theme");
  return (
    <Card title="Appearance">
      <fieldset className="flex flex-wrap gap-4 p-4">
        <legend className="sr-only">Theme</legend>
        {THEMES.map((it) => (
          <label key={it.id} className="flex min-h-6 items-center gap-2">
            <input
              type="radio"
              name="theme"
              className="size-4 accent-accent"
              checked={theme === it.id}
              onChange={() => setPreference("theme", it.id)}
            />
            {it.name}
          </label>
        ))}
      </fieldset>
    </Card>
  );
}

function Shortcuts() {
  const letters = usePreference("letters");
  return (
    <Card title="Shortcuts">
      <div className="flex items-center gap-3 p-4">
        <Switch
          checked={letters}
          onCheckedChange={(on) => setPreference("letters", on)}
          aria-labelledby="letters"
        />
        <p id="letters">
          Single letters, such as <kbd className="rounded-sm bg-hover px-1">g</kbd>{" "}
          <kbd className="rounded-sm bg-hover px-1">m</kbd> and{" "}
          <kbd className="rounded-sm bg-hover px-1">?</kbd>
        </p>
      </div>
    </Card>
  );
}

function Export() {
  return (
    <Card title="Your data">
      <div className="flex flex-wrap items-center gap-3 p-4">
        <p className="min-w-0 flex-1 basis-60 text-muted">
          Your servers as an mcp.json that every client reads. Secrets are left out.
        </p>
        <Button asChild>
          <a href="/api/mcp/export?format=mcp.json" download="mcp.json">
            Export
          </a>
        </Button>
      </div>
    </Card>
  );
}
