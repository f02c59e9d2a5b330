//! Which era a server speaks: what to try first, what its answer proves, and what was agreed.
//!
//! The first message on an undecided link is `server/discover`, because a legacy server would run anything else
//! under legacy rules. No single error code decides: whatever does not prove modern leads to `initialize`, and only
//! an answered `initialize` proves legacy. Refused credentials, outages and silence prove nothing.

use std::sync::Arc;
use std::time::Duration;

use toolgrove_core::Error;
use toolgrove_core::instance::{Era, EraSetting, Instance, Verdict};
use toolgrove_wire::capability::Declared;
use toolgrove_wire::legacy::{self, Version};
use toolgrove_wire::modern::{self, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use toolgrove_wire::{Abilities, Draft, Raw};

use crate::context::Context;
use crate::failure::Failure;
use crate::mux::Mux;
use crate::speech::{Ask, Leaving, Speech};

pub(crate) const DISCOVER: &str = "server/discover";
pub(crate) const INITIALIZE: &str = "initialize";
pub(crate) const INITIALIZED: &str = "notifications/initialized";

/// How long an undecided server on lines may be silent before it is asked the legacy way too.
const SILENCE: Duration = Duration::from_secs(3);

/// What to try first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    Probe,
    Modern { version: String, trust: Trust },
    Legacy { version: String, trust: Trust },
}

/// Whether a plan may turn out wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// A person said so: there is no other way.
    Told,
    /// An earlier probe found it.
    Found,
}

impl Plan {
    pub(crate) fn of(instance: &Instance, known: Option<&Verdict>, now_ms: i64) -> Self {
        if let Some(version) = instance.protocol.clone() {
            return if version.as_str() >= modern::VERSION {
                Self::Modern { version, trust: Trust::Told }
            } else {
                Self::Legacy { version, trust: Trust::Told }
            };
        }
        let offer = || Version::LATEST.as_str().to_owned();
        match (instance.era, known.filter(|it| it.holds(now_ms))) {
            (EraSetting::Modern, _) => Self::Modern { version: modern::VERSION.into(), trust: Trust::Told },
            (EraSetting::Legacy, _) => Self::Legacy { version: offer(), trust: Trust::Told },
            (EraSetting::Auto, Some(Verdict { era: Era::Modern, version, .. })) => {
                Self::Modern { version: version.clone(), trust: Trust::Found }
            }
            (EraSetting::Auto, Some(_)) => Self::Legacy { version: offer(), trust: Trust::Found },
            (EraSetting::Auto, None) => Self::Probe,
        }
    }
}

impl Plan {
    /// Whether what is found may differ from what was planned.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Self::Modern { trust: Trust::Told, .. } | Self::Legacy { trust: Trust::Told, .. })
    }
}

/// What was agreed with a server.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) era: Era,
    pub(crate) version: String,
    pub(crate) speech: Speech,
    pub(crate) capabilities: Raw,
    pub(crate) server_info: Option<Raw>,
    pub(crate) instructions: Option<String>,
    pub(crate) evidence: String,
    /// Whether the server was asked about itself, as opposed to taken for what it was before.
    pub(crate) introduced: bool,
}

impl Session {
    /// A modern server of which nothing is known but its revision: all that a stateless call needs.
    pub(crate) fn modern(context: &Context, version: &str, evidence: impl Into<String>) -> Self {
        Self {
            era: Era::Modern,
            version: version.to_owned(),
            speech: Speech::modern(version, &context.options.client),
            capabilities: Raw::empty_object(),
            server_info: None,
            instructions: None,
            evidence: evidence.into(),
            introduced: false,
        }
    }

    /// Takes over what a `DiscoverResult` says.
    pub(crate) fn discovered(mut self, result: &Raw) -> Self {
        self.introduced = true;
        self.capabilities = object(result, "capabilities");
        self.instructions = result.get_text("instructions");
        self.server_info = result.get("_meta").and_then(|it| it.get(modern::KEY_SERVER));
        self
    }

    /// What an `InitializeResult` says. An unknown revision is refused.
    pub(crate) fn initialized(
        context: &Context,
        result: &Raw,
        evidence: impl Into<String>,
    ) -> Result<Self, Error> {
        let version = result.get_text("protocolVersion").unwrap_or_default();
        if Version::parse(&version).is_none() {
            return Err(context.garbled(format!(
                "it answered with the protocol revision `{version}`, which Toolgrove does not know"
            )));
        }
        Ok(Self {
            era: Era::Legacy,
            version,
            speech: Speech::Legacy,
            capabilities: object(result, "capabilities"),
            server_info: result.get("serverInfo"),
            instructions: result.get_text("instructions"),
            evidence: evidence.into(),
            introduced: true,
        })
    }

