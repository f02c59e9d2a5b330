/** What the hub's API sends, under the names the page uses. The shapes are written from the hub's own. */

import type { Json } from "@/lib/json";
import type * as gen from "./types.gen";

export type {
  AdminNote as AdminLogRow,
  AuthConfig,
  AuthEntry,
  Browser,
  Call as CallRecord,
  CallDetail,
  CallEnd as Outcome,
  CallPart,
  CallSlot as Slot,
  CallStats,
  CallTick,
  ConnectedClient,
  Diagnosis,
  DoctorStep as Step,
  Health,
  HealthActionKind as ActionKind,
  HealthLevel as Level,
  HubStatus,
  ImportAnswer as Imported,
  ImportStep,
  Instance,
  Invite,
  InvitedPerson as Invited,
  KnownClient,
  LogLines,
  Member,
  Meta,
  MetaMethod as Method,
  NewToken,
  OpenTab,
  PairedBrowser,
  Pairing,
  Permission,
  Person as PersonRow,
  Preview,
  PreviewList,
  Problem,
  RegistryInstance,
  RegistryRow as RegistryEntry,
  Role,
  SeenTool,
  Server,
  ServerCalls,
  ServerKind as RegistryKind,
  SignIn,
  TabQuestion,
  TabsView,
  Token,
  Verdict as Era,
  Withheld,
  Workspace,
} from "./types.gen";

/** A hub that pins definitions says what was approved, when a tool differs from it. */
export type Tool = gen.Tool & { changed?: { before: Json; after: Json } };
export type ToolAnnotations = NonNullable<gen.Tool["annotations"]>;

/** An instance with everything its page shows. */
export type WholeInstance = Omit<gen.InstanceDetail, "tool_list"> & { tool_list: Tool[] };

/** What the event stream tells; `lag` means that something was missed. */
export type LiveEvent = gen.LiveEvent | { type: "lag" };
