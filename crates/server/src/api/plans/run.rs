//! `POST /api/plans/:id/run`: every node is one call. What can run at once does; a failure skips what follows from it.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolgrove_core::call::{Caller, Door};
use toolgrove_core::error::Problem;
use toolgrove_core::event::{Along, Event, Events, Next, Progress};
use toolgrove_core::hub::Log;
use toolgrove_core::plan::{AT_ONCE, Given, Graph, NodeState, filled};
use toolgrove_core::{CallEnd, CallRecord, Error, Timeline, task};
use toolgrove_wire::{Abilities, Raw, sse};
use ts_rs::TS;
use uuid::Uuid;

use crate::App;
use crate::mcp::event_stream;
use crate::problem::Answer;
use crate::talk::{Behalf, Used};

/// What the log calls the run of a plan, among the methods of MCP.
const METHOD: &str = "plans/run";

/// `event: node`: a node is in another state, or says something.
#[derive(Debug, Serialize, TS)]
#[ts(optional_fields)]
pub struct PlanEvent {
    pub node: String,
    pub state: NodeState,
    /// What it gave, or said while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// `event: done`: how every node ended.
#[derive(Debug, Clone, Serialize, TS)]
pub struct PlanDone {
    #[ts(type = "{ [key: string]: NodeState }")]
    pub nodes: serde_json::Map<String, Value>,
}

pub async fn run(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<Response> {
    let row = super::find(&app, &caller, &id).await?;
    let graph: Graph = serde_json::from_value(row.graph)
        .map_err(|problem| Error::Internal(format!("plan `{}` cannot be read: {problem}", row.name)))?;
    let waits = graph.order()?;
    let id = Uuid::now_v7();
    let on = Behalf {
        chat: format!("plan:{id}").into(),
        caller,
        parent: Some(id),
        depth: 0,
        door: Door::Plan,
        abilities: Abilities::NONE,
    };
    let (tell, told) = mpsc::unbounded_channel();
    let chat = on.chat.clone();
    let plan = Plan { app, on, graph, waits, tell };
    let run = Run::begin(&plan.app, &plan.on, id, row.name);
    // Whoever looks on may go; the plan goes on to its end no longer than that.
    let running = task::spawn("plan", async move {
        let app = plan.app.clone();
        tokio::select! {
            () = plan.tell.closed() => {}
            () = plan.run(run) => {}
        }
        toolgrove_core::call::Links::end_chat(app.hub.links(), &chat).await;
    });
    drop(running);
    let frames = futures::stream::unfold(told, |mut told| async move { Some((told.recv().await?, told)) });
    Ok(event_stream(frames))
}

/// The row of the whole run: what its nodes call has it as its parent.
struct Run {
    app: Arc<App>,
    record: Option<CallRecord>,
    started: Instant,
}

impl Run {
    fn begin(app: &Arc<App>, on: &Behalf, id: Uuid, plan: String) -> Self {
        let record = CallRecord {
            id,
            parent_id: None,
            person_id: on.caller.person,
            token_id: on.caller.token,
            chat_id: Some(on.chat.clone()),
            door: on.door.as_str().into(),
            method: METHOD.into(),
            instance_id: None,
            tool: plan,
            depth: on.depth,
            started_at: app.hub.now(),
            ms: 0.0,
            outcome: CallEnd::Cancelled,
            error_code: None,
            bytes: 0,
            client: None,
            timeline: Timeline::default(),
        };
        app.hub.log().begun(&record);
        Self { app: app.clone(), record: Some(record), started: Instant::now() }
    }

    fn end(mut self, outcome: CallEnd) {
        if let Some(record) = &mut self.record {
            record.outcome = outcome;
        }
    }
}

/// Leaves a row even when nobody looks on any more.
impl Drop for Run {
    fn drop(&mut self) {
        let Some(mut record) = self.record.take() else { return };
        record.ms = self.started.elapsed().as_secs_f64() * 1000.0;
        self.app.hub.log().record(record);
    }
}

struct Plan {
    app: Arc<App>,
    on: Behalf,
    graph: Graph,
    waits: Vec<Vec<usize>>,
    tell: mpsc::UnboundedSender<bytes::Bytes>,
}

impl Plan {
    async fn run(&self, run: Run) {
        let count = self.graph.nodes.len();
        let mut states = vec![NodeState::Waiting; count];
        let mut given: Vec<Given> = vec![Given::default(); count];
        for node in 0..count {
            self.say(node, NodeState::Waiting, None, None, None);
        }
        let mut running = FuturesUnordered::new();
        loop {
            for node in 0..count {
                if states[node] != NodeState::Waiting {
                    continue;
                }
                let before = || self.waits[node].iter().map(|it| states[*it]);
                if before().any(|it| matches!(it, NodeState::Failed | NodeState::Skipped)) {
                    states[node] = NodeState::Skipped;
                    self.say(node, NodeState::Skipped, None, None, None);
                } else if running.len() < AT_ONCE && before().all(|it| it == NodeState::Done) {
                    states[node] = NodeState::Running;
                    running.push(self.node(node, self.arguments(node, &given)));
                }
            }
            let Some((node, used)) = running.next().await else {
                // What was skipped in this pass may be what something earlier in the list waits for.
                if states.contains(&NodeState::Waiting) {
                    continue;
                }
                break;
            };
            states[node] = if used.is_error { NodeState::Failed } else { NodeState::Done };
            let error = used.error.as_ref().map(Error::problem);
            self.say(node, states[node], Some(used.text.clone()), Some(used.call), error);
            given[node] = Given { text: used.text, structured: used.structured };
        }
        let failed = states.iter().any(|it| *it != NodeState::Done);
        run.end(if failed { CallEnd::ToolError } else { CallEnd::Done });
        let nodes = self.graph.nodes.iter().zip(&states);
        let nodes = nodes.map(|(it, state)| (it.id.clone(), serde_json::to_value(state).unwrap_or_default()));
        let data = serde_json::to_vec(&PlanDone { nodes: nodes.collect() }).unwrap_or_default();
        let _ = self.tell.send(sse::write(Some("done"), None, &data));
    }

    fn arguments(&self, node: usize, given: &[Given]) -> Result<Value, Error> {
        let known: HashMap<&str, &Given> =
            self.waits[node].iter().map(|it| (self.graph.nodes[*it].id.as_str(), &given[*it])).collect();
        filled(&Value::Object(self.graph.nodes[node].args.clone()), &known)
    }

    async fn node(&self, node: usize, arguments: Result<Value, Error>) -> (usize, Used) {
        let (call, started) = (Uuid::now_v7(), Instant::now());
        self.say(node, NodeState::Running, None, Some(call), None);
        let result = match arguments {
            Err(error) => Err(error),
            Ok(arguments) => {
                let wanted = self.on.call(&self.app, call, &self.graph.nodes[node].tool, Raw::of(&arguments));
                let (events, heard) = Events::channel(Progress::Wanted);
                let running = pin!(self.app.hub.call(wanted, events));
                let mut running = Along::new(running, heard);
                loop {
                    match running.next().await {
                        Next::Event(Event::Progress(params)) => {
                            let told = params.get_text("message");
                            self.say(node, NodeState::Running, told, Some(call), None);
                        }
                        Next::Event(_) => {}
                        Next::End(result) => break result,
                    }
                }
            }
        };
        (node, self.app.seen(&self.on, call, result, started).await)
    }

    fn say(
        &self,
        node: usize,
        state: NodeState,
        delta: Option<String>,
        call_id: Option<Uuid>,
        error: Option<Problem>,
    ) {
        let event = PlanEvent { node: self.graph.nodes[node].id.clone(), state, delta, call_id, error };
        let data = serde_json::to_vec(&event).unwrap_or_default();
        let _ = self.tell.send(sse::write(Some("node"), None, &data));
    }
}
