//! Values on their way into a statement, and rows on their way out of either database.
//!
//! Only four kinds exist, so that both databases keep them alike: text (ids and JSON too), whole numbers (times
//! too), floats and flags.

use std::sync::Arc;

use serde_json::Value as Json;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, Row as _};
use uuid::Uuid;

use crate::error::{Result, StoreError};

/// A bound value. The kind is known even when the value is absent, because PostgreSQL types its NULLs.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(Option<Arc<str>>),
    Int(Option<i64>),
    Float(Option<f64>),
    Flag(bool),
}

macro_rules! value_from {
    ($($from:ty, $it:ident => $value:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($it: $from) -> Self {
                $value
            }
        })*
    };
}
value_from! {
    &str, it => Self::Text(Some(it.into()));
    Arc<str>, it => Self::Text(Some(it));
    String, it => Self::Text(Some(it.into()));
    &String, it => it.as_str().into();
    &Option<String>, it => it.as_deref().into();
    Option<&str>, it => Self::Text(it.map(Into::into));
    Uuid, it => (&*it.hyphenated().encode_lower(&mut Uuid::encode_buffer())).into();
    Option<Uuid>, it => it.map_or(Self::Text(None), Into::into);
    &Json, it => it.to_string().into();
    &Option<Json>, it => it.as_ref().map(Json::to_string).into();
    Option<String>, it => Self::Text(it.map(Into::into));
    i64, it => Self::Int(Some(it));
    Option<i64>, it => Self::Int(it);
    f64, it => Self::Float(Some(it));
    Option<f64>, it => Self::Float(it);
    bool, it => Self::Flag(it);
}

pub(crate) fn sqlite(values: Vec<Value>) -> Result<SqliteArguments> {
    arguments(values)
}

pub(crate) fn postgres(values: Vec<Value>) -> Result<PgArguments> {
    arguments(values)
}

fn arguments<A: Arguments>(values: Vec<Value>) -> Result<A>
where
    Option<Arc<str>>: for<'t> sqlx::Encode<'t, A::Database> + sqlx::Type<A::Database>,
    Option<i64>: for<'t> sqlx::Encode<'t, A::Database> + sqlx::Type<A::Database>,
    Option<f64>: for<'t> sqlx::Encode<'t, A::Database> + sqlx::Type<A::Database>,
    bool: for<'t> sqlx::Encode<'t, A::Database> + sqlx::Type<A::Database>,
{
    let mut arguments = A::default();
    for value in values {
        match value {
            Value::Text(it) => arguments.add(it),
            Value::Int(it) => arguments.add(it),
            Value::Float(it) => arguments.add(it),
            Value::Flag(it) => arguments.add(it),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

/// One row of an answer, read by column name.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

macro_rules! column {
    ($row:expr, $name:expr) => {
        Ok(match $row {
            Row::Sqlite(row) => row.try_get($name)?,
            Row::Postgres(row) => row.try_get($name)?,
        })
    };
}

impl Row {
    pub(crate) fn text(&self, column: &str) -> Result<String> {
        column!(self, column)
    }

    pub(crate) fn maybe_text(&self, column: &str) -> Result<Option<String>> {
        column!(self, column)
    }

    pub(crate) fn int(&self, column: &str) -> Result<i64> {
        column!(self, column)
    }

    pub(crate) fn maybe_int(&self, column: &str) -> Result<Option<i64>> {
        column!(self, column)
    }

    pub(crate) fn float(&self, column: &str) -> Result<f64> {
        column!(self, column)
    }

    pub(crate) fn maybe_float(&self, column: &str) -> Result<Option<f64>> {
        column!(self, column)
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool> {
        column!(self, column)
    }

    pub(crate) fn id(&self, column: &str) -> Result<Uuid> {
        parse_id(&self.text(column)?)
    }

    pub(crate) fn maybe_id(&self, column: &str) -> Result<Option<Uuid>> {
        self.maybe_text(column)?.as_deref().map(parse_id).transpose()
    }

    pub(crate) fn json(&self, column: &str) -> Result<Json> {
        parse_json(&self.text(column)?)
    }

    pub(crate) fn maybe_json(&self, column: &str) -> Result<Option<Json>> {
        self.maybe_text(column)?.as_deref().map(parse_json).transpose()
    }
}

fn parse_id(text: &str) -> Result<Uuid> {
    Uuid::parse_str(text).map_err(|it| StoreError::Unreadable { what: "id", problem: it.to_string() })
}

fn parse_json(text: &str) -> Result<Json> {
    serde_json::from_str(text).map_err(|it| StoreError::Unreadable { what: "JSON", problem: it.to_string() })
}
