//! One request and its answer, which is one JSON body or a stream of events ending with it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
use http::{Method, Response};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use toolgrove_core::Error;
use toolgrove_core::instance::Era;
use toolgrove_wire::{Message, Pieces, Raw};

use super::Wire;
use crate::desk::{Asked, Back, Clock, Stop, Watcher, Whose};
use crate::failure::Failure;
use crate::feed;
use crate::link::Task;
use crate::mux::{self, server_error};
use crate::speech::{Ask, Leaving};
use crate::web::pipeline::{Entered, Written};
use crate::web::{self, EventStream, Head, Inflow, Kind, Own};

/// How often in a row a broken stream may fail to be resumed.
const RESUMPTIONS: u32 = 5;
const RETRY: Duration = Duration::from_millis(500);

pub(crate) struct Answer {
    pub(crate) result: Raw,
    pub(crate) session: Option<HeaderValue>,
}

impl Wire {
    /// Sends one request and waits for its answer. Dropping the future cancels it: a modern server sees its stream
    /// close, a legacy one is told.
    pub(crate) async fn exchange(self: &Arc<Self>, ask: &Ask<'_>) -> Result<Answer, Failure> {
        let entered = self.enter(ask);
        if let Some(entered) = entered.as_ref().filter(|it| it.goes_together())
            && let Some(result) = self.exchange_together(ask, entered).await?
        {
            return Ok(Answer { result, session: None });
        }
        let id = self.next_id();
        let (own, body) = (self.own_headers(ask), self.speech.request(id, ask));
        let mut care = Care::new(self, id, ask);
        let mut call = Call::new(self, id, ask, &care);
        let answer = if self.desk.can_be_asked() {
            // The server may ask, and is served also while nobody looks at this future.
            let (tx, rx) = oneshot::channel();
            let _task = Task::spawn("http-call", async move {
                let _ = tx.send(call.run(own, body, None).await);
            });
            let lost = || Failure::Lost(self.context.unreachable("the link was closed"));
            rx.await.unwrap_or_else(|_| Err(lost()))
        } else {
            call.run(own, body, entered).await
        };
        care.settle(&answer);
        answer
    }

    /// The same together with others. None if it got no answer that way: then it goes alone, as another request.
    async fn exchange_together(
        self: &Arc<Self>,
        ask: &Ask<'_>,
        entered: &Entered,
    ) -> Result<Option<Raw>, Failure> {
        let id = self.next_id();
        let body = self.speech.request(id, ask);
        let Some(body) = body.whole() else { return Ok(None) };
        let head = Head { base: &self.opening, own: self.own_headers(ask) };
        let mut care = Care::new(self, id, ask);
        let mut call = Call::new(self, id, ask, &care);
        let asked = async {
            let token = self.endpoint.token().await?;
            let to = self.endpoint.uri();
            let request = Written { to, head: &head, token: token.as_ref(), body };
            Ok(entered.together(&self.endpoint, &request).await)
        };
        let answer = call.within(pin!(asked)).await;
        care.settle(&answer);
        let answer = answer?.filter(|it| it.len() <= self.context.options.body_limit);
        let message = answer.and_then(|it| Raw::parse(it).ok()).and_then(|it| Message::read(&it).ok());
        match message {
            Some(Message::Response { id: Some(its), result }) if its.as_number() == Some(id) => {
                return result.map(Some).map_err(|it| Failure::Final(server_error(it)));
            }
            Some(_) => entered.was_confused(),
            None => {}
        }
        Ok(None)
    }

    /// Lets a request that may run twice, and of which nothing is heard before its answer, go with others.
    fn enter(&self, ask: &Ask<'_>) -> Option<Entered> {
        let may = ask.outgoing.is_some_and(|it| it.repeatable)
            && !ask.events.wants_progress()
            && !self.desk.can_be_asked();
        may.then(|| self.context.pipeline.enter())
    }
}

/// Sees to it that a legacy server hears when nobody waits for an answer any more.
struct Care<'a> {
    wire: &'a Arc<Wire>,
    id: u64,
    watcher: Arc<Watcher>,
    /// What the server is told if this is dropped now.
    on_drop: Option<&'static str>,
}

