//! The tables `tokens` and `token_grants`: what programs show to be let in, as hashes.

use std::collections::HashSet;

use toolgrove_core::call::Role;
use uuid::Uuid;

use crate::cell::Row;
use crate::db::{On, Sql};
use crate::error::Result;
use crate::people::{role, role_of_p};
use crate::{Store, now};

/// A token, without anything that would let anybody in.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenRow {
    pub id: Uuid,
    pub person_id: Uuid,
    pub name: String,
    /// `double` or `single`.
    pub names_profile: String,
    /// The instances it may use; none means all that its person has.
    pub grants: Option<HashSet<Uuid>>,
    pub last_used_at: Option<i64>,
    pub created_at: i64,
}

impl TokenRow {
    pub fn new(person_id: Uuid, name: &str, names_profile: &str, grants: Option<HashSet<Uuid>>) -> Self {
        Self {
            id: Uuid::now_v7(),
            person_id,
            name: name.to_owned(),
            names_profile: names_profile.to_owned(),
            grants,
            last_used_at: None,
            created_at: now(),
        }
    }
}

impl Store {
    /// Keeps a new token. Grants of instances that are not its person's are left out.
    pub async fn add_token(&self, token: &TokenRow, hash: &str) -> Result<()> {
        let mut tx = self.db.begin().await?;
        Sql::new(
            "INSERT INTO tokens (id, person_id, name, hash, names_profile, limited, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(token.id)
        .bind(token.person_id)
        .bind(&token.name)
        .bind(hash)
        .bind(&token.names_profile)
        .bind(token.grants.is_some())
        .bind(token.created_at)
        .run(&mut tx)
        .await?;
        for instance in token.grants.iter().flatten() {
            Sql::new(
                "INSERT INTO token_grants (token_id, instance_id, created_at)
                 SELECT $1, id, $4 FROM mcp_instances WHERE id = $2 AND person_id = $3",
            )
            .bind(token.id)
            .bind(*instance)
            .bind(token.person_id)
            .bind(token.created_at)
            .run(&mut tx)
            .await?;
        }
        tx.commit().await
    }

    /// The token behind a hash that was not revoked, with its person's role.
    pub async fn token_by_hash(&self, hash: &str) -> Result<Option<(TokenRow, Role)>> {
        let found = Sql::new(concat!(
            "SELECT t.*, ",
            role_of_p!(),
            " FROM tokens t JOIN people p ON p.id = t.person_id WHERE t.hash = $1 AND t.revoked_at IS NULL"
        ))
        .bind(hash)
        .first(&self.db, |row| Ok((read(row)?, role(row)?)))
        .await?;
        let Some((mut token, role)) = found else { return Ok(None) };
        if let Some(grants) = &mut token.grants {
            let sql = Sql::new("SELECT instance_id FROM token_grants WHERE token_id = $1");
            grants.extend(sql.bind(token.id).all(&self.db, |row| row.id("instance_id")).await?);
        }
        Ok(Some((token, role)))
    }

    /// A person's tokens that were not revoked, the newest first.
    pub async fn tokens_of(&self, person_id: Uuid) -> Result<Vec<TokenRow>> {
        let grants = Sql::new(
            "SELECT g.token_id, g.instance_id FROM token_grants g JOIN tokens t ON t.id = g.token_id
             WHERE t.person_id = $1",
        )
        .bind(person_id)
        .all(&self.db, |row| Ok((row.id("token_id")?, row.id("instance_id")?)))
        .await?;
        let sql =
            Sql::new("SELECT * FROM tokens WHERE person_id = $1 AND revoked_at IS NULL ORDER BY id DESC");
        let mut tokens = sql.bind(person_id).all(&self.db, read).await?;
        for token in &mut tokens {
            if let Some(granted) = &mut token.grants {
                granted.extend(grants.iter().filter(|it| it.0 == token.id).map(|it| it.1));
            }
        }
        Ok(tokens)
    }

    /// Ends a person's token. `false`: it is not theirs, or was revoked before.
    pub async fn revoke_token(&self, person_id: Uuid, id: Uuid) -> Result<bool> {
        let sql = Sql::new(
            "UPDATE tokens SET revoked_at = $3 WHERE id = $1 AND person_id = $2 AND revoked_at IS NULL",
        );
        Ok(sql.bind(id).bind(person_id).bind(now()).run(On::Db(&self.db)).await? > 0)
    }

    /// Remembers that a token was used just now.
    pub async fn token_used(&self, id: Uuid) -> Result<()> {
        let sql = Sql::new("UPDATE tokens SET last_used_at = $2 WHERE id = $1");
        sql.bind(id).bind(now()).run(&self.db).await?;
        Ok(())
    }
}

fn read(row: &Row) -> Result<TokenRow> {
    Ok(TokenRow {
        id: row.id("id")?,
        person_id: row.id("person_id")?,
        name: row.text("name")?,
        names_profile: row.text("names_profile")?,
        grants: row.flag("limited")?.then(HashSet::new),
        last_used_at: row.maybe_int("last_used_at")?,
        created_at: row.int("created_at")?,
    })
}
