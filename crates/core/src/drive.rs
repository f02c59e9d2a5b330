//! The driver: a client that answers while its call runs, in front of a server that wants the call again with the
//! answers. The hub asks the client and calls again, round by round, until the result is complete.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use toolgrove_wire::modern::{MISSING_CAPABILITY, ResultHead, ResultKind};
use toolgrove_wire::{Edit, Raw, RpcError};

use crate::Error;
use crate::call::{Links, Method, Outgoing};
use crate::event::{Ask, Event, Events, Question};
use crate::instance::Instance;

const ROUNDS: usize = 10;
const PER_ASK: Duration = Duration::from_secs(10 * 60);
const IN_ALL: Duration = Duration::from_secs(60 * 60);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Sends a request and answers what it asks until it is done.
pub(crate) async fn request<L: Links>(
    links: &L,
    instance: &Arc<Instance>,
    outgoing: &Outgoing,
    events: &Events,
) -> Result<Raw, Error> {
    let started = Instant::now();
    let result = settled(outgoing.method, instance, links.request(instance, outgoing, events).await)?;
    match ResultHead::read(&result).kind {
        ResultKind::Complete => Ok(result),
        // Few calls come here; the others need no room for it.
        _ => Box::pin(go_on(links, instance, outgoing, events, result, started)).await,
    }
}

/// The rest of a call whose first result was not its last.
async fn go_on<L: Links>(
    links: &L,
    instance: &Arc<Instance>,
    outgoing: &Outgoing,
    events: &Events,
    mut result: Raw,
    started: Instant,
) -> Result<Raw, Error> {
    let (mut pause, mut rounds) = (FIRST_PAUSE, 0);
    loop {
        match ResultHead::read(&result).kind {
            ResultKind::Complete => return Ok(result),
            ResultKind::InputRequired => {}
            ResultKind::Task => {
                return follow_task(links, instance, outgoing, events, &result, started).await;
            }
            ResultKind::Other(kind) => {
                let problem = format!("a result of the unknown type `{kind}`");
                return Err(Error::Garbled { slug: instance.slug.clone(), problem });
            }
        }
        if rounds == ROUNDS || started.elapsed() > IN_ALL {
            return ended(outgoing.method, instance, "the server asked too often");
        }
        let mut params = outgoing.params.clone();
        if let Some(requests) = result.get("inputRequests").filter(|it| it.members().next().is_some()) {
            rounds += 1;
            pause = FIRST_PAUSE;
            let asked: Vec<_> = requests.members().map(|it| (it.key().into_owned(), it.value())).collect();
            match answers(instance, events, asked).await {
                Ok(responses) => params = params.set("inputResponses", responses),
                Err(why) => return ended(outgoing.method, instance, &why),
            }
        } else {
            // A state without questions means: again, later.
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if let Some(state) = result.get("requestState") {
            params = params.set("requestState", state);
        }
        let again = Outgoing { params, ..outgoing.clone() };
        events.next_round();
        result = settled(outgoing.method, instance, links.request(instance, &again, events).await)?;
    }
}

/// What a server says that cannot go on without an ability of the client's is the end of the call.
fn settled(method: Method, instance: &Instance, answer: Result<Raw, Error>) -> Result<Raw, Error> {
    match answer {
        Err(Error::Server { code: MISSING_CAPABILITY, message, .. }) => ended(method, instance, &message),
        answer => answer,
    }
}

/// Asks the client everything at once and gathers what it says, by key.
async fn answers(instance: &Instance, events: &Events, asked: Vec<(String, Raw)>) -> Result<Raw, String> {
    let waiting = asked.into_iter().map(|(key, request)| async move {
        let question = request.get_text("method").as_deref().and_then(Question::parse);
        let question = question.ok_or_else(|| format!("the server asked something unknown under `{key}`"))?;
        let (reply, answered) = oneshot::channel();
        events.send(Event::Ask(Ask {
            question,
            params: request.get("params").unwrap_or_else(Raw::empty_object),
            key: Some(key.clone()),
            server: instance.server_name.clone(),
            permission: None,
            reply,
        }));
        let answer = match timeout(PER_ASK, answered).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(RpcError { message, .. }))) => Err(message),
            _ => Err("nobody answered".to_owned()),
        };
        match (question, answer) {
            (_, Ok(answer)) => Ok((key, answer)),
            (Question::Elicit, Err(_)) => Ok((key, Raw::of(&json!({ "action": "cancel" })))),
            (Question::Roots, Err(_)) => Ok((key, Raw::of(&json!({ "roots": [] })))),
            // There is no way to tell a modern server that sampling failed.
            (Question::Sample, Err(why)) => Err(format!("the client could not sample: {why}")),
        }
    });
    let answered: Result<Vec<(String, Raw)>, String> = join_all(waiting).await.into_iter().collect();
    let object = Raw::empty_object();
    let answered = answered?;
    Ok(answered.iter().fold(Edit::of(&object), |edit, (key, value)| edit.set(key, value.clone())).done())
}

