//! The instances that everybody has from the hub itself.

use std::sync::Arc;

use toolgrove_core::Error;
use toolgrove_store::{BUILTINS, InstanceRow};

use crate::App;
use crate::problem::store_error;

/// The transport of what is part of the hub, as the store has it.
pub const BUILTIN: &str = "builtin";

/// Whether nobody can take this slug.
pub fn is_reserved(slug: &str) -> bool {
    BUILTINS.iter().any(|it| it.0.eq_ignore_ascii_case(slug))
}

impl App {
    /// Gives whoever is new what everybody has.
    pub async fn give_builtins(self: &Arc<Self>) -> Result<(), Error> {
        for InstanceRow { person_id, id, .. } in self.store.give_builtins().await.map_err(store_error)? {
            self.reload(person_id, id).await?;
        }
        Ok(())
    }
}
