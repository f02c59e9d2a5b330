//! One process owns the data folder. `hub.lock` is locked by the owner as long as it lives, and says where it is.
//!
//! The lock is the operating system's: it goes with the process, however that ends, so a file left behind means
//! nothing. Its content is only read while somebody else holds the lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::paths::Paths;

/// How long one command waits for another one that uses the folder by itself.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Where the running hub is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) pid: u32,
    /// `http://127.0.0.1:7430`, unless it only serves its own stdin and the socket.
    pub(crate) url: Option<String>,
    /// Speaks MCP in lines and HTTP: see `socket.rs`. Absent while a command uses the folder by itself.
    pub(crate) socket: Option<PathBuf>,
}

impl Place {
    pub(crate) fn sentence(&self) -> String {
        match &self.url {
            Some(url) => format!("a hub is already running at `{url}/mcp` (process {})", self.pid),
            None => {
                format!("a hub is already running for a client's `toolgrove stdio` (process {})", self.pid)
            }
        }
    }
}

#[derive(Debug)]
pub(crate) enum Owner {
    Us(Lock),
    Running(Place),
}

/// The folder is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Tells others where we are.
    pub(crate) fn announce(&mut self, place: &Place) -> std::io::Result<()> {
        let text = serde_json::to_vec(place).unwrap_or_default();
        self.0.set_len(0)?;
        self.0.rewind()?;
        self.0.write_all(&text)?;
        self.0.flush()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.set_len(0);
    }
}

/// Takes the folder, or finds out who has it. Waits while a short command has it, or a hub is just starting.
pub(crate) async fn claim(paths: &Paths) -> Result<Owner, Failure> {
    paths.make_data()?;
    let path = paths.lock();
    let failed = |error: std::io::Error| Failure::io(format_args!("cannot use `{}`", path.display()), &error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let began = Instant::now();
    loop {
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                let mut lock = Lock(file);
                let place = Place { pid: std::process::id(), url: None, socket: None };
                lock.announce(&place).map_err(failed)?;
                return Ok(Owner::Us(lock));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let place: Option<Place> = serde_json::from_str(&text).ok();
        if let Some(place) = &place
            && let Some(socket) = &place.socket
            && UnixStream::connect(socket).await.is_ok()
        {
            return Ok(Owner::Running(place.clone()));
        }
        if began.elapsed() > PATIENCE {
            let who = place.map(|it| format!(" (process {})", it.pid)).unwrap_or_default();
            let seconds = PATIENCE.as_secs();
            return Err(Failure::new(
                "hub.busy",
                format!("another command{who} has been using the data folder for {seconds} s"),
            )
            .hint("wait for it to end, or start a hub with `toolgrove serve` that all commands share"));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Who has the folder right now, without waiting or taking it.
pub(crate) fn peek(paths: &Paths) -> Option<Place> {
    let mut file = File::open(paths.lock()).ok()?;
    if file.try_lock_shared().is_ok() {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
