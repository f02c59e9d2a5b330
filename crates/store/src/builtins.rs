//! What everybody has from the hub itself: two servers in no workspace, and an instance of each.

use uuid::Uuid;

use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::{InstanceRow, ServerRow, Store, instances, servers};

/// Names and slugs of what comes with the hub. Nobody else can have these slugs.
pub const BUILTINS: [(&str, &str); 2] = [
    ("builtin", "Small tools of the hub itself"),
    ("tabs", "Tools of the pages that are open in your browser"),
];

const ORIGIN: &str = "builtin";

impl Store {
    /// Gives everybody what they lack. Says who got something.
    pub async fn give_builtins(&self) -> Result<Vec<InstanceRow>> {
        let mut tx = self.db.begin().await?;
        tx.lock_setup().await?;
        let mut given = Vec::new();
        for (name, description) in BUILTINS {
            let server_id = server(&mut tx, name, description).await?;
            let lacking = Sql::new(
                "SELECT id FROM people p WHERE NOT EXISTS
                    (SELECT 1 FROM mcp_instances i WHERE i.person_id = p.id AND i.server_id = $1) ORDER BY id",
            );
            for person_id in lacking.bind(server_id).all(&mut tx, |row| row.id("id")).await? {
                let mut instance = InstanceRow::new(person_id, server_id, name);
                instance.description = description.to_owned();
                instance.status = "ready".into();
                instances::insert(&mut tx, &instance).await?;
                given.push(instance);
            }
        }
        tx.commit().await?;
        Ok(given)
    }
}

/// The id of a built-in server, which the first hub makes.
async fn server(tx: &mut Tx, name: &str, description: &str) -> Result<Uuid> {
    let found = Sql::new("SELECT id FROM mcp_servers WHERE workspace_id IS NULL AND owner_id IS NULL")
        .and("origin =", ORIGIN)
        .and("name =", name);
    if let Some(id) = found.first(&mut *tx, |row| row.id("id")).await? {
        return Ok(id);
    }
    let mut row = ServerRow::new(name, ORIGIN, &format!("builtin:{name}"), ORIGIN);
    row.description = description.to_owned();
    servers::insert(tx, &row).await?;
    Ok(row.id)
}
