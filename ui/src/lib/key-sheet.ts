/** The sheet that `?` opens. It comes with it, so it is no part of what every page loads. */

export const SHEET: { keys: string[]; does: string }[] = [
  { keys: ["⌘K", "Ctrl K"], does: "Open the palette" },
  { keys: ["/"], does: "Search" },
  { keys: ["g h"], does: "Go home" },
  { keys: ["g m"], does: "Go to MCP" },
  { keys: ["g d"], does: "Go to Discover" },
  { keys: ["g c"], does: "Go to Chat" },
  { keys: ["g a"], does: "Go to Activity" },
  { keys: ["g s"], does: "Go to Settings" },
  { keys: ["j", "k", "↑", "↓"], does: "Move in a list" },
  { keys: ["Enter"], does: "Open or insert" },
  { keys: ["⌘Enter", "Ctrl Enter"], does: "Run or send" },
  { keys: ["e"], does: "Switch between form and JSON" },
  { keys: ["r"], does: "Run or try again" },
  { keys: ["n"], does: "Add a server" },
  { keys: ["y"], does: "Copy a link to this view" },
  { keys: ["["], does: "Collapse the registry" },
  { keys: ["]"], does: "Close the details" },
  { keys: ["Esc"], does: "Close, then stop" },
  { keys: ["?"], does: "Show this sheet" },
];