impl<'a> Care<'a> {
    fn new(wire: &'a Arc<Wire>, id: u64, ask: &Ask<'_>) -> Self {
        let tells = wire.era == Era::Legacy && ask.leaving == Leaving::Cancel;
        let watcher = ask.watcher();
        if tells {
            wire.watchers().insert(id, watcher.clone());
        }
        Self { wire, id, watcher, on_drop: tells.then_some("nobody waits for the answer any more") }
    }

    /// The call has ended: only one that ran out of time is still running at the server.
    fn settle<T>(&mut self, answer: &Result<T, Failure>) {
        match answer {
            Err(Failure::Final(Error::Timeout { .. })) if self.on_drop.is_some() => {
                self.on_drop = Some("the call timed out");
            }
            _ => self.on_drop = None,
        }
    }
}

impl Drop for Care<'_> {
    fn drop(&mut self) {
        if self.wire.era == Era::Legacy {
            self.wire.watchers().remove(&self.id);
        }
        if let Some(reason) = self.on_drop {
            let mut last_words = self.watcher.decline_all();
            last_words.push(mux::cancelled(self.id, reason));
            self.wire.post_soon(last_words);
        }
    }
}

struct Call {
    wire: Arc<Wire>,
    id: u64,
    clock: Clock,
    watcher: Arc<Watcher>,
}

impl Call {
    fn new(wire: &Arc<Wire>, id: u64, ask: &Ask<'_>, care: &Care<'_>) -> Self {
        Self { wire: wire.clone(), id, clock: Clock::start(ask.timeout), watcher: care.watcher.clone() }
    }

    async fn run(&mut self, own: Own, body: Pieces, entered: Option<Entered>) -> Result<Answer, Failure> {
        let wire = self.wire.clone();
        let head = Head { base: &wire.opening, own };
        let since = Instant::now();
        let response = self.within(pin!(wire.endpoint.send(Method::POST, &head, body))).await?;
        if let Some(entered) = entered {
            entered.heard_alone(since, response.body());
        }
        if !response.status().is_success() {
            let refused =
                Box::pin(self.within(async { Ok(web::refused(&wire.context, response).await) })).await?;
            return Err(self.judge(refused));
        }
        let session = response.headers().get(web::SESSION).cloned();
        let result = match web::kind(response.headers()) {
            Kind::Events => Box::pin(self.read_events(response)).await,
            Kind::Html => Err(wire.context.garbled("it answered with a web page; check the URL").into()),
            Kind::Json | Kind::Other => self.read_body(response).await,
        };
        Ok(Answer { result: result?, session })
    }

    /// Bounds a step by the call's clock.
    async fn within<T>(&mut self, step: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match self.watcher.within(&mut self.clock, step).await {
            Ok(done) => done,
            Err(Stop::TimedOut) => Err(self.wire.context.timeout(self.clock.timeout).into()),
            Err(Stop::Broken(error)) => Err(Failure::Lost(error)),
        }
    }

    /// A session the server no longer knows is no answer: it has not run anything.
    fn judge(&self, failure: Failure) -> Failure {
        let Failure::Refused { status, error } = failure else { return failure };
        let speaks_of_session = || match &error {
            Error::Answered { body, .. } => body.to_ascii_lowercase().contains("session"),
            Error::Server { message, .. } => message.to_ascii_lowercase().contains("session"),
            _ => false,
        };
        if self.wire.has_session && (status == 404 || status == 400 && speaks_of_session()) {
            return Failure::Untaken(error);
        }
        Failure::Refused { status, error }
    }

    async fn read_body(&mut self, response: Response<Inflow>) -> Result<Raw, Failure> {
        let context = &self.wire.context.clone();
        let body = self.within(pin!(web::collect(context, response))).await?;
        if body.is_empty() {
            return Err(context.garbled("it answered without a body").into());
        }
        let raw = Raw::parse(body).map_err(|it| context.garbled(it.to_string()))?;
        self.take(&raw)?
            .unwrap_or_else(|| Err(context.garbled("its answer belongs to another request").into()))
    }

