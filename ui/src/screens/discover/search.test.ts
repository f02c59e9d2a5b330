import { describe, expect, it } from "vitest";
import type { Hit } from "@/api/types.gen";
import { facets, matches, readSearch, toggled } from "./search";

const hit = (more: Partial<Hit>): Hit => ({
  name: "io.github.x/weather",
  publisher: "io.github.x",
  title: "Weather",
  description: "",
  version: "1.0.0",
  status: "active",
  website: null,
  kinds: ["stdio"],
  needs: [],
  updated: null,
  ...more,
});

describe("searching", () => {
  it("sends words, and keeps operators to itself", () => {
    expect(readSearch("  rain kind:stdio Publisher:GitHub today ")).toEqual({
      words: "rain today",
      operators: [
        { key: "kind", value: "stdio" },
        { key: "publisher", value: "github" },
      ],
    });
    expect(readSearch("http://x kind:").words).toBe("http://x kind:");
  });

  it.each([
    ["kind:stdio", true],
    ["kind:http", false],
    ["kind:http kind:stdio", true],
    ["kind:stdio publisher:github", true],
    ["kind:stdio publisher:gitlab", false],
    ["needs:nothing", true],
    ["needs:key", false],
    ["", true],
  ])("%s", (typed, expected) => {
    expect(matches(hit({}), readSearch(typed))).toBe(expected);
  });

  it("finds what needs a setting by its name", () => {
    expect(matches(hit({ needs: ["API_KEY"] }), readSearch("needs:api_key"))).toBe(true);
    expect(matches(hit({ needs: ["API_KEY"] }), readSearch("needs:nothing"))).toBe(false);
  });

  it("counts what can be narrowed to, and puts it in or takes it out", () => {
    const found = facets([hit({}), hit({ kinds: ["stdio", "http"], needs: ["K"] })]);
    expect(found[0]).toEqual({ operator: "kind:stdio", count: 2 });
    expect(found).toContainEqual({ operator: "needs:nothing", count: 1 });
    expect(toggled("rain", "kind:http")).toBe("rain kind:http");
    expect(toggled("rain Kind:HTTP", "kind:http")).toBe("rain");
  });
});