    pub(crate) fn verdict(&self, now_ms: i64) -> Verdict {
        Verdict { era: self.era, version: self.version.clone(), evidence: self.evidence.clone(), at: now_ms }
    }
}

fn object(raw: &Raw, key: &str) -> Raw {
    raw.get(key).filter(Raw::is_object).unwrap_or_else(Raw::empty_object)
}

/// What the answer to `server/discover` proves.
#[derive(Debug)]
pub(crate) enum Finding {
    Modern(Session),
    /// Not modern: try `initialize`.
    Legacy,
    /// Nothing, or that we cannot talk to it.
    Nothing(Failure),
}

pub(crate) fn find(context: &Context, answer: Result<Raw, Failure>, version: &str) -> Finding {
    match answer {
        Ok(result) => find_in_result(context, &result, version),
        Err(Failure::Refused { status: 401 | 403 | 408 | 429 | 500.., error }) => {
            Finding::Nothing(Failure::Final(error))
        }
        Err(Failure::Final(error) | Failure::Refused { error, .. }) => find_in_error(context, error, version),
        Err(failure) => Finding::Nothing(failure),
    }
}

fn find_in_result(context: &Context, result: &Raw, version: &str) -> Finding {
    let Some(versions) = result.get("supportedVersions").filter(Raw::is_array) else {
        return Finding::Legacy;
    };
    match offers(&versions, version) {
        Offer::Ours => {
            Finding::Modern(Session::modern(context, version, "answered server/discover").discovered(result))
        }
        Offer::Legacy => Finding::Legacy,
        Offer::Unknown(versions) => Finding::Nothing(unknown(context, &versions)),
    }
}

fn find_in_error(context: &Context, error: Error, version: &str) -> Finding {
    let Error::Server { code, data, .. } = &error else {
        return match error {
            Error::Answered { .. } => Finding::Legacy,
            error => Finding::Nothing(error.into()),
        };
    };
    match (*code, data) {
        (UNSUPPORTED_VERSION, Some(data)) => match data.get("supported").map(|it| offers(&it, version)) {
            Some(Offer::Legacy) => Finding::Legacy,
            Some(Offer::Unknown(versions)) => Finding::Nothing(unknown(context, &versions)),
            Some(Offer::Ours) | None => {
                Finding::Modern(Session::modern(context, version, format!("answered {code}")))
            }
        },
        (HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION, _) => {
            Finding::Modern(Session::modern(context, version, format!("answered {code}")))
        }
        (-32001 | -32003 | -32004, Some(data))
            if data.get("supported").or_else(|| data.get("requiredCapabilities")).is_some() =>
        {
            Finding::Nothing(
                context.garbled("it speaks a pre-release of 2026-07-28, which is not supported").into(),
            )
        }
        _ => Finding::Legacy,
    }
}

enum Offer {
    Ours,
    Legacy,
    Unknown(String),
}

fn offers(versions: &Raw, version: &str) -> Offer {
    if versions.items().any(|it| it.text().is_some_and(|it| it == version)) {
        Offer::Ours
    } else if versions.items().any(|it| it.text().is_some_and(|it| Version::parse(&it).is_some())) {
        Offer::Legacy
    } else {
        Offer::Unknown(versions.as_str().to_owned())
    }
}

fn unknown(context: &Context, versions: &str) -> Failure {
    context
        .garbled(format!("it speaks only the protocol revisions {versions}, which Toolgrove does not know"))
        .into()
}

pub(crate) fn handshake<'a>(method: &'static str, params: &'a Draft, timeout: Duration) -> Ask<'a> {
    Ask::own(method, params, timeout, Leaving::Silent)
}

pub(crate) fn initialize_params(context: &Context, version: &str, declared: Abilities) -> Draft {
    let declared = declared.declare(Declared::Legacy);
    legacy::initialize_params(version, &declared, &context.options.client).into()
}

