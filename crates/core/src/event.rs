//! What happens while a call runs, and what servers say unasked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc;
use tokio::sync::oneshot;
use tokio::time::Instant;
use toolgrove_wire::{Abilities, Edit, Raw, RpcError};
use uuid::Uuid;

use crate::Error;
use crate::instance::Verdict;
use crate::timeline::{Clock, TabOfCall, Timeline};

/// Something a running call wants its caller to know or to answer. The parameters are the message's own, without the
/// keys of its hop.
#[derive(Debug)]
pub enum Event {
    Progress(Raw),
    Log(Raw),
    Ask(Ask),
    /// A person has finished what a URL elicitation sent them to: `notifications/elicitation/complete`.
    Elicited(Raw),
}

/// A question of a server in the middle of a call. Dropping it declines it, in the words its kind has for that.
#[derive(Debug)]
pub struct Ask {
    pub question: Question,
    pub params: Raw,
    /// The key under which the server would like a modern client to answer.
    pub key: Option<String>,
    /// Who asks, as a person knows it.
    pub server: String,
    /// Where the hub itself asks whether a tool may be called: its instance and its own name.
    pub permission: Option<(Uuid, String)>,
    pub reply: oneshot::Sender<Result<Raw, RpcError>>,
}

/// How many questions of one call may wait for a caller who is away, and how large each may be.
pub const MOST_ASKS: usize = 16;
pub const LONGEST_ASK: usize = 256 * 1024;

/// The three questions a server may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    Elicit,
    Sample,
    Roots,
}

impl Question {
    pub const ALL: [Self; 3] = [Self::Elicit, Self::Sample, Self::Roots];

    pub fn method(self) -> &'static str {
        match self {
            Self::Elicit => "elicitation/create",
            Self::Sample => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    pub fn parse(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.method() == method)
    }

    /// Whether an answer has the shape this question wants.
    pub fn accepts(self, answer: &Raw) -> bool {
        match self {
            Self::Elicit => match answer.get_text("action").as_deref() {
                Some("accept") => answer.get("content").is_none_or(|it| it.is_object()),
                Some("decline" | "cancel") => true,
                _ => false,
            },
            Self::Sample => {
                ["role", "model"].iter().all(|it| answer.get(it).is_some_and(|it| it.is_string()))
                    && answer.get("content").is_some_and(|it| it.is_object() || it.is_array())
            }
            Self::Roots => answer.get("roots").is_some_and(|it| it.is_array()),
        }
    }

    /// Whether a client with these abilities may be asked this.
    pub fn fits(self, params: &Raw, abilities: Abilities) -> bool {
        match self {
            Self::Elicit if params.get_text("mode").as_deref() == Some("url") => {
                abilities.has(Abilities::URL)
            }
            Self::Elicit => abilities.has(Abilities::FORM),
            Self::Sample => abilities.has(Abilities::SAMPLING),
            Self::Roots => abilities.has(Abilities::ROOTS),
        }
    }
}

impl Ask {
    /// The parameters as a client gets them: a person sees who wants to know.
    pub fn signed(&self) -> Raw {
        match (self.question, self.params.get_text("message")) {
            (Question::Elicit, Some(message)) => {
                let message = format!("[{}] {message}", self.server);
                Edit::of(&self.params).set_text("message", &message).done()
            }
            _ => self.params.clone(),
        }
    }
}

/// Where a call's events go. A caller that wants none costs nothing.
#[derive(Debug, Clone, Default)]
pub struct Events {
    tx: Option<mpsc::UnboundedSender<Event>>,
    progress: bool,
    rounds: Arc<Mutex<Rounds>>,
    /// Somebody besides the caller who watches.
    witness: Option<Witness>,
}

/// What a caller hears of its call. Most hear nothing, so it takes no room before there is something.
#[derive(Debug)]
pub struct Heard(Option<mpsc::UnboundedReceiver<Event>>);

impl Heard {
    /// For a caller that wants to hear nothing.
    pub fn nothing() -> Self {
        Self(None)
    }

    /// The next event; none when there will be no more.
    pub async fn recv(&mut self) -> Option<Event> {
        self.0.as_mut()?.next().await
    }

    /// An event that is there already.
    pub fn try_recv(&mut self) -> Option<Event> {
        self.0.as_mut()?.try_recv().ok()
    }
}

/// A running call and what is heard of it, in order: what was said before the end comes before it.
#[derive(Debug)]
pub struct Along<F: Future> {
    running: F,
    heard: Heard,
    end: Option<F::Output>,
}

/// What comes next of a running call.
#[derive(Debug)]
pub enum Next<T> {
    Event(Event),
    End(T),
}

impl<F: Future + Unpin> Along<F> {
    pub fn new(running: F, heard: Heard) -> Self {
        Self { running, heard, end: None }
    }

    /// Not to be asked again after the end.
    pub async fn next(&mut self) -> Next<F::Output> {
        let end = if let Some(end) = self.end.take() {
            end
        } else {
            tokio::select! {
                biased;
                Some(event) = self.heard.recv() => return Next::Event(event),
                end = &mut self.running => end,
            }
        };
        match self.heard.try_recv() {
            Some(event) => {
                self.end = Some(end);
                Next::Event(event)
            }
            None => Next::End(end),
        }
    }
}

/// Hears of a call's events before its caller does.
#[derive(Clone)]
struct Witness(Arc<dyn Fn(&Event) + Send + Sync>);

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Witness")
    }
}

/// What a caller who takes part in rounds has seen of the progress.
#[derive(Debug, Default)]
struct Rounds {
    /// The caller is away between two rounds: only questions wait for it.
    away: bool,
    highest: Option<f64>,
    /// What earlier rounds have reported; a server that begins anew is heard again once it is past that.
    floor: Option<f64>,
    clock: Clock,
    /// Who waits for the call to be let through.
    checked: Option<oneshot::Sender<()>>,
}

