//! Which workspace something belongs to, and what a change of one means for those in it. One that the caller is no
//! member of does not exist for them, unless they are an admin.

use std::sync::Arc;

use toolgrove_core::Error;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::instance::Transport;
use toolgrove_store::{InstanceRow, Membership, WorkspaceRow};
use uuid::Uuid;

use crate::App;
use crate::api::workspaces::GUARDED;
use crate::problem::store_error;

impl App {
    /// The workspace that takes what a caller adds without naming one: the first they joined.
    pub async fn home(&self, caller: &Caller) -> Result<WorkspaceRow, Error> {
        let all = self.store.workspaces_of(caller.person).await.map_err(store_error)?;
        all.into_iter().next().map(|it| it.workspace).ok_or(Error::UnknownWorkspace)
    }

    /// A workspace the caller is a member of, by its id.
    pub async fn workspace(&self, caller: &Caller, id: &str) -> Result<Membership, Error> {
        let id = Uuid::parse_str(id).map_err(|_| Error::UnknownWorkspace)?;
        let found = self.store.workspace_of(caller.person, id).await.map_err(store_error)?;
        found.ok_or(Error::UnknownWorkspace)
    }

    /// A workspace the caller may see, and what they are in it.
    pub(crate) async fn any_workspace(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(WorkspaceRow, Option<Role>), Error> {
        match (self.workspace(caller, id).await, caller.role) {
            (Ok(it), _) => Ok((it.workspace, Some(it.role))),
            (Err(Error::UnknownWorkspace), Role::Admin) => {
                let id = Uuid::parse_str(id).map_err(|_| Error::UnknownWorkspace)?;
                let found = self.store.workspace(id).await.map_err(store_error)?;
                found.map(|it| (it, None)).ok_or(Error::UnknownWorkspace)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// A workspace the caller may change.
    pub(crate) async fn kept_workspace(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(WorkspaceRow, Option<Role>), Error> {
        let (row, role) = self.any_workspace(caller, id).await?;
        if caller.keeps(role) {
            Ok((row, role))
        } else {
            Err(Error::Role { role: Role::WorkspaceAdmin.as_str() })
        }
    }

    /// Everybody's instances of the servers in a workspace.
    pub(crate) async fn instances_in(&self, workspace: Uuid) -> Result<Vec<InstanceRow>, Error> {
        self.store.instances_in(workspace).await.map_err(store_error)
    }

    /// Brings everything of a workspace in step after its allowlist or its phase changed. Open links are closed.
    pub async fn reload_workspace(self: &Arc<Self>, workspace: Uuid) -> Result<(), Error> {
        for member in self.store.members(workspace).await.map_err(store_error)? {
            self.reload_shared(member.person_id).await?;
        }
        for instance in self.instances_in(workspace).await? {
            self.follow_server(&instance).await?;
        }
        Ok(())
    }

    /// Brings the hub in step with somebody's joining or leaving a workspace: what they have of its servers exists
    /// for as long as they are in it.
    pub(crate) async fn follow_membership(
        self: &Arc<Self>,
        person: Uuid,
        workspace: Uuid,
    ) -> Result<(), Error> {
        // What they may change is remembered with their way in.
        self.gate.forget(person);
        self.reload_shared(person).await?;
        for instance in self.instances_in(workspace).await?.iter().filter(|it| it.person_id == person) {
            self.follow_server(instance).await?;
        }
        Ok(())
    }

    /// What somebody has of servers in no workspace may be called as far as their workspaces let it.
    async fn reload_shared(self: &Arc<Self>, person: Uuid) -> Result<(), Error> {
        let servers = self.store.servers_of(person).await.map_err(store_error)?;
        let is_shared = |id: Uuid| servers.iter().any(|it| it.id == id && it.workspace_id.is_none());
        for instance in self.store.instances_of(person).await.map_err(store_error)? {
            if is_shared(instance.server_id) {
                let offer = self.reload(person, instance.id).await?;
                // What is part of the hub is asked again at once: nothing is waited for.
                if offer.instance.transport == Transport::Builtin {
                    let _ = self.refresh(&offer.instance).await;
                }
            }
        }
        Ok(())
    }

    async fn follow_server(self: &Arc<Self>, instance: &InstanceRow) -> Result<(), Error> {
        match self.reload(instance.person_id, instance.id).await {
            Err(Error::UnknownInstance { .. }) => {
                self.hub.remove(instance.id).await;
                Ok(())
            }
            reloaded => reloaded.map(drop),
        }
    }
}

/// Whether a caller may add something of this transport. What runs or reaches something on the hub's own machine
/// is for admins, unless the workspace lets its members; a token for some instances gets no others.
pub(crate) fn check_new(
    caller: &Caller,
    workspace: &WorkspaceRow,
    kind: &str,
    slug: &str,
) -> Result<(), Error> {
    if caller.grants.is_some() {
        return Err(Error::GrantMissing { slug: slug.to_owned() });
    }
    let allowed = workspace.allowed_transports.as_ref().and_then(|it| it.as_array());
    let is_allowed = allowed.is_some_and(|it| it.iter().any(|it| it == kind));
    if caller.role == Role::Admin || !GUARDED.contains(&kind) || is_allowed {
        return Ok(());
    }
    Err(Error::TransportOff { kind: kind.to_owned() })
}
