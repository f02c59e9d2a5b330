//! Why the store could not do what was asked.
//!
//! Only what a caller acts on has a variant of its own; the rest is the database's own word.

use std::path::PathBuf;

/// Everything that can go wrong between the hub and its memory.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("a server called `{name}` already exists in the workspace")]
    NameTaken { name: String },
    #[error("slug `{slug}` is already in use")]
    SlugTaken { slug: String },
    #[error("somebody here has the address `{email}` already")]
    EmailTaken { email: String },
    #[error("this is the only admin who can sign in")]
    LastAdmin,
    #[error("`{url}` is not a database address")]
    Url { url: String },
    #[error("cannot open the database")]
    Open(#[source] sqlx::Error),
    #[error("the database has version {found}, this Toolgrove knows versions up to {known}")]
    Newer { found: i64, known: i64 },
    #[error("cannot bring the database to version {version}")]
    Migration { version: i64, source: sqlx::Error },
    #[error("key file `{}` is damaged: {problem}", path.display())]
    KeyFile { path: PathBuf, problem: String },
    #[error("cannot use key file `{}`", path.display())]
    KeyFileAccess { path: PathBuf, source: std::io::Error },
    #[error("the stored secret `{context}` does not open with any key of the key file")]
    Sealed { context: String },
    #[error("the database holds an unreadable {what}: {problem}")]
    Unreadable { what: &'static str, problem: String },
    #[error("the database refused")]
    Database(#[from] sqlx::Error),
}

impl StoreError {
    /// The stable, dotted name of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NameTaken { .. } => "server.name-taken",
            Self::SlugTaken { .. } => "instance.slug-taken",
            Self::EmailTaken { .. } => "people.email-taken",
            Self::LastAdmin => "people.last-admin",
            Self::Url { .. } => "store.url",
            Self::Open(_) => "store.open",
            Self::Newer { .. } => "store.newer",
            Self::Migration { .. } => "store.migration",
            Self::KeyFile { .. } | Self::KeyFileAccess { .. } => "store.key-file",
            Self::Sealed { .. } => "store.sealed",
            Self::Unreadable { .. } => "store.unreadable",
            Self::Database(_) => "store.database",
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Url { .. } => "write `sqlite:<path>` or `postgres://user@host/database`",
            Self::Newer { .. } => "start the newer Toolgrove that made it, or choose another `[store] url`",
            Self::KeyFile { .. } => {
                "restore the file from a backup; without it stored secrets cannot be read"
            }
            Self::Sealed { .. } => "restore the key file that sealed it, or enter the secret again",
            _ => return None,
        })
    }

    /// The error for a row that broke the unique index `index`, or the error itself.
    pub(crate) fn or_taken(self, index: &str, taken: impl FnOnce() -> Self) -> Self {
        // PostgreSQL names the index as a field, SQLite only inside its message.
        match &self {
            Self::Database(sqlx::Error::Database(cause))
                if cause.is_unique_violation()
                    && (cause.constraint() == Some(index) || cause.message().contains(index)) =>
            {
                taken()
            }
            _ => self,
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, StoreError>;
