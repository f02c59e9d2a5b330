//! Whether a call may go through. Every call asks here, whatever its door.

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::oneshot;
use toolgrove_wire::{Abilities, Raw};

use crate::Error;
use crate::call::Call;
use crate::catalog::Route;
use crate::event::{Ask, Event, Events, Question};
use crate::instance::{Instance, Transport};
use crate::offer::Permission;

/// How far a workspace has come with calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// What there is can be looked at.
    Alpha,
    /// Buds and what is part of the hub can be called.
    Beta,
    /// Everything can.
    #[default]
    Gamma,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Alpha, Self::Beta, Self::Gamma];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Gamma => "gamma",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

/// Whether the workspace lets anything of this instance be called. A page in a browser is as foreign as a server.
pub fn is_open(instance: &Instance) -> Result<(), Error> {
    let is_ours = match &instance.transport {
        Transport::Bud(_) => true,
        Transport::Builtin => !instance.is_tabs(),
        _ => false,
    };
    match instance.phase {
        Phase::Alpha => Err(Error::CallsOff),
        Phase::Beta if !is_ours => Err(Error::ExternalOff),
        Phase::Beta | Phase::Gamma => Ok(()),
    }
}

/// Whether a call goes on as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// Somebody has to be asked first.
    Ask,
}

/// Decides on one tool call. Switches are the catalogue's; this is about permission.
pub fn decide(route: &Route, name: &str) -> Result<Decision, Error> {
    is_open(&route.instance)?;
    if route.tool.is_held() {
        return Err(Error::ToolChanged { tool: name.to_owned() });
    }
    match route.tool.permission {
        Permission::Allow => Ok(Decision::Allow),
        Permission::Ask => Ok(Decision::Ask),
        Permission::Block => Err(Error::Denied { tool: name.to_owned(), unasked: false }),
    }
}

/// Asks the person behind a call whether it may run. Who cannot be asked, or says anything but yes, may not. `own` is
/// what the server calls the tool.
pub(crate) async fn ask(call: &Call, own: String, instance: &Instance, events: &Events) -> Result<(), Error> {
    let name = call.params.get_text("name").unwrap_or_default();
    let denied = |unasked| Error::Denied { tool: name.clone(), unasked };
    if !call.abilities.has(Abilities::FORM) {
        return Err(denied(true));
    }
    let arguments =
        call.params.get("arguments").map(|it| it.as_str().chars().take(2_000).collect::<String>());
    let message = match arguments.filter(|it| it.trim() != "{}") {
        Some(arguments) => format!("may `{name}` be called with {arguments}?"),
        None => format!("may `{name}` be called?"),
    };
    let params = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": { "type": "object", "properties": {} },
    });
    let (reply, answer) = oneshot::channel();
    events.send(Event::Ask(Ask {
        question: Question::Elicit,
        params: Raw::of(&params),
        key: Some("permission".into()),
        server: instance.server_name.clone(),
        permission: Some((instance.id, own)),
        reply,
    }));
    match answer.await {
        Ok(Ok(answer)) if answer.get_text("action").as_deref() == Some("accept") => Ok(()),
        _ => Err(denied(false)),
    }
}
