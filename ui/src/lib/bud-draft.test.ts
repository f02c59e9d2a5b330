import { expect, test } from "vitest";
import type { Bud } from "@/api/types.gen";
import { type BudDraft, bodyOf, changeOf, draftOf, EMPTY, NEW_METHOD, wrongIn } from "./bud-draft";

const draft = (more: Partial<BudDraft> = {}): BudDraft => ({ ...EMPTY, name: "Compare", ...more });
const method = (more: Partial<typeof NEW_METHOD>) => ({ ...NEW_METHOD, name: "ask", ...more });

const BUD: Bud = {
  id: "b",
  workspace_id: "w",
  owner_id: "p",
  name: "Compare",
  address: "bud://home/Compare",
  declared: false,
  editable: true,
  created_at: 0,
  updated_at: 0,
  description: "",
  avatar: "🌱",
  system_prompt: "You compare",
  model: "local/llama",
  temperature: 0.2,
  max_tokens: null,
  methods: [
    {
      name: "compare",
      description: "",
      inputSchema: { type: "object", properties: { a: {} } },
      template: "{{a}}",
    },
  ],
  mcp_config: {
    servers: ["files"],
    available_tools: [],
    disabled_tools: ["files.delete"],
    tool_choice: "auto",
  },
};

test("a bud that is opened and saved is the bud it was", () => {
  expect(bodyOf(draftOf(BUD))).toEqual({
    name: BUD.name,
    description: BUD.description,
    avatar: BUD.avatar,
    system_prompt: BUD.system_prompt,
    model: BUD.model,
    temperature: BUD.temperature,
    max_tokens: BUD.max_tokens,
    methods: BUD.methods,
    mcp_config: BUD.mcp_config,
  });
  expect(changeOf(BUD, draftOf(BUD))).toEqual({});
});

test("an edit sends only what it changed, and an emptied box is null", () => {
  expect(changeOf(BUD, { ...draftOf(BUD), model: " ", disabled: "" })).toEqual({
    model: null,
    mcp_config: { ...BUD.mcp_config, disabled_tools: [] },
  });
});

test.each<[string, BudDraft, string[]]>([
  ["a name is enough", draft(), []],
  ["no name", draft({ name: " " }), ["name"]],
  ["a temperature that is none", draft({ temperature: "hot" }), ["temperature"]],
  ["half a token", draft({ maxTokens: "1.5" }), ["maxTokens"]],
  ["a script as a picture", draft({ avatar: "data:image/svg+xml;base64,AAAA" }), ["avatar"]],
  ["a method without a name", draft({ methods: [method({ name: "" })] }), ["methods.0.name"]],
  ["two methods of one name", draft({ methods: [method({}), method({})] }), ["methods.1.name"]],
  ["a schema that is no JSON", draft({ methods: [method({ schema: "{" })] }), ["methods.0.schema"]],
  [
    "a template that uses what is not there",
    draft({ methods: [method({ template: "{{x}}" })] }),
    ["methods.0.template"],
  ],
])("%s", (_, given, places) => {
  expect(Object.keys(wrongIn(given))).toEqual(places);
});
