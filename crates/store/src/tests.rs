//! Every behaviour is checked on both databases: one body, two places to run it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

/// Makes a test of each named `async fn(Place)` in `on_sqlite` and in `on_postgres`.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $name() { crate::tests::place::on_sqlite(super::$name); })+
        }
        mod on_postgres {
            $(#[test] fn $name() { crate::tests::place::on_postgres(super::$name); })+
        }
    };
}

mod activity;
mod buds;
mod bundles;
mod call_pages;
mod calls;
mod clients;
mod crash;
mod credentials;
mod instances;
mod oauth;
mod open;
mod people;
mod place;
mod seal_keys;
mod sealed;
mod secrets;
mod servers;
mod tabs;
mod tools;
mod upgrade;
