/** The words for the API's three statuses. */

import type { Instance } from "@/api/types";

const WORDS: Record<Instance["status"], string> = {
  ready: "Ready",
  not_ready: "Sign in to use",
  needs_reauth: "Sign-in expired",
};

export const statusWords = (status: Instance["status"]) => WORDS[status];