/// Whether the caller has asked to be told how far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Wanted,
    Unwanted,
}

impl Events {
    /// For a caller that wants to hear nothing.
    pub fn none() -> Self {
        Self::default()
    }

    pub fn channel(progress: Progress) -> (Self, Heard) {
        let (tx, rx) = mpsc::unbounded();
        let progress = progress == Progress::Wanted;
        (Self { tx: Some(tx), progress, rounds: Arc::default(), witness: None }, Heard(Some(rx)))
    }

    pub fn wants_progress(&self) -> bool {
        self.progress
    }

    /// The caller goes away until the next round. What is reported meanwhile is dropped; questions wait.
    pub fn pause(&self) {
        self.rounds().away = true;
    }

    /// Whether a question may be put to the caller, or may wait for it beside so many that are open.
    pub fn takes(&self, params: &Raw, open: usize) -> bool {
        !self.rounds().away || (open < MOST_ASKS && params.bytes().len() <= LONGEST_ASK)
    }

    /// A new round begins, for which progress goes on where the last one ended.
    pub fn next_round(&self) {
        self.rounds().away = false;
        self.begin_anew();
    }

    /// The server begins again: what it has reported before is not heard twice.
    pub fn begin_anew(&self) {
        let mut rounds = self.rounds();
        rounds.floor = rounds.highest;
    }

    /// Lets somebody else hear what the caller hears.
    pub fn witnessed_by(&mut self, witness: impl Fn(&Event) + Send + Sync + 'static) {
        self.witness = Some(Witness(Arc::new(witness)));
    }

    /// From here on the times of the call are taken.
    pub fn start(&self, now: Instant) {
        self.rounds().clock.start(now);
    }

    /// The call may go to its server.
    pub fn checked(&self) {
        let mut rounds = self.rounds();
        rounds.clock.checked();
        if let Some(waiting) = rounds.checked.take() {
            let _ = waiting.send(());
        }
    }

    /// Tells when the call may go to its server; never, if it may not.
    pub fn when_checked(&self) -> oneshot::Receiver<()> {
        let (tx, rx) = oneshot::channel();
        self.rounds().checked = Some(tx);
        rx
    }

    /// A model has read and written this much for the call.
    pub fn used(&self, input: u64, output: u64) {
        self.rounds().clock.used(input, output);
    }

    /// A link is there for it, after waiting this long for its turn.
    pub fn linked(&self, queued: Option<Duration>) {
        self.rounds().clock.linked(queued);
    }

    /// The call is sent to this tab of a browser.
    pub fn went_to(&self, tab: i64, domain: &str) {
        self.rounds().clock.went_to(TabOfCall { id: tab, domain: domain.to_owned() });
    }

    /// When the call got where, up to now.
    pub fn timeline(&self) -> Timeline {
        self.rounds().clock.take()
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the caller is there to hear this, and has not heard it before.
    fn is_heard(&self, event: &Event) -> bool {
        let mut rounds = self.rounds();
        if let Event::Ask(_) = event {
            rounds.clock.tick(None, None);
        }
        if let Event::Progress(params) = event
            && let Some(value) = number(params, "progress")
        {
            rounds.clock.tick(Some(value), number(params, "total"));
            if rounds.away || rounds.floor.is_some_and(|it| value <= it) {
                return false;
            }
            rounds.highest = Some(rounds.highest.map_or(value, |it| it.max(value)));
        }
        !rounds.away || matches!(event, Event::Ask(_))
    }

    pub fn send(&self, event: Event) {
        if let Some(Witness(tell)) = &self.witness {
            tell(&event);
        }
        if let Some(tx) = self.tx.as_ref().filter(|_| self.is_heard(&event)) {
            // A caller that has gone needs no events; a question sent to nobody is declined by being dropped.
            let _ = tx.unbounded_send(event);
        }
    }
}

fn number(params: &Raw, member: &str) -> Option<f64> {
    params.get(member)?.as_str().parse().ok()
}

/// What an instance's links report outside any call.
#[derive(Debug, Clone)]
pub struct Report {
    pub instance: Uuid,
    pub news: News,
}

#[derive(Debug, Clone)]
pub enum News {
    /// A list of this kind is no longer what it was.
    ListChanged(ListKind),
    /// The tools are the same, and some are described otherwise: nothing a client need hear of.
    Redescribed,
    ResourceUpdated {
        uri: String,
    },
    /// A watched task is at another point; the parameters of `notifications/tasks`, without the keys of their hop.
    TaskChanged {
        id: String,
        params: Raw,
    },
    /// Its process wrote a line that is kept.
    Wrote,
    /// The first probe, or a probe that contradicted an earlier verdict.
    Verdict(Verdict),
    /// A link is being opened, is open, or has been lost for this reason.
    Opening,
    Open,
    Lost(Error),
}

/// The four lists a server may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The capability a server declares when it has this list.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn what_was_said_before_the_end_comes_before_it() {
        let (events, heard) = Events::channel(Progress::Wanted);
        let running = pin!(async {
            for step in 1..=2 {
                events.send(Event::Progress(Raw::object("progress", &Raw::number(step))));
            }
            "the end"
        });
        let mut along = Along::new(running, heard);
        for step in ["1", "2"] {
            let Next::Event(Event::Progress(params)) = along.next().await else { panic!("step {step}") };
            assert_eq!(params.get("progress").map(|it| it.as_str().to_owned()).as_deref(), Some(step));
        }
        assert!(matches!(along.next().await, Next::End("the end")));
    }
}
