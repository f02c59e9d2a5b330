//! The hub's socket, for commands and clients of the same person on the same machine.
//!
//! The first byte tells what a connection is. `{` begins a hello, one line `{"toolgrove":"hello"}` with an
//! `"instance":"<slug>"` or an `"as":"<e-mail>"` if wanted; MCP follows in lines, as on stdio, and the file's mode is
//! the key. Anything else is HTTP: the same doors as on the port, which ask for the key as they do there.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::Mode;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use toolgrove_core::call::View;
use toolgrove_core::task;
use toolgrove_server::{App, Arrival, Front, mcp};

use crate::failure::Failure;
use crate::paths::Paths;

/// The longest path of a socket that every system takes.
const PATH_MAX: usize = 100;
const HELLO_MAX: u64 = 1024;

/// The first line of a client that speaks MCP.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    toolgrove: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    acting_as: Option<String>,
}

impl Hello {
    pub(crate) fn new(instance: Option<String>, acting_as: Option<String>) -> Self {
        Self { toolgrove: "hello".into(), instance, acting_as }
    }

    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    pub(crate) fn view(self) -> View {
        self.instance.map_or(View::All, |slug| View::One { slug })
    }
}

/// A socket that listens; its file goes with it.
#[derive(Debug)]
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Where it lies when the data folder's path is too long for a socket.
    _folder: Option<tempfile::TempDir>,
}

impl Socket {
    pub(crate) fn bind(paths: &Paths) -> Result<Self, Failure> {
        let mut path = paths.socket();
        let mut folder = None;
        let failed = |path: &Path, error: &io::Error| {
            Failure::io(format_args!("cannot listen on socket `{}`", path.display()), error)
        };
        if path.as_os_str().len() > PATH_MAX {
            let made = tempfile::Builder::new()
                .prefix("toolgrove-")
                .permissions(std::fs::Permissions::from_mode(0o700))
                .tempdir()
                .map_err(|error| failed(&path, &error))?;
            path = made.path().join("hub.sock");
            folder = Some(made);
        }
        // One that a killed hub left behind.
        let _ = std::fs::remove_file(&path);
        // Nobody else may connect, not even for the moment before the mode is set.
        let mask = rustix::process::umask(Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(&path);
        rustix::process::umask(mask);
        let listener = bound.map_err(|error| failed(&path, &error))?;
        Ok(Self { listener, path, _folder: folder })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Serves until told to stop, then waits for HTTP clients to get their answers. MCP clients stay as long as the
    /// hub does: they have no end of their own.
    pub(crate) async fn serve(self, app: Arc<App>, front: Front, stop: CancellationToken) {
        let clients = TaskTracker::new();
        loop {
            let stream = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "the socket could not accept a client");
                        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                        continue;
                    }
                },
            };
            let (app, front) = (app.clone(), front.clone());
            let token = clients.token();
            task::spawn("socket client", async move {
                if let Err(error) = serve_one(app, front, stream, token).await {
                    tracing::debug!(%error, "a client of the socket ended early");
                }
            });
        }
        let _ = std::fs::remove_file(&self.path);
        clients.close();
        clients.wait().await;
    }
}

async fn serve_one(
    app: Arc<App>,
    front: Front,
    stream: UnixStream,
    token: TaskTrackerToken,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    match stream.fill_buf().await?.first() {
        None => Ok(()),
        Some(b'{') => {
            drop(token);
            let mut line = String::new();
            (&mut stream).take(HELLO_MAX).read_line(&mut line).await?;
            let hello: Hello = serde_json::from_str(&line).map_err(io::Error::other)?;
            let caller = app.local_caller(hello.acting_as.as_deref()).await.map_err(io::Error::other)?;
            let (input, output) = tokio::io::split(stream);
            mcp::lines::serve(app, caller, hello.view(), input, output).await
        }
        Some(_) => {
            let _token = token;
            front.serve(stream, Arrival::Socket).await.map_err(io::Error::other)
        }
    }
}