/// Agrees on an era over lines. [`Failure::Lost`] means that the other side closed the connection.
pub(crate) async fn negotiate(mux: &Arc<Mux>, plan: &Plan, start: Duration) -> Result<Session, Failure> {
    match plan {
        Plan::Legacy { version, trust } => match initialize(mux, version, start, "answered initialize").await
        {
            Err(Failure::Final(error @ Error::Server { .. })) if *trust == Trust::Found => {
                match discover(mux, modern::VERSION, start).await {
                    Finding::Modern(session) => Ok(session),
                    _ => Err(error.into()),
                }
            }
            other => other,
        },
        Plan::Modern { version, trust: Trust::Told } => match discover(mux, version, start).await {
            Finding::Modern(session) => Ok(session),
            Finding::Legacy => {
                Err(mux.context.garbled(format!("it does not speak the protocol revision {version}")).into())
            }
            Finding::Nothing(failure) => Err(failure),
        },
        Plan::Probe | Plan::Modern { .. } => probe(mux, start).await,
    }
}

async fn discover(mux: &Arc<Mux>, version: &str, start: Duration) -> Finding {
    let speech = Speech::modern(version, &mux.context.options.client);
    let params = Raw::empty_object().into();
    let answer = mux.ask(&speech, &handshake(DISCOVER, &params, start)).await;
    find(&mux.context, answer, version)
}

async fn initialize(
    mux: &Arc<Mux>,
    version: &str,
    start: Duration,
    evidence: &str,
) -> Result<Session, Failure> {
    let params = initialize_params(&mux.context, version, mux.desk.declared);
    let result = mux.ask(&Speech::Legacy, &handshake(INITIALIZE, &params, start)).await?;
    let session = Session::initialized(&mux.context, &result, evidence)?;
    mux.notify(INITIALIZED, None).await?;
    Ok(session)
}

/// Initializes over a link that can only be legacy.
pub(crate) async fn initialize_only(
    mux: &Arc<Mux>,
    plan: &Plan,
    start: Duration,
    evidence: &str,
) -> Result<Session, Failure> {
    let version = match plan {
        Plan::Legacy { version, .. } => version,
        _ => Version::LATEST.as_str(),
    };
    initialize(mux, version, start, evidence).await
}

/// Asks the modern way first and, after a while of silence, the legacy way too; the first valid answer wins.
async fn probe(mux: &Arc<Mux>, start: Duration) -> Result<Session, Failure> {
    let modern = discover(mux, modern::VERSION, start);
    tokio::pin!(modern);
    let legacy = initialize(mux, Version::LATEST.as_str(), start, "answered initialize, not server/discover");
    tokio::pin!(legacy);
    match tokio::time::timeout(SILENCE, &mut modern).await {
        Ok(Finding::Modern(session)) => return Ok(session),
        Ok(Finding::Legacy) => return legacy.await,
        Ok(Finding::Nothing(failure)) => return Err(failure),
        Err(_) => {}
    }
    tokio::select! {
        finding = &mut modern => match finding {
            Finding::Modern(session) => Ok(session),
            Finding::Legacy => legacy.await,
            Finding::Nothing(failure) => Err(failure),
        },
        session = &mut legacy => match session {
            Ok(session) => Ok(session),
            // A late answer to discover beats a failed initialize.
            Err(failure) => match modern.await {
                Finding::Modern(session) => Ok(session),
                _ => Err(failure),
            },
        },
    }
}

/// A code that belongs to our own hop is not passed on to a client. What the hub can mend, it gets to see.
pub(crate) fn without_hop_codes(error: Error) -> Error {
    match error {
        Error::Server { code: UNSUPPORTED_VERSION, message, data } => {
            Error::Server { code: toolgrove_wire::envelope::INTERNAL_ERROR, message, data }
        }
        error => error,
    }
}

/// Whether an HTTP refusal shows that the server speaks the other era than the link.
pub(crate) fn is_other_era(era: Era, status: u16, error: &Error) -> bool {
    let code = match error {
        Error::Server { code, .. } => Some(*code),
        _ => None,
    };
    let proves_modern = matches!(code, Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION));
    match era {
        // Our own fixtures are not alone in naming a missing capability in a session.
        Era::Legacy => matches!(code, Some(HEADER_MISMATCH | UNSUPPORTED_VERSION)),
        Era::Modern => {
            matches!(status, 400 | 404 | 405)
                && !proves_modern
                && !matches!((status, code), (404, Some(-32601)) | (_, Some(-32700 | -32602 | -32603)))
        }
    }
}

#[cfg(test)]
mod tests;
