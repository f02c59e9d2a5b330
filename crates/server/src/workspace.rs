//! Which workspace something belongs to. One that the caller is no member of does not exist for them.

use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_store::Membership;
use uuid::Uuid;

use crate::App;
use crate::problem::store_error;

impl App {
    /// The workspace that takes what a caller adds without naming one: the first they joined.
    pub async fn home(&self, caller: &Caller) -> Result<Uuid, Error> {
        let all = self.store.workspaces_of(caller.person).await.map_err(store_error)?;
        all.first().map(|it| it.workspace.id).ok_or(Error::UnknownWorkspace)
    }

    /// A workspace the caller is a member of, by its id.
    pub async fn workspace(&self, caller: &Caller, id: &str) -> Result<Membership, Error> {
        let id = Uuid::parse_str(id).map_err(|_| Error::UnknownWorkspace)?;
        let found = self.store.workspace_of(caller.person, id).await.map_err(store_error)?;
        found.ok_or(Error::UnknownWorkspace)
    }
}
