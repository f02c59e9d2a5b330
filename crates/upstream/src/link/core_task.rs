//! A tool that 2025-11-25 servers run only as a task: started, asked after, fetched. The caller just sees its result.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use toolgrove_core::Error;
use toolgrove_wire::Raw;

use super::Link;
use crate::failure::Failure;
use crate::speech::Ask;

const TTL_MS: u64 = 60 * 60 * 1000;
const IN_ALL: Duration = Duration::from_millis(TTL_MS);
const PAUSE_MS: u64 = 1_000;

/// Runs a call as a task, from its creation to its result.
pub(super) async fn run(link: &Link, ask: &Ask<'_>) -> Result<Raw, Failure> {
    let params = ask.params.clone().set("task", Raw::of(&json!({ "ttl": TTL_MS })));
    let created = link.ask(&Ask { params: &params, ..*ask }).await?;
    // A server may answer at once.
    let Some(mut task) = created.get("task").filter(Raw::is_object) else { return Ok(created) };
    let broken = || link.context.garbled("a task without an id");
    let named = Raw::object("taskId", &task.get("taskId").filter(Raw::is_string).ok_or_else(broken)?);
    let mut cancel = CancelOnDrop { link, named: &named, done: false };
    let params = named.clone().into();
    let follow = async |method| link.ask(&Ask { method, params: &params, ..*ask }).await;
    let started = Instant::now();
    while task.get_text("status").as_deref() == Some("working") {
        if started.elapsed() > IN_ALL {
            return Err(link.context.timeout(IN_ALL).into());
        }
        let pause = task.get("pollInterval").and_then(|it| it.u64()).unwrap_or(PAUSE_MS).clamp(50, 5_000);
        sleep(Duration::from_millis(pause)).await;
        task = follow("tasks/get").await?;
    }
    // Its result is given when it is done; what it wants to know before is asked meanwhile.
    let result = follow("tasks/result").await;
    cancel.done = !matches!(result, Err(Failure::Final(Error::Timeout { .. })));
    result
}

/// A task whose caller went away is cancelled at the server.
struct CancelOnDrop<'a> {
    link: &'a Link,
    named: &'a Raw,
    done: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.link.send_beside("tasks/cancel", self.named);
        }
    }
}
