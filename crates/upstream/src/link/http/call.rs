//! One request and its answer, which is one JSON body or a stream of events ending with it.

use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
use http::{Method, Response};
use hyper::body::Incoming;
use tokio::time::{Instant, sleep, timeout_at};
use toolgrove_core::Error;
use toolgrove_core::instance::Era;
use toolgrove_wire::{Message, Raw};

use super::Wire;
use crate::context::Context;
use crate::failure::Failure;
use crate::feed;
use crate::mux::{self, Watcher, server_error};
use crate::speech::{Ask, Leaving};
use crate::web::{self, EventStream, Head, Kind};

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
        let mut call = Call::new(self, ask);
        let answer = call.run(ask).await;
        call.settle(&answer);
        answer
    }
}

struct Call<'a> {
    wire: &'a Arc<Wire>,
    id: u64,
    timeout: Duration,
    deadline: Instant,
    watcher: Watcher,
    /// What the server is told if this is dropped now.
    on_drop: Option<&'static str>,
}

impl<'a> Call<'a> {
    fn new(wire: &'a Arc<Wire>, ask: &Ask<'_>) -> Self {
        let id = wire.next_id();
        let tells = wire.era == Era::Legacy && ask.leaving == Leaving::Cancel;
        if tells {
            wire.watchers().insert(id, Watcher::of(ask));
        }
        Self {
            wire,
            id,
            timeout: ask.timeout,
            deadline: Context::deadline(ask.timeout),
            watcher: Watcher::of(ask),
            on_drop: tells.then_some("nobody waits for the answer any more"),
        }
    }

    async fn run(&mut self, ask: &Ask<'_>) -> Result<Answer, Failure> {
        let wire = self.wire;
        let head = Head { base: &wire.head, more: wire.own_headers(ask) };
        let body = wire.speech.request(self.id, ask);
        let response = self.within(wire.endpoint.send(Method::POST, &head, body)).await?;
        if !response.status().is_success() {
            let refused = self.within(async { Ok(web::refused(&wire.context, response).await) }).await?;
            return Err(self.judge(refused));
        }
        let session = response.headers().get(web::SESSION).cloned();
        let result = match web::kind(response.headers()) {
            Kind::Events => self.read_events(response).await,
            Kind::Html => Err(wire.context.garbled("it answered with a web page; check the URL").into()),
            Kind::Json | Kind::Other => self.read_body(response).await,
        };
        Ok(Answer { result: result?, session })
    }

    /// Bounds a step by the call's clock.
    async fn within<T>(&self, step: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match timeout_at(self.deadline, step).await {
            Ok(done) => done,
            Err(_) => Err(self.wire.context.timeout(self.timeout).into()),
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

    async fn read_body(&mut self, response: Response<Incoming>) -> Result<Raw, Failure> {
        let context = &self.wire.context;
        let body = self.within(web::collect(context, response)).await?;
        if body.is_empty() {
            return Err(context.garbled("it answered without a body").into());
        }
        let raw = Raw::parse(body).map_err(|it| context.garbled(it.to_string()))?;
        self.take(&raw)?
            .unwrap_or_else(|| Err(context.garbled("its answer belongs to another request").into()))
    }

    async fn read_events(&mut self, response: Response<Incoming>) -> Result<Raw, Failure> {
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
        let wire = self.wire;
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
            let head = Head { base: &wire.stream_head(), more: [Some((web::LAST_EVENT, id.clone())), None] };
            match self.within(wire.endpoint.send(Method::GET, &head, bytes::Bytes::new())).await {
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
    fn take(&mut self, raw: &Raw) -> Result<Option<Result<Raw, Failure>>, Failure> {
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

    fn take_one(&mut self, raw: &Raw) -> Result<Option<Result<Raw, Failure>>, Failure> {
        let message = Message::read(raw).map_err(|it| self.wire.context.garbled(it.to_string()))?;
        match message {
            Message::Response { id, result }
                if id.as_ref().is_none_or(|it| it.as_number() == Some(self.id)) =>
            {
                return Ok(Some(result.map_err(|it| Failure::Final(server_error(it)))));
            }
            Message::Response { .. } => {}
            Message::Notification { method, params } => self.hear(&method, params.as_ref()),
            Message::Request { id, method, .. } => self.wire.reply(mux::answer(&id, &method)),
        }
        Ok(None)
    }

    fn hear(&mut self, method: &str, params: Option<&Raw>) {
        match (method, params) {
            ("notifications/progress", Some(params)) => {
                if params.get("progressToken").and_then(|it| it.u64()) == Some(self.id) {
                    self.deadline = Context::deadline(self.timeout);
                    self.watcher.progress(params);
                }
            }
            ("notifications/message", Some(params)) => self.watcher.log(params),
            _ => feed::report(&self.wire.context, method, params),
        }
    }

    /// The call has ended: only one that ran out of time is still running at the server.
    fn settle(&mut self, answer: &Result<Answer, Failure>) {
        match answer {
            Err(Failure::Final(Error::Timeout { .. })) if self.on_drop.is_some() => {
                self.on_drop = Some("the call timed out");
            }
            _ => self.on_drop = None,
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.wire.era == Era::Legacy {
            self.wire.watchers().remove(&self.id);
        }
        if let Some(reason) = self.on_drop {
            self.wire.reply(mux::cancelled(self.id, reason));
        }
    }
}

impl Wire {
    /// Posts beside whatever is going on.
    pub(super) fn reply(self: &Arc<Self>, body: bytes::Bytes) {
        if tokio::runtime::Handle::try_current().is_ok() {
            let wire = self.clone();
            toolgrove_core::task::spawn("http-post", async move { wire.post_quietly(body).await });
        }
    }
}
