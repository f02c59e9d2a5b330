//! A server behind a unix socket that speaks in lines. HTTP over a socket is `link/http.rs` over other lines.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use toolgrove_core::Error;
use toolgrove_core::event::News;
use toolgrove_core::instance::UnixReach;
use toolgrove_wire::Abilities;

use super::lines::{self, End, Lines};
use super::{Kind, Link, Task};
use crate::context::Context;
use crate::era::{self, Plan, Trust};
use crate::failure::Failure;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const START_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) lines: Lines,
    _reader: Task,
}

pub(crate) async fn open(
    context: &Arc<Context>,
    reach: &UnixReach,
    plan: &Plan,
    declared: Abilities,
) -> Result<Link, Error> {
    let socket = connect(context, reach, declared).await?;
    let session = match era::negotiate(&socket.lines.mux, plan, START_TIMEOUT).await {
        // A server may hang up on what it does not know; a fresh connection is asked the legacy way.
        Err(Failure::Lost(_)) if matches!(plan, Plan::Probe | Plan::Modern { trust: Trust::Found, .. }) => {
            drop(socket);
            let socket = connect(context, reach, declared).await?;
            let mux = &socket.lines.mux;
            let session = era::initialize_only(mux, plan, START_TIMEOUT, "hung up on server/discover").await;
            return Ok(Link::new(context, session.map_err(Failure::into_error)?, plan, Kind::Unix(socket)));
        }
        other => other.map_err(Failure::into_error)?,
    };
    Ok(Link::new(context, session, plan, Kind::Unix(socket)))
}

async fn connect(context: &Arc<Context>, reach: &UnixReach, declared: Abilities) -> Result<Socket, Error> {
    let named =
        |cause: &dyn std::fmt::Display| context.unreachable(format!("`{}`: {cause}", reach.path.display()));
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, UnixStream::connect(&reach.path)).await;
    let stream = stream.map_err(|it| named(&it))?.map_err(|it| named(&it))?;
    let (reader, writer) = stream.into_split();
    let lines = Lines::start(context, declared, writer);
    let mux = lines.mux.clone();
    let reader = Task::spawn("socket-reader", async move {
        let error = match lines::read(reader, &mux).await {
            End::Closed => mux.context.unreachable("the server closed the socket"),
            End::Broken(error) => mux.context.unreachable(error.to_string()),
            End::Refused(error) => error,
        };
        if mux.end(&error) {
            mux.context.report(News::Lost(error));
        }
    });
    Ok(Socket { lines, _reader: reader })
}
