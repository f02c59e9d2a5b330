//! Sign-in to servers of other people: who we are at a provider, sign-ins under way, tokens, and what servers asked
//! for. Everything secret is sealed; every secret is kept under the issuer it belongs to.

mod clients;
mod demands;
mod pending;
mod tokens;

pub use clients::OauthClientRow;
pub use demands::{DemandRow, Wants};
pub use pending::PendingRow;
pub use tokens::{NewToken, OauthTokenRow, Taken};
