//! The Tasks extension, passed through: a task's id is sealed, so that it names its instance and its owner.

use serde::{Deserialize, Serialize};
use toolgrove_core::call::Method;
use toolgrove_wire::envelope::INVALID_PARAMS;
use toolgrove_wire::{Edit, Raw};
use uuid::Uuid;

use super::answer::{Client, Failure};
use crate::App;

const ENDPOINT: &str = "tasks";

/// The inside of a task's id.
#[derive(Serialize, Deserialize)]
struct TaskId {
    caller: Uuid,
    instance: Uuid,
    id: String,
}

/// A task that a server has just made.
pub(super) fn created(app: &App, client: &Client, instance: Uuid, result: &Raw) -> Raw {
    let Some(id) = result.get_text("taskId") else { return result.clone() };
    let task = TaskId { caller: client.caller.id(), instance, id };
    match app.lot.seal().close(ENDPOINT, &task) {
        Some(token) => Edit::of(result).set_text("taskId", &token).done(),
        None => result.clone(),
    }
}

/// A client's parameters with the id the hub works with.
pub(super) fn opened(app: &App, client: &Client, params: &Raw) -> Result<(String, Raw), Failure> {
    let token = params.get_text("taskId");
    let token = token.ok_or_else(|| Failure::new(400, INVALID_PARAMS, "missing: taskId"))?;
    let task = app.lot.seal().open::<TaskId>(ENDPOINT, &token).filter(|it| it.caller == client.caller.id());
    let task = task.ok_or_else(|| Failure::new(200, INVALID_PARAMS, "no such task"))?;
    let inner = format!("{}/{}", task.instance, task.id);
    Ok((token, Edit::of(params).set_text("taskId", &inner).done()))
}

/// The instance and the server's own id behind a task's id, if it is this client's.
pub(super) fn watched(app: &App, client: &Client, token: &str) -> Option<(Uuid, String)> {
    let task = app.lot.seal().open::<TaskId>(ENDPOINT, token)?;
    (task.caller == client.caller.id()).then_some((task.instance, task.id))
}

/// The answer about a task under the id its client knows.
pub(super) fn renamed(method: Method, token: Option<&str>, result: Raw) -> Raw {
    match (method, token) {
        (Method::GetTask, Some(token)) if result.get("taskId").is_some() => {
            Edit::of(&result).set_text("taskId", token).done()
        }
        _ => result,
    }
}
