//! Remembers. SQLite in a file by default, PostgreSQL for teams: one SQL text for both, one file per table.
//!
//! Everything goes through [`Store`]; secrets are sealed by a [`SecretBox`] before they reach a statement. Nothing
//! here decides anything: rows come in, rows go out, and what one person owns is not found for another.

mod activity;
mod admin_log;
mod auth_configs;
mod buds;
mod builtins;
mod bundles;
mod call_pages;
mod calls;
mod cell;
mod chats;
mod clients;
mod connections;
mod credentials;
mod db;
mod error;
mod files;
mod instances;
mod lists;
mod oauth;
mod open;
mod people;
mod pins;
mod plans;
mod rates;
mod results;
mod schema;
mod seal_keys;
mod sealed;
mod secrets;
mod servers;
mod settings;
mod sign_in;
mod tabs;
mod tokens;
mod tools;
mod workspaces;

#[cfg(test)]
mod tests;

pub use activity::{CallCount, CallFilter, LATENCY_MS};
pub use admin_log::AdminNote;
pub use auth_configs::AuthConfigRow;
pub use buds::BudRow;
pub use builtins::BUILTINS;
pub use bundles::{Arrived, BundleRow};
pub use calls::CallLog;
pub use chats::{ChatRow, MessageRow};
pub use clients::ClientRow;
pub use connections::{ConnectedClient, ConnectionRow, Found, Given, TokenPair};
pub use db::counted;
pub use error::StoreError;
pub use files::{FileHit, FileRow};
pub use instances::{Entry, InstanceRow, Secrets};
pub use lists::{ListKind, ListRow};
pub use oauth::{DemandRow, NewToken, OauthClientRow, OauthTokenRow, PendingRow, Taken, Wants};
pub use open::Store;
pub use people::{PersonRow, SoloIds};
pub use pins::PinRow;
pub use plans::PlanRow;
pub use sealed::{OldKeys, Rotated};
pub use secrets::SecretBox;
pub use servers::ServerRow;
pub use settings::ToolSetting;
pub use sign_in::{LinkPurpose, OidcReturn, SessionRow};
pub use tabs::{PairingRow, TabLogRow};
pub use tokens::TokenRow;
pub use tools::ToolRow;
pub use workspaces::{MemberRow, Membership, WorkspaceRow};

/// Whether something is to be on or off: the wanted state, never "the other one".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

impl Switch {
    fn is_on(self) -> bool {
        self == Self::On
    }
}

impl From<bool> for Switch {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

/// Unix milliseconds.
fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
