//! Duplicates in the registry, by the rule that `mcp.json` follows too: one active server of every identity.

use std::sync::Arc;

use serde_json::Value;
use toolgrove_bundle::duplicates::{self, Candidate, Owner, Standing, State};
use toolgrove_bundle::identity::Identity;
use toolgrove_core::Error;
use toolgrove_store::ServerRow;
use uuid::Uuid;

use crate::App;
use crate::problem::store_error;
use crate::registry::builtin::BUILTIN;

pub(crate) const ORIGIN: &str = "bundle:";

impl App {
    /// Says of every server that bundles brought to this person whether another one does the same.
    pub(crate) async fn settle_duplicates(self: &Arc<Self>, person: Uuid) -> Result<(), Error> {
        let mut servers = self.store.servers_of(person).await.map_err(store_error)?;
        if servers.iter().all(|it| !it.origin.starts_with(ORIGIN)) {
            return Ok(());
        }
        let instances = self.store.instances_of(person).await.map_err(store_error)?;
        // What nobody uses does nothing, so nothing is done twice.
        servers.retain(|it| it.transport != BUILTIN && instances.iter().any(|of| of.server_id == it.id));
        servers.sort_by_key(|it| (it.created_at, it.id));
        let candidates: Vec<_> = servers.iter().map(candidate).collect();
        let standings = duplicates::settle(&candidates);
        for (server, standing) in servers.iter().zip(&standings) {
            let wanted = match standing {
                Standing::DuplicateOf(first) => Some(servers[*first].id),
                Standing::Active | Standing::Off => None,
            };
            if server.duplicate_of != wanted {
                self.store.set_duplicate_of(server.id, wanted).await.map_err(store_error)?;
                self.reload_server(server.id).await?;
            }
        }
        Ok(())
    }
}

fn candidate(server: &ServerRow) -> Candidate<'_> {
    let owner = match server.origin.strip_prefix(ORIGIN) {
        Some(bundle) => Owner::Bundle(bundle),
        None => Owner::Person,
    };
    Candidate {
        name: &server.name,
        identity: server.config.as_object().and_then(Identity::of_foreign),
        owner,
        state: match (server.enabled, server.duplicate_of) {
            (false, _) => State::Off,
            (true, Some(_)) => State::Duplicate,
            (true, None) => State::On,
        },
    }
}

/// The identity of a stored server, in words.
pub(crate) fn identity(config: &Value) -> Option<String> {
    config.as_object().and_then(Identity::of_foreign).map(|it| it.to_string())
}
