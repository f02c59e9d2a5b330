import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, test } from "vitest";
import type { Json, JsonObject } from "@/lib/json";
import { type Field, rootField } from "@/lib/schema";
import { initial } from "@/lib/schema-value";
import { SchemaForm } from "./schema-form";

type Sent = { value: Json | undefined; unfinished: Record<string, string | undefined> };

function Holder({ field, value, sent }: { field: Field; value: JsonObject | undefined; sent: Sent }) {
  const [now, setNow] = useState<Json | undefined>(value ?? initial(field, true));
  sent.value = now;
  return (
    <SchemaForm
      field={field}
      value={now}
      onChange={setNow}
      problems={[]}
      onUnfinished={(pointer, problem) => {
        sent.unfinished[pointer] = problem;
      }}
    />
  );
}

/** A form for one property called `x`, and what it would send. */
function show(
  property: Json,
  { required = false, value }: { required?: boolean; value?: JsonObject } = {},
): Sent {
  const sent: Sent = { value: undefined, unfinished: {} };
  const field = rootField({ type: "object", properties: { x: property }, required: required ? ["x"] : [] });
  render(<Holder field={field} value={value} sent={sent} />);
  return sent;
}

const box = () => screen.getByLabelText(/^x/) as HTMLInputElement;

test("a nullable enum sends null, not the text `null`", async () => {
  const sent = show({ type: ["string", "null"], enum: ["a", "null", null] });
  await userEvent.selectOptions(box(), "a");
  expect(sent.value).toEqual({ x: "a" });
  const options = screen.getAllByRole("option", { name: "null" });
  await userEvent.selectOptions(box(), options.at(-1) as HTMLElement);
  expect(sent.value).toEqual({ x: null });
  await userEvent.selectOptions(box(), options[0] as HTMLElement);
  expect(sent.value).toEqual({ x: "null" });
});

test("a field of type [T, null] keeps a number a number and can be null", async () => {
  const sent = show({ type: ["integer", "null"] });
  await userEvent.type(box(), "12");
  expect(sent.value).toEqual({ x: 12 });
  await userEvent.click(screen.getByRole("button", { name: "What to send for x" }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Send null" }));
  expect(sent.value).toEqual({ x: null });
  expect(screen.getByText("null")).toBeTruthy();
});

test("a value of null is shown as null and stays null until somebody types", async () => {
  const sent = show({ type: ["string", "null"] }, { value: { x: null } });
  expect(box().placeholder).toBe("null");
  expect(sent.value).toEqual({ x: null });
  await userEvent.type(box(), "a");
  expect(sent.value).toEqual({ x: "a" });
});

test("a text that holds JSON stays one text", async () => {
  const sent = show({ type: "string" });
  await userEvent.click(box());
  await userEvent.paste('{"a": [1, "null"]}');
  expect(sent.value).toEqual({ x: '{"a": [1, "null"]}' });
});

test("backspace in JSON loses nothing and never resets the box", async () => {
  const sent = show({ type: "object", additionalProperties: true }, { value: { x: { a: 1 } } });
  expect(box().value).toBe('{\n  "a": 1\n}');
  await userEvent.type(box(), "{Backspace}");
  expect(box().value).toBe('{\n  "a": 1\n');
  expect(sent.unfinished["/x"]).toContain("the text ends too early");
  expect(sent.value).toEqual({ x: { a: 1 } });
  await userEvent.type(box(), "}");
  expect(sent.unfinished["/x"]).toBeUndefined();
  expect(sent.value).toEqual({ x: { a: 1 } });
});

test("`_meta`, an object without a schema, is edited as JSON and comes back as an object", async () => {
  const sent = show({ type: "object" }, { value: { x: { "dev.example/trace": { on: true } } } });
  await userEvent.clear(box());
  await userEvent.click(box());
  await userEvent.paste('{"k": {"deep": null}}');
  expect(sent.value).toEqual({ x: { k: { deep: null } } });
});

test("a number on its way to being one is not lost", async () => {
  const sent = show({ type: "number" });
  for (const [key, value, shown] of [
    ["-", "-", "-"],
    ["1", -1, "-1"],
    [".", -1, "-1."],
    ["5", -1.5, "-1.5"],
  ] as const) {
    await userEvent.type(box(), key);
    expect(box().value).toBe(shown);
    expect(sent.value).toEqual({ x: value });
  }
  await userEvent.clear(box());
  expect(sent.value).toEqual({});
});

test("an emptied optional text is left out; the menu can send an empty one", async () => {
  const sent = show({ type: "string" }, { value: { x: "a" } });
  await userEvent.clear(box());
  expect(sent.value).toEqual({});
  await userEvent.click(screen.getByRole("button", { name: "What to send for x" }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Send empty text" }));
  expect(sent.value).toEqual({ x: "" });
});

test("entries of a list can be added, filled and taken out", async () => {
  const sent = show({ type: "array", items: { type: "string" } });
  await userEvent.click(screen.getByRole("button", { name: "Add entry" }));
  await userEvent.click(screen.getByRole("button", { name: "Add entry" }));
  await userEvent.type(screen.getByLabelText(/^2/), "b");
  expect(sent.value).toEqual({ x: ["", "b"] });
  await userEvent.click(screen.getByRole("button", { name: "Remove entry 1" }));
  expect(sent.value).toEqual({ x: ["b"] });
});

test("an alternative is chosen and filled in", async () => {
  const sent = show(
    {
      oneOf: [
        { title: "By name", type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        {
          title: "By number",
          type: "object",
          properties: { number: { type: "integer" } },
          required: ["number"],
        },
      ],
    },
    { required: true },
  );
  await userEvent.selectOptions(screen.getByLabelText("Form of x"), "By number");
  await userEvent.type(screen.getByLabelText(/^number/), "7");
  expect(sent.value).toEqual({ x: { number: 7 } });
});

test("a member that the schema does not know is shown and kept", () => {
  const sent = show({ type: "string" }, { value: { x: "a", extra: [1] } });
  expect(screen.getByLabelText(/^extra/)).toBeTruthy();
  expect(sent.value).toEqual({ x: "a", extra: [1] });
});