    async fn read_events(&mut self, response: Response<Inflow>) -> Result<Raw, Failure> {
        let context = self.wire.context.clone();
        let mut stream = EventStream::new(&context, response);
        loop {
            let Some(event) = self.within(stream.next(&context)).await? else {
                stream = self.resume(stream).await?;
                continue;
            };
            if event.name != "message" {
                continue;
            }
            let raw = Raw::parse(event.data).map_err(|it| context.garbled(it.to_string()))?;
            if let Some(answer) = self.take(&raw)? {
                return answer;
            }
        }
    }

    /// Goes on reading a stream that broke off, if the server gave its events ids. Nothing is sent twice.
    async fn resume(&mut self, stream: EventStream) -> Result<EventStream, Failure> {
        let wire = self.wire.clone();
        let lost = || Failure::Lost(wire.context.unreachable("the answer broke off"));
        let id = stream.last_id.as_deref().and_then(|it| HeaderValue::from_str(it).ok());
        let Some(id) = id.filter(|_| wire.era == Era::Legacy) else { return Err(lost()) };
        let pause = stream.retry_ms.map_or(RETRY, Duration::from_millis);
        for _ in 0..RESUMPTIONS {
            self.within(async {
                let _: () = sleep(pause).await;
                Ok(())
            })
            .await?;
            let base = wire.stream_head();
            let head = Head::with(&base, Some((web::LAST_EVENT, id.clone())));
            match self.within(wire.endpoint.send(Method::GET, &head, Pieces::default())).await {
                Ok(response)
                    if response.status().is_success() && web::kind(response.headers()) == Kind::Events =>
                {
                    let mut resumed = EventStream::new(&wire.context, response);
                    resumed.last_id = stream.last_id;
                    resumed.retry_ms = stream.retry_ms;
                    return Ok(resumed);
                }
                Ok(response) if response.status().is_client_error() => return Err(lost()),
                Err(failure @ Failure::Final(Error::Timeout { .. })) => return Err(failure),
                Ok(_) | Err(_) => {}
            }
        }
        Err(lost())
    }

    /// Takes what arrived on the call's own stream; the answer, if it is among it.
    fn take(&self, raw: &Raw) -> Result<Option<Result<Raw, Failure>>, Failure> {
        if raw.is_array() {
            for item in raw.items() {
                if let Some(answer) = self.take_one(&item)? {
                    return Ok(Some(answer));
                }
            }
            return Ok(None);
        }
        self.take_one(raw)
    }

    fn take_one(&self, raw: &Raw) -> Result<Option<Result<Raw, Failure>>, Failure> {
        let message = Message::read(raw).map_err(|it| self.wire.context.garbled(it.to_string()))?;
        match message {
            Message::Response { id, result }
                if id.as_ref().is_none_or(|it| it.as_number() == Some(self.id)) =>
            {
                return Ok(Some(result.map_err(|it| Failure::Final(server_error(it)))));
            }
            Message::Response { .. } => {}
            Message::Notification { method, params } => self.hear(&method, params.as_ref()),
            Message::Request { id, method, params } => {
                let (asked, whose) = (Asked { id, method, params }, Whose::One(self.watcher.clone()));
                self.wire.desk.take(&self.wire.context, asked, whose, Back::Post(self.wire.clone()));
            }
        }
        Ok(None)
    }

    fn hear(&self, method: &str, params: Option<&Raw>) {
        match (method, params) {
            ("notifications/progress", Some(params)) => {
                if params.get("progressToken").and_then(|it| it.u64()) == Some(self.id) {
                    self.watcher.progress(params);
                }
            }
            ("notifications/message", Some(params)) => self.watcher.log(params),
            ("notifications/elicitation/complete", Some(params)) => self.wire.desk.elicited(params),
            ("notifications/cancelled", Some(params)) => self.wire.desk.withdraw(params),
            _ => feed::report(&self.wire.context, method, params),
        }
    }
}