/// Waits for a task on behalf of a client that knows none.
async fn follow_task<L: Links>(
    links: &L,
    instance: &Arc<Instance>,
    outgoing: &Outgoing,
    events: &Events,
    created: &Raw,
    started: Instant,
) -> Result<Raw, Error> {
    let broken = |problem: &str| Error::Garbled { slug: instance.slug.clone(), problem: problem.into() };
    let id = created.get("taskId").filter(Raw::is_string).ok_or_else(|| broken("a task without an id"))?;
    let named = Raw::object("taskId", &id);
    let ask = |method, params: Raw| {
        let outgoing = Outgoing {
            method,
            params: params.into(),
            headers: Vec::new(),
            repeatable: true,
            ..outgoing.clone()
        };
        async move { links.request(instance, &outgoing, &Events::none()).await }
    };
    let mut cancel = CancelOnDrop { links, instance, outgoing, named: named.clone(), done: false };
    let (mut answered, mut task) = (Vec::<String>::new(), created.clone());
    loop {
        match task.get_text("status").as_deref() {
            Some("completed") => {
                cancel.done = true;
                return task.get("result").ok_or_else(|| broken("a completed task without a result"));
            }
            Some("failed") => {
                cancel.done = true;
                let error = task.get("error").unwrap_or_else(Raw::empty_object);
                return Err(Error::Server {
                    code: error.get("code").and_then(|it| it.as_str().parse().ok()).unwrap_or(-32603),
                    message: error.get_text("message").unwrap_or_else(|| "the task failed".into()),
                    data: error.get("data"),
                });
            }
            Some("cancelled") => {
                cancel.done = true;
                return ended(outgoing.method, instance, "the task was cancelled");
            }
            Some("input_required") => {
                let asked = task.get("inputRequests").unwrap_or_else(Raw::empty_object);
                let asked: Vec<_> = asked
                    .members()
                    .map(|it| (it.key().into_owned(), it.value()))
                    .filter(|it| !answered.contains(&it.0))
                    .collect();
                if !asked.is_empty() {
                    answered.extend(asked.iter().map(|it| it.0.clone()));
                    match answers(instance, events, asked).await {
                        Ok(responses) => {
                            let params = Edit::of(&named).set("inputResponses", responses).done();
                            ask(Method::UpdateTask, params).await?;
                        }
                        Err(why) => return ended(outgoing.method, instance, &why),
                    }
                }
            }
            _ => {}
        }
        if started.elapsed() > IN_ALL {
            return ended(outgoing.method, instance, "the task took too long");
        }
        let pause = task.get("pollIntervalMs").and_then(|it| it.u64()).unwrap_or(500).clamp(50, 5_000);
        sleep(Duration::from_millis(pause)).await;
        task = ask(Method::GetTask, named.clone()).await?;
    }
}

/// A task whose client went away is cancelled at the server.
struct CancelOnDrop<'a, L: Links> {
    links: &'a L,
    instance: &'a Arc<Instance>,
    outgoing: &'a Outgoing,
    named: Raw,
    done: bool,
}

impl<L: Links> Drop for CancelOnDrop<'_, L> {
    fn drop(&mut self) {
        if !self.done {
            let outgoing = Outgoing {
                method: Method::CancelTask,
                params: self.named.clone().into(),
                headers: Vec::new(),
                ..self.outgoing.clone()
            };
            self.links.request_beside(self.instance, outgoing);
        }
    }
}

/// The end of a call that cannot go on: something a model can read for a tool, an error for the rest.
fn ended(method: Method, instance: &Instance, why: &str) -> Result<Raw, Error> {
    let text = format!("`{}` could not finish: {why}", instance.slug);
    match method {
        Method::CallTool => {
            Ok(Raw::of(&json!({ "content": [{ "type": "text", "text": text }], "isError": true })))
        }
        _ => Err(Error::Garbled { slug: instance.slug.clone(), problem: why.to_owned() }),
    }
}
