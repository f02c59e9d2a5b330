//! `toolgrove serve`: the hub, until Ctrl-C.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolgrove_core::config::Mode;
use toolgrove_core::{Config, task};
use toolgrove_server::tabs::relay;
use toolgrove_server::{App, Arrival, Front, Welcome, bundles};
use toolgrove_upstream::near;

use super::Stop;
use crate::args::Serve;
use crate::declared::{self, Stamp};
use crate::demo;
use crate::endpoint;
use crate::failure::{Exit, Failure, reason};
use crate::lock::{self, Owner, Place};
use crate::paths::Paths;
use crate::printer::Printer;
use crate::socket::Socket;
use crate::start;

/// How long running calls have to end after the first Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) async fn run(args: Serve, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let mut signals = Stop::new();
    let stamp = Stamp::of(paths);
    let config = configure(&args, start::read_config(paths)?)?;
    let lock = match lock::claim(paths).await? {
        Owner::Us(lock) => lock,
        Owner::Running(place) => {
            return Err(Failure::new("hub.running", place.sentence())
                .hint("every command uses it; stop it first to start another, or set `TOOLGROVE_DATA`"));
        }
    };
    let (listener, address) = bind(config.listen.0).await?;
    let mut hub = start::start(paths, config, lock, address.port()).await?;
    let socket = Socket::bind(paths)?;
    let url = format!("http://{address}");
    let place =
        Place { pid: std::process::id(), url: Some(url.clone()), socket: Some(socket.path().to_owned()) };
    hub.lock.announce(&place).map_err(|error| Failure::io("cannot say where the hub is", &error))?;

    let (stop, app) = (CancellationToken::new(), hub.app.clone());
    open_to_browsers(&app, paths, address, &stop).await?;
    let front = Front::new(app.clone(), stop.clone());
    let http = task::spawn("http", serve_http(listener, front.clone(), stop.clone()));
    let socket = task::spawn("socket", socket.serve(app.clone(), front, stop.clone()));
    if args.demo {
        demo::seed(&app).await?;
    }
    let key = start::local_key(paths)?;
    match app.welcome().await? {
        Welcome::SignIn(page) => welcome(printer, &app, &url, &page, key.reveal()),
        Welcome::SetUp(link) => welcome_team(printer, &app, &url, Some(&link)),
        Welcome::Page(_) => welcome_team(printer, &app, &url, None),
    }
    app.started.store(true, Ordering::Release);
    app.refresh_all();
    let follow = task::spawn("follow bundles", bundles::follow(app.clone()));
    let watch = task::spawn("watch", declared::watch(app, paths.clone(), stamp));

    signals.told().await;
    printer.note("stopping; press Ctrl-C again to quit at once");
    watch.abort();
    follow.abort();
    stop.cancel();
    let leave = async {
        let _ = tokio::time::timeout(GRACE, async { tokio::join!(http, socket) }).await;
        hub.close().await;
    };
    tokio::select! {
        () = leave => Ok(Exit::Done),
        () = signals.told() => Ok(Exit::Interrupted),
    }
}

/// Lets the browsers of this machine find a hub that is one person's, and pages that embed the relay if that is wanted.
async fn open_to_browsers(
    app: &Arc<App>,
    paths: &Paths,
    address: SocketAddr,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    if app.gate.solo().is_none() {
        return Ok(());
    }
    app.tabs.trust(endpoint::write(paths, address.port())?);
    if !app.config.tabs.relay {
        return Ok(());
    }
    let listener = match relay::bind().await {
        Ok(listener) => listener,
        Err(problem) => {
            tracing::warn!("pages cannot connect: {problem}");
            let _ = app.tabs.relay.set(Err(problem));
            return Ok(());
        }
    };
    let port = listener.local_addr().map_or(0, |it| it.port());
    let _ = app.tabs.relay.set(Ok(port));
    if let Some(note) = relay::elsewhere(port) {
        tracing::warn!("{note}");
    }
    if let Some(home) = std::env::home_dir()
        && let Err(error) = relay::note(&home, port, app.hub.now())
    {
        tracing::warn!(%error, "the relay's port could not be noted");
    }
    task::spawn("relay", relay::serve(app.clone(), listener, stop.clone()));
    Ok(())
}

