/** Whether recorded frames are what the generated JSON Schema says of them. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Frame } from "./recorder";
import { peer } from "./toolgrove";

const SCHEMA = resolve(import.meta.dirname, "../../../docs/schemas/tabs.schema.json");

/** A sentence for every frame that the schema of its direction does not know. */
export function problems(frames: Frame[]): string[] {
  const { default: Ajv } = peer("ajv/dist/2020");
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema(JSON.parse(readFileSync(SCHEMA, "utf8")), "tabs");
  const checks = {
    toHub: ajv.getSchema("tabs#/$defs/FrameToHub"),
    fromHub: ajv.getSchema("tabs#/$defs/FrameFromHub"),
  };
  return frames.flatMap(({ direction, message }) => {
    const check = checks[direction];
    if (check(message)) return [];
    return [`${direction} ${JSON.stringify(message).slice(0, 400)}: ${ajv.errorsText(check.errors)}`];
  });
}
