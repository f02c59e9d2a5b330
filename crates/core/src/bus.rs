//! Tells the doors that a list has changed. Bursts of one kind become one message.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use toolgrove_wire::Raw;
use uuid::Uuid;

use crate::event::ListKind;
use crate::task;

/// How long changes of one kind are gathered.
const GATHER: Duration = Duration::from_millis(50);

/// Something a person's clients may want to know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Notice {
    pub person: Uuid,
    pub instance: Uuid,
    /// The slug of the instance it happened on.
    pub slug: String,
    pub what: Change,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    List(ListKind),
    Resource {
        uri: String,
    },
    /// A task, by its server's own id, and how it is now.
    Task {
        id: String,
        params: Raw,
    },
}

#[derive(Debug, Clone)]
pub struct Bus {
    tx: broadcast::Sender<Notice>,
    waiting: Arc<Mutex<HashSet<Notice>>>,
}

impl Default for Bus {
    fn default() -> Self {
        Self { tx: broadcast::Sender::new(1024), waiting: Arc::default() }
    }
}

impl Bus {
    pub fn subscribe(&self) -> broadcast::Receiver<Notice> {
        self.tx.subscribe()
    }

    /// How many listen. For tests.
    #[doc(hidden)]
    pub fn listeners(&self) -> usize {
        self.tx.receiver_count()
    }

    pub fn publish(&self, notice: Notice) {
        // Each report of a task says something else, and the last one counts.
        if let Change::Task { .. } = notice.what {
            let _ = self.tx.send(notice);
            return;
        }
        let first = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(notice.clone());
        if !first {
            return;
        }
        let bus = self.clone();
        task::spawn("bus", async move {
            tokio::time::sleep(GATHER).await;
            bus.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&notice);
            // Nobody listening is fine.
            let _ = bus.tx.send(notice);
        });
    }
}
