//! The API's answers as TypeScript, for `ui/src/api/types.gen.ts`. Written by `toolgrove __docs types`.

use toolgrove_bundle::duplicates::Duplicate;
use toolgrove_bundle::install::Failed as LeftOut;
use toolgrove_bundle::manifest::{Item, Setting, SettingKind};
use toolgrove_core::call::Role;
use toolgrove_core::config::Mode;
use toolgrove_core::error::Problem;
use toolgrove_core::health::{Action, ActionKind, Health, LastCall, Level, State, Status};
use toolgrove_core::import::Failed;
use toolgrove_core::instance::{Era, Verdict};
use toolgrove_core::pins::{Difference, Flag, FlagKind};
use toolgrove_core::{CallEnd, TabOfCall, auth, bud, offer, plan};
use toolgrove_store::AdminNote;
use toolgrove_upstream::doctor;
use ts_rs::{Config, TS};

use crate::api::{
    account, auth_configs, buds, bundles, calls, chats, connect, convert, files, instances, models, oauth,
    people, pins, plans, preview, registry, seen, servers, status, tabs, tokens, turns, workspaces,
};
use crate::bundles::{Done, Hit, Hits, Plan, Runs, Started};
use crate::live::LiveEvent;
use crate::registry::auth::NamedValue;
use crate::registry::{Added, ImportStep, Imported};

/// Every type, one after the other.
pub fn typescript() -> String {
    // Times and sizes stay far below what a number holds exactly.
    let config = Config::new().with_large_int("number");
    let mut text = String::from("// Written by `cargo xtask types`; do not edit.\n\n");
    text.push_str("import type { Json } from \"@/lib/json\";\n");
    macro_rules! write {
        ($($type:ty),* $(,)?) => {$(
            text.push('\n');
            text.push_str(&<$type as TS>::docs().unwrap_or_default());
            text.push_str("export ");
            text.push_str(&<$type as TS>::decl(&config));
            text.push('\n');
        )*};
    }
    write![
        Problem,
        Level,
        State,
        ActionKind,
        Action,
        Health,
        Status,
        CallEnd,
        LastCall,
        Era,
        Verdict,
        Mode,
        Role,
        offer::Permission,
        status::HubStatus,
        status::Me,
        status::Workspace,
        status::Checklist,
        workspaces::Workspace,
        people::Person,
        people::SignIn,
        people::Invite,
        people::Invited,
        tokens::Token,
        tokens::Grant,
        tokens::Made,
        account::Browser,
        tabs::TabsView,
        tabs::PairedBrowser,
        tabs::OpenTab,
        tabs::TabTool,
        tabs::RememberedTool,
        tabs::RelayState,
        tabs::Pairing,
        tabs::TabQuestion,
        tabs::TabLogLine,
        servers::Server,
        instances::Instance,
        instances::Tool,
        instances::ToolChanged,
        instances::Whole,
        registry::Kind,
        registry::RegistryRow,
        registry::RegistryInstance,
        registry::Meta,
        registry::MetaMethod,
        Imported,
        Added,
        Failed,
        ImportStep,
        doctor::Step,
        instances::Diagnosis,
        instances::LogLines,
        NamedValue,
        auth::AuthType,
        auth::Place,
        auth::AuthEntry,
        auth_configs::AuthConfig,
        auth_configs::EnteredClient,
        preview::Preview,
        preview::PreviewList,
        preview::PublicName,
        connect::SignIn,
        workspaces::Member,
        seen::SeenTool,
        AdminNote,
        oauth::Connected,
        oauth::Known,
        calls::Call,
        TabOfCall,
        calls::CallDetail,
        calls::Part,
        calls::PartName,
        calls::CallTick,
        calls::Withheld,
        calls::CallStats,
        calls::Slot,
        calls::ServerCalls,
        bundles::Bundle,
        bundles::BundleServer,
        Hits,
        Hit,
        Plan,
        Runs,
        Setting,
        SettingKind,
        Item,
        LeftOut,
        Duplicate,
        Done,
        Started,
        pins::Changed,
        Difference,
        Flag,
        FlagKind,
        LiveEvent,
        bud::ToolChoice,
        bud::McpConfig,
        bud::Overrides,
        bud::BudMethod,
        bud::BudPreset,
        buds::Bud,
        models::Models,
        models::Provider,
        chats::Chat,
        chats::MessageState,
        chats::Usage,
        chats::ToolUse,
        chats::Picture,
        chats::Content,
        chats::Message,
        chats::Question,
        chats::ChatWhole,
        chats::ChatEvent,
        plan::Node,
        plan::Edge,
        plan::Graph,
        plan::NodeState,
        plans::Plan,
        plans::run::PlanEvent,
        plans::run::PlanDone,
        turns::ChatTool,
        files::File,
        convert::Converted,
    ];
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A type that is used and not declared would be found by the UI's own check, but late.
    #[test]
    fn every_type_that_is_used_is_declared() {
        let text = typescript();
        let is_code = |line: &&str| !["/", " *"].iter().any(|it| line.starts_with(it));
        let code: String = text.lines().filter(is_code).collect();
        for word in code.split(|it: char| !it.is_ascii_alphanumeric()) {
            let is_type =
                word.starts_with(|it: char| it.is_ascii_uppercase()) && !["Array", "Json"].contains(&word);
            assert!(!is_type || code.contains(&format!("export type {word} =")), "{word} in:\n{text}");
        }
    }
}