/// What was typed goes over what the file says.
fn configure(args: &Serve, mut config: Config) -> Result<Config, Failure> {
    if let Some(address) = args.listen {
        if config.mode == Mode::Solo && !address.ip().is_loopback() {
            return Err(Failure::usage(format!("`--listen {address}` is not a loopback address"))
                .hint("a solo hub serves this machine only; use `127.0.0.1` or `[::1]`"));
        }
        config.listen.0 = address;
    }
    if let Some(names) = args.names {
        config.names = names.profile();
    }
    Ok(config)
}

pub(super) async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed = |error: std::io::Error| {
        let why = match error.kind() {
            std::io::ErrorKind::AddrInUse => "it is in use".into(),
            _ => reason(&error),
        };
        let free = SocketAddr::new(address.ip(), 0);
        Failure::new("hub.port", format!("cannot listen on `{address}`: {why}")).hint(format!(
            "take a free port with `toolgrove serve --listen {free}`, or set `listen` in `toolgrove.toml`"
        ))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves until told to stop, then waits for the clients to get their answers.
pub(super) async fn serve_http(listener: TcpListener, front: Front, stop: CancellationToken) {
    let clients = TaskTracker::new();
    loop {
        let (stream, peer) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "the port could not accept a client");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        let _ = stream.set_nodelay(true);
        near::settle(&stream);
        let served = clients.track_future(front.clone().serve(stream, Arrival::Network(peer)));
        task::spawn("http client", async move {
            if let Err(error) = served.await {
                tracing::debug!(%error, "a client of the port ended early");
            }
        });
    }
    drop(listener);
    clients.close();
    clients.wait().await;
}

/// Where the hub is and how to connect to it.
fn welcome(printer: &Printer, app: &App, url: &str, page: &str, key: &str) {
    let base = app.gate.base();
    let snippet = json!({ "mcpServers": { "toolgrove": {
        "url": format!("{base}/mcp"),
        "headers": { "Authorization": format!("Bearer {key}") },
    } } });
    let stdio = json!({ "mcpServers": { "toolgrove": { "command": "toolgrove", "args": ["stdio"] } } });
    printer.json(&json!({
        "url": format!("{url}/mcp"), "page": page, "pid": std::process::id(), "snippet": snippet, "stdio": stdio,
    }));
    printer.line(format_args!("Toolgrove listens at {url}/mcp"));
    printer.line(format_args!("Its page, by a link that signs you in once: {page}"));
    printer.line("\nConnect a client with");
    printer.line(pretty(&snippet));
    printer.line("or");
    printer.line(format_args!(
        "claude mcp add --transport http toolgrove {base}/mcp --header \"Authorization: Bearer {key}\""
    ));
    printer.line("or, for a client that starts a process,");
    printer.line(stdio);
    if app.hub.offers().iter().all(|it| it.is_hollow()) {
        printer.line(
            "\nNo servers yet: add some with `toolgrove import FILE` or `toolgrove server add NAME URL`",
        );
    }
    printer.line("");
}

/// The same for a team, whose people sign in by themselves.
fn welcome_team(printer: &Printer, app: &App, url: &str, set_up: Option<&str>) {
    let base = app.gate.base();
    let page = format!("{base}/ui/");
    printer.json(&json!({
        "url": format!("{url}/mcp"), "page": page, "pid": std::process::id(), "set_up": set_up,
    }));
    printer.line(format_args!("Toolgrove listens at {url}/mcp"));
    match set_up {
        Some(link) => {
            printer.line(format_args!(
                "\nNobody keeps this hub yet. Make the first admin, by a link that works once:"
            ));
            printer.line(link);
        }
        None => printer.line(format_args!("People sign in at {page}")),
    }
    printer.line(format_args!("\nClients connect to {base}/mcp with a token: `toolgrove token create NAME`"));
    if app.config.public_url.is_none() && !app.config.listen.0.ip().is_loopback() {
        printer.warning("others cannot reach this hub by its name: set `public_url` in `toolgrove.toml`");
    }
    printer.line("");
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
