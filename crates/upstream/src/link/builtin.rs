//! What the hub offers by itself. It has no connection that could be lost; what it lists is made here.

use std::sync::Arc;

use toolgrove_core::Error;
use toolgrove_wire::{Abilities, Raw, modern};

use super::{Kind, Link};
use crate::context::Context;
use crate::desk::Desk;
use crate::era::{DISCOVER, Plan, Session};
use crate::failure::Failure;
use crate::speech::Ask;

const METHOD_NOT_FOUND: i64 = -32601;

#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) desk: Arc<Desk>,
}

pub(crate) fn open(context: &Arc<Context>, plan: &Plan) -> Link {
    let session = Session::modern(context, modern::VERSION, "part of the hub").discovered(&introduction());
    Link::new(context, session, plan, Kind::Builtin(Builtin { desk: Desk::new(Abilities::NONE) }))
}

fn introduction() -> Raw {
    Raw::of(&serde_json::json!({ "capabilities": { "tools": {} } }))
}

pub(crate) fn answer(ask: &Ask<'_>) -> Result<Raw, Failure> {
    match ask.method {
        DISCOVER => Ok(introduction()),
        "tools/list" => Ok(Raw::of(&serde_json::json!({ "tools": [] }))),
        method => {
            let message = format!("there is no `{method}` here");
            Err(Failure::Final(Error::Server { code: METHOD_NOT_FOUND, message, data: None }))
        }
    }
}
