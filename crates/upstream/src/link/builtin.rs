//! What the hub offers by itself: buds, tabs, and its own few tools. It has no connection that could be lost; what it
//! lists is made here, or known to the tab hub. What it runs is run by whoever the pool hands it to.

use std::sync::Arc;

use toolgrove_core::Error;
use toolgrove_core::bud::{Bud, BudMethod};
use toolgrove_core::builtin;
use toolgrove_core::instance::Transport;
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
    context: Arc<Context>,
    part: Part,
}

/// Which part of the hub it is.
#[derive(Debug)]
enum Part {
    Tabs(OwnTabs),
    /// Another bud is another instance, so nothing changes while the link is open.
    Bud {
        bud: Arc<Bud>,
        _feed: LiveFeed,
    },
    /// The hub's own small tools, which change with the hub only.
    Own {
        _feed: LiveFeed,
    },
    Nothing,
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
    let part = match (&context.instance.transport, &context.tabs) {
        (Transport::Bud(bud), _) => Part::Bud { bud: bud.clone(), _feed: context.feed_is_live() },
        (_, Some(tabs)) if context.instance.is_tabs() => Part::Tabs(OwnTabs {
            tabs: tabs.clone(),
            person: context.instance.person,
            _feed: context.feed_is_live(),
        }),
        _ if context.instance.is_own() => Part::Own { _feed: context.feed_is_live() },
        _ => Part::Nothing,
    };
    let builtin = Builtin { desk: Desk::new(Abilities::NONE), context: context.clone(), part };
    Link::new(context, session, plan, Kind::Builtin(builtin))
}

fn introduction() -> Raw {
    Raw::of(&serde_json::json!({ "capabilities": { "tools": {} } }))
}

impl Builtin {
    pub(crate) async fn ask(&self, ask: &Ask<'_>) -> Result<Raw, Failure> {
        match (ask.method, &self.part) {
            (DISCOVER, _) => Ok(introduction()),
            ("tools/list", part) => Ok(Raw::object("tools", &Raw::array(&part.tools()))),
            ("tools/call", Part::Tabs(own)) => own.call(ask).await.map_err(Failure::Final),
            ("tools/call", _) => self.run(ask).await.map_err(Failure::Final),
            (method, _) => {
                let message = format!("there is no `{method}` here");
                Err(Failure::Final(Error::Server { code: METHOD_NOT_FOUND, message, data: None }))
            }
        }
    }

    async fn run(&self, ask: &Ask<'_>) -> Result<Raw, Error> {
        match (&self.context.own, ask.outgoing) {
            (Some(own), Some(outgoing)) => own.call(&self.context.instance, outgoing, ask.events).await,
            _ => Err(self.context.unreachable("nobody runs it here")),
        }
    }
}

impl Part {
    fn tools(&self) -> Vec<Raw> {
        match self {
            Self::Tabs(own) => own.tabs.hand_out(own.person).iter().map(Entry::listed).collect(),
            Self::Bud { bud, .. } => {
                bud.preset.methods().iter().map(BudMethod::listed).map(|it| Raw::of(&it)).collect()
            }
            Self::Own { .. } => builtin::tools(),
            Self::Nothing => Vec::new(),
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
