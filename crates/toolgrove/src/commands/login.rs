//! `toolgrove login`: signing in to an instance's server, from a terminal. The provider is met in a browser; the hub
//! waits for it, and where none is running, one runs for as long as that takes.

use std::io::IsTerminal;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolgrove_core::task;
use toolgrove_server::Front;

use super::serve::{bind, serve_http};
use super::server::text;
use crate::api::{Api, segment};
use crate::args::Login;
use crate::failure::{Exit, Failure};
use crate::lock::{self, Owner};
use crate::paths::Paths;
use crate::printer::{Printer, Reader};
use crate::start;

/// A sign-in is good for so long.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(300);

pub(crate) async fn run(args: Login, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    match lock::claim(paths).await? {
        Owner::Running(_) => Api::with(paths, async |api| sign_in(api, &args, printer).await).await,
        Owner::Us(lock) => {
            let config = start::read_config(paths)?;
            let (listener, address) = bind(config.listen.0).await?;
            let hub = start::start(paths, config, lock, address.port()).await?;
            let stop = CancellationToken::new();
            let front = Front::new(hub.app.clone(), stop.clone());
            let http = task::spawn("http", serve_http(listener, front, stop.clone()));
            let done = Api::with_hub(paths, hub, async |api| sign_in(api, &args, printer).await).await;
            stop.cancel();
            let _ = http.await;
            done
        }
    }
}

async fn sign_in(api: &Api, args: &Login, printer: &Printer) -> Result<Exit, Failure> {
    let path = format!("/api/mcp/instances/{}/connect", segment(&args.slug));
    let before = api.get(&path).await?.value()?;
    let begun = api.post(&path, &json!({})).await?;
    printer.json_bytes(&begun.bytes);
    let begun = begun.value()?;
    let page = text(&begun, "page");
    printer.line(format_args!("To sign in to `{}`, open this page:\n\n  {page}\n", args.slug));
    if !args.no_open && printer.reader() == Reader::Person && std::io::stdout().is_terminal() {
        open(&page);
    }
    let progress = printer.progress("waiting for you to sign in".into());
    let began = Instant::now();
    while is_same(&before, &api.get(&path).await?.value()?) {
        if began.elapsed() > PATIENCE {
            let late = Failure::new("oauth.state-expired", "this sign-in has expired; start again");
            return Err(Failure { exit: Exit::SignIn, ..late });
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    drop(progress);
    let instance = api.get(&format!("/api/mcp/instances/{}", segment(&args.slug))).await?;
    printer.json_bytes(&instance.bytes);
    let instance = instance.value()?;
    printer.line(format_args!("signed in to `{}`: {}", args.slug, text(&instance["health"], "summary")));
    Ok(if instance["status"] == "ready" { Exit::Done } else { Exit::SignIn })
}

/// Whether nobody signed in meanwhile.
fn is_same(before: &Value, after: &Value) -> bool {
    before["signed_in_at"] == after["signed_in_at"]
}

/// Shows a page in the browser of this desktop, if it has one.
fn open(page: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = std::process::Command::new(program)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        tracing::debug!(%error, program, "no browser was opened");
    }
}
