/** Pages that bring their own WebMCP, in a browser that has none. */

import { isListedCalledAndChecked } from "./kinds";
import { test } from "./test";

test.use({ native: false });

isListedCalledAndChecked("polyfill");
isListedCalledAndChecked("global");
