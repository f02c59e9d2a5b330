//! `toolgrove stdio`: the hub as a child process of a client.
//!
//! With a hub running it only forwards; else it owns the folder and is the hub, for itself and, through the socket,
//! for whatever else is started meanwhile. When the hub it forwards to ends, the next one is found or started.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;
use toolgrove_core::task;
use toolgrove_server::{Front, mcp};

use super::Stop;
use crate::api::{Api, segment};
use crate::args::Stdio;
use crate::declared::{self, Stamp};
use crate::failure::{Exit, Failure};
use crate::forward::{End, Forward};
use crate::lock::{self, Lock, Owner, Place};
use crate::paths::Paths;
use crate::socket::{Hello, Socket};
use crate::start;
use crate::streams::Streams;

/// A hub that ends sooner than this after we came is counted; after a few of them we give up.
const TOO_SOON: Duration = Duration::from_secs(1);
const TRIES: u32 = 5;
const LOOK_AGAIN: Duration = Duration::from_millis(20);

type Client = Forward<Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>>;

pub(crate) async fn run(args: Stdio, paths: &Paths) -> Result<Exit, Failure> {
    let Streams { input, output, modes: _modes } = Streams::open();
    let mut client = Forward::new(input, output);
    let (mut stop, mut short) = (Stop::new(), 0);
    loop {
        let began = Instant::now();
        let hello = Hello::new(args.instance.clone(), paths.acting_as.clone());
        let end = match lock::claim(paths).await? {
            Owner::Us(lock) => own(&args, paths, lock, &mut client, &mut stop).await?,
            Owner::Running(place) => {
                let path = match &args.instance {
                    Some(slug) => format!("/api/mcp/instances/{}", segment(slug)),
                    None => "/api/status".into(),
                };
                // Who may not come in, or asks for nothing, is told so before the client is.
                match Api::with(paths, async |api| api.get(&path).await).await {
                    Err(failure) if failure.problem.code == "hub.gone" => None,
                    Err(failure) => return Err(failure),
                    Ok(_) => tokio::select! {
                        end = join(&place, &hello, &mut client) => end,
                        () = stop.told() => Some(End::Done),
                    },
                }
            }
        };
        if end == Some(End::Done) {
            return Ok(Exit::Done);
        }
        short = if began.elapsed() < TOO_SOON { short + 1 } else { 0 };
        if short >= TRIES {
            return Err(Failure::new("hub.gone", "the hub went away").hint("run `toolgrove doctor`"));
        }
        tracing::warn!("the hub went away; looking for another one");
        // One that is just ending may still look as if it ran.
        tokio::time::sleep(LOOK_AGAIN * short).await;
    }
}

/// Forwards to a running hub.
async fn join(place: &Place, hello: &Hello, client: &mut Client) -> Option<End> {
    let mut stream = UnixStream::connect(place.socket.as_ref()?).await.ok()?;
    stream.write_all(hello.line().as_bytes()).await.ok()?;
    let (from_hub, to_hub) = stream.into_split();
    // A client that cannot be written to has gone, and nobody waits for anything.
    Some(client.carry(from_hub, to_hub).await.unwrap_or(End::Done))
}

/// Is the hub until the client's input ends.
async fn own(
    args: &Stdio,
    paths: &Paths,
    lock: Lock,
    client: &mut Client,
    signals: &mut Stop,
) -> Result<Option<End>, Failure> {
    let stamp = Stamp::of(paths);
    let mut hub = start::start(paths, start::read_config(paths)?, lock, 0).await?;
    let app = hub.app.clone();
    let caller = match app.local_caller(paths.acting_as.as_deref()).await {
        Ok(caller) => caller,
        Err(error) => {
            hub.close().await;
            return Err(error.into());
        }
    };
    if let Some(slug) = &args.instance
        && app.hub.catalog(&caller).offer(slug).is_none()
    {
        hub.close().await;
        let path = format!("/api/mcp/instances/{}", segment(slug));
        // Says so as every command does, with the nearest names.
        return Api::with(paths, async |api| api.get(&path).await).await.map(|_| None);
    }
    let socket = Socket::bind(paths)?;
    let place = Place { pid: std::process::id(), url: None, socket: Some(socket.path().to_owned()) };
    hub.lock.announce(&place).map_err(|error| Failure::io("cannot say where the hub is", &error))?;
    let stop = CancellationToken::new();
    let front = Front::new(app.clone(), stop.clone());
    let socket = task::spawn("socket", socket.serve(app.clone(), front, stop.clone()));
    app.started.store(true, Ordering::Release);
    app.refresh_all();
    let watch = task::spawn("watch", declared::watch(app.clone(), paths.clone(), stamp));

    let view = Hello::new(args.instance.clone(), None).view();
    let (said, input, output) = client.hand_over();
    tokio::select! {
        // A client that cannot be read or written to has gone, and nobody waits for anything.
        _ = mcp::lines::serve_whole(app.clone(), caller, view, said, input, output) => {}
        () = signals.told() => {}
    }
    watch.abort();
    stop.cancel();
    // Others that came through the socket find the next hub, or become it.
    let _ = tokio::time::timeout(Duration::from_millis(100), socket).await;
    hub.close().await;
    Ok(Some(End::Done))
}
