//! Buds in the hub: kept in step with their rows, found by address, and given to whoever uses one for the first time.

use std::sync::Arc;

use percent_encoding::percent_decode_str;
use toolgrove_core::bud::BudPreset;
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::offer::Offer;
use toolgrove_core::{Error, name};
use toolgrove_store::{BudRow, InstanceRow, ServerRow};
use uuid::Uuid;

use crate::App;
use crate::problem::store_error;

/// What a bud that a file declares is known by.
const DECLARED: &str = "config";

impl App {
    /// A bud that the caller sees: by id, by `bud://<id>`, or by `bud://<workspace>/<name>`.
    pub async fn bud(&self, caller: &Caller, word: &str) -> Result<BudRow, Error> {
        let unknown = || Error::UnknownServer { server: word.to_owned() };
        let place = word.strip_prefix("bud://").unwrap_or(word);
        let found = match (place.split_once('/'), Uuid::parse_str(place)) {
            (Some((workspace, bud)), _) => {
                let text = |it: &str| percent_decode_str(it).decode_utf8().map(Into::<String>::into);
                let (Ok(workspace), Ok(bud)) = (text(workspace), text(bud)) else { return Err(unknown()) };
                self.store.bud_at(caller.person, &workspace, &bud).await
            }
            (None, Ok(id)) => self.store.visible_bud(caller.person, id).await,
            (None, Err(_)) => return Err(unknown()),
        };
        found.map_err(store_error)?.ok_or_else(unknown)
    }

    /// A bud that the caller may change: their own, or any of a workspace they keep.
    pub async fn bud_to_change(&self, caller: &Caller, word: &str) -> Result<BudRow, Error> {
        let bud = self.bud(caller, word).await?;
        if bud.origin == DECLARED {
            return Err(Error::Request(format!("bud `{}` is declared in `toolgrove.toml`", bud.name)));
        }
        if self.may_change_bud(caller, &bud).await? {
            return Ok(bud);
        }
        Err(Error::Role { role: Role::WorkspaceAdmin.as_str() })
    }

    pub(crate) async fn may_change_bud(&self, caller: &Caller, bud: &BudRow) -> Result<bool, Error> {
        if bud.origin == DECLARED {
            return Ok(false);
        }
        if bud.owner_id == Some(caller.person) {
            return Ok(true);
        }
        match self.kept_workspace(caller, &bud.workspace_id.to_string()).await {
            Ok(_) => Ok(true),
            Err(Error::Role { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a bud. Its author has it at once.
    pub async fn add_bud(self: &Arc<Self>, caller: &Caller, bud: &BudRow) -> Result<(), Error> {
        bud.preset.check()?;
        name::check_name(&bud.name)?;
        self.store.add_bud(bud).await.map_err(store_error)?;
        if let (Some(owner), true) = (bud.owner_id, caller.grants.is_none()) {
            self.give_bud(owner, &bud.name, bud.id).await?;
        }
        Ok(())
    }

    pub async fn change_bud(self: &Arc<Self>, bud: &BudRow) -> Result<(), Error> {
        bud.preset.check()?;
        name::check_name(&bud.name)?;
        self.store.update_bud(bud).await.map_err(store_error)?;
        self.follow_bud(bud.id).await
    }

    pub async fn remove_bud(self: &Arc<Self>, id: Uuid) -> Result<(), Error> {
        let instances = self.store.all_instances().await.map_err(store_error)?;
        self.store.remove_bud(id).await.map_err(store_error)?;
        for instance in instances.iter().filter(|it| it.server_id == id) {
            self.hub.remove(instance.id).await;
        }
        Ok(())
    }

    /// Everybody who has it sees at once what it has become.
    async fn follow_bud(self: &Arc<Self>, id: Uuid) -> Result<(), Error> {
        let instances = self.store.all_instances().await.map_err(store_error)?;
        for row in instances.iter().filter(|it| it.server_id == id) {
            let offer = self.reload(row.person_id, row.id).await?;
            self.refresh(&offer.instance).await?;
        }
        Ok(())
    }

    /// What a caller has of a server. A bud is given on first use, to everybody but tokens for some instances.
    pub async fn used(self: &Arc<Self>, caller: &Caller, server: &ServerRow) -> Result<Arc<Offer>, Error> {
        let mut rows = self.store.instances_of(caller.person).await.map_err(store_error)?;
        rows.retain(|it| it.server_id == server.id && caller.may_use(it.id));
        rows.sort_by_key(|it| (!it.enabled, it.status != "ready", it.created_at, it.id));
        if let Some(offer) = rows.first().and_then(|it| self.hub.offer(it.id)) {
            return Ok(offer);
        }
        match server.bud_id {
            Some(_) if caller.grants.is_some() => Err(Error::GrantMissing { slug: server.name.clone() }),
            Some(_) => self.give_bud(caller.person, &server.name, server.id).await,
            None => Err(Error::InstanceMissing { server: server.name.clone() }),
        }
    }

    async fn give_bud(self: &Arc<Self>, person: Uuid, name: &str, server: Uuid) -> Result<Arc<Offer>, Error> {
        let slug = self.free_slug(person, &toolgrove_core::name::slug_from_name(name)).await?;
        let mut row = InstanceRow::new(person, server, &slug);
        row.name = name.to_owned();
        row.status = "ready".into();
        self.store.add_instance(&row).await.map_err(store_error)?;
        let offer = self.reload(person, row.id).await?;
        self.refresh(&offer.instance).await?;
        Ok(self.hub.offer(row.id).unwrap_or(offer))
    }

    /// Makes the buds of a workspace what the file says: `[bud.<name>]`.
    pub async fn declare_buds(
        self: &Arc<Self>,
        owner: Option<Uuid>,
        workspace: Uuid,
        declared: &std::collections::BTreeMap<String, BudPreset>,
    ) -> Result<(), Error> {
        let mut known = self.store.declared_buds().await.map_err(store_error)?;
        for gone in known.extract_if(.., |it| !declared.contains_key(&it.name)) {
            tracing::info!(bud = gone.name, "no longer declared: removed");
            self.remove_bud(gone.id).await?;
        }
        for (name, preset) in declared {
            match known.iter().find(|it| it.name == *name) {
                Some(bud) if bud.preset == *preset => {}
                Some(bud) => self.change_bud(&BudRow { preset: preset.clone(), ..bud.clone() }).await?,
                None => {
                    let mut bud = BudRow::new(workspace, owner, name, preset.clone());
                    bud.origin = DECLARED.into();
                    match self.store.add_bud(&bud).await.map_err(store_error) {
                        Err(Error::ServerNameTaken) => {
                            tracing::warn!(
                                bud = name,
                                "declared in a file, but the name is taken; that one stays"
                            );
                        }
                        added => {
                            added?;
                            if let Some(owner) = owner {
                                self.give_bud(owner, name, bud.id).await?;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
