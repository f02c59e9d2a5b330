//! What the hub offers by itself. It has no connection that could be lost; what it lists is made here, or known to
//! the tab hub.

use std::sync::Arc;

use toolgrove_core::Error;
use toolgrove_core::tabs::{Entry, TabCall};
use toolgrove_wire::{Abilities, Raw, modern};

use super::{Kind, Link};
use crate::context::{Context, LiveFeed};
use crate::desk::Desk;
use crate::era::{DISCOVER, Plan, Session};
use crate::failure::Failure;
use crate::speech::Ask;
use crate::tabs::Tabs;

const METHOD_NOT_FOUND: i64 = -32601;

#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) desk: Arc<Desk>,
    tabs: Option<OwnTabs>,
}

/// The tabs of the person whose instance this is.
#[derive(Debug)]
struct OwnTabs {
    tabs: Arc<Tabs>,
    person: uuid::Uuid,
    /// Changes of the list are reported unasked.
    _feed: LiveFeed,
}

pub(crate) fn open(context: &Arc<Context>, plan: &Plan) -> Link {
    let session = Session::modern(context, modern::VERSION, "part of the hub").discovered(&introduction());
    let tabs = context.tabs.clone().filter(|_| context.instance.is_tabs());
    let tabs =
        tabs.map(|tabs| OwnTabs { tabs, person: context.instance.person, _feed: context.feed_is_live() });
    Link::new(context, session, plan, Kind::Builtin(Builtin { desk: Desk::new(Abilities::NONE), tabs }))
}

fn introduction() -> Raw {
    Raw::of(&serde_json::json!({ "capabilities": { "tools": {} } }))
}

impl Builtin {
    pub(crate) async fn ask(&self, ask: &Ask<'_>) -> Result<Raw, Failure> {
        match (ask.method, &self.tabs) {
            (DISCOVER, _) => Ok(introduction()),
            ("tools/list", Some(own)) => {
                let tools: Vec<Raw> = own.tabs.list(own.person).iter().map(Entry::listed).collect();
                Ok(Raw::object("tools", &Raw::array(&tools)))
            }
            ("tools/list", None) => Ok(Raw::of(&serde_json::json!({ "tools": [] }))),
            ("tools/call", Some(own)) => own.call(ask).await.map_err(Failure::Final),
            (method, _) => {
                let message = format!("there is no `{method}` here");
                Err(Failure::Final(Error::Server { code: METHOD_NOT_FOUND, message, data: None }))
            }
        }
    }
}

impl OwnTabs {
    async fn call(&self, ask: &Ask<'_>) -> Result<Raw, Error> {
        let name = ask.params.get_text("name").unwrap_or_default();
        let args = ask.params.get("arguments").filter(|it| !it.is_null());
        // A client of the relay may say which page it means, beside the arguments.
        let meta = ask.params.get("_meta");
        let said =
            |key: &str| ask.params.get_text(key).or_else(|| meta.as_ref().and_then(|it| it.get_text(key)));
        let call = TabCall {
            person: self.person,
            name: &name,
            args: args.unwrap_or_else(Raw::empty_object),
            source: said("requestTabId").or_else(|| said("sourceId")),
            abilities: ask.abilities,
            events: ask.events,
        };
        self.tabs.call(call).await
    }
}
