//! What reached a peer, in order, and a way to wait for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixListener;
use tokio::sync::Notify;
use toolgrove_core::task::spawn;

#[derive(Debug)]
pub(crate) struct Record<T>(Arc<(Mutex<Vec<T>>, Notify)>);

impl<T> Clone for Record<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Clone> Record<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new((Mutex::new(Vec::new()), Notify::new())))
    }

    pub(crate) fn push(&self, seen: T) {
        self.0.0.lock().expect("whole").push(seen);
        self.0.1.notify_waiters();
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.0.lock().expect("whole").clone()
    }

    pub(crate) async fn wait_for(&self, what: &str, look: impl Fn(&T) -> bool) -> T {
        let found = async {
            loop {
                let changed = self.0.1.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if let Some(found) = self.all().into_iter().find(|it| look(it)) {
                    return found;
                }
                changed.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), found)
            .await
            .unwrap_or_else(|_| panic!("{what} within 20 s"))
    }
}

/// Listens to what a process of `tests/bin/peer.rs` tells.
pub(crate) struct Witness {
    folder: tempfile::TempDir,
    pub(crate) lines: Record<String>,
}

impl Witness {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join("witness")).expect("a socket");
        let lines = Record::new();
        let record = lines.clone();
        spawn("witness", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let record = record.clone();
                spawn("witness-reader", async move {
                    let mut lines = BufReader::new(stream).lines();
                    while let Ok(Some(line)) = lines.next_line().await {
                        record.push(line);
                    }
                    record.push("gone".into());
                });
            }
        });
        Self { folder, lines }
    }

    pub(crate) fn path(&self) -> String {
        self.folder.path().join("witness").to_string_lossy().into_owned()
    }

    pub(crate) fn starts(&self) -> usize {
        self.lines.all().iter().filter(|it| it.starts_with("start ")).count()
    }

    /// The methods that were seen, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        let method = |it: &String| {
            let value: serde_json::Value = serde_json::from_str(it).ok()?;
            Some(value["method"].as_str()?.to_owned())
        };
        self.lines.all().iter().filter_map(method).collect()
    }
}
