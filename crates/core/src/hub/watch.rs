//! Watched resources and tasks. Many clients may watch one; its server hears of the first and of the last.

use std::sync::Arc;

use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use super::{Hub, Log, lock};
use crate::call::{Caller, Links, Subject, View, Watching};
use crate::catalog::usable;
use crate::instance::Instance;
use crate::{Error, task};

/// How many clients watch one thing. Locked while its server is told of a change.
pub(super) type Watchers = Arc<AsyncMutex<usize>>;

/// Keeps one resource or task watched until it is dropped.
pub struct Watch<L: Links, G: Log> {
    hub: Arc<Hub<L, G>>,
    instance: Arc<Instance>,
    subject: Subject,
}

impl<L: Links, G: Log> Watch<L, G> {
    /// The instance.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// What is watched there.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }
}

impl<L: Links, G: Log> Hub<L, G> {
    /// Watches a resource for one client. Fails when its server cannot be subscribed to.
    pub async fn watch(
        self: &Arc<Self>,
        caller: &Caller,
        view: &View,
        uri: &str,
    ) -> Result<Watch<L, G>, Error> {
        let catalog = self.catalog(caller);
        let place = catalog.resource(view, uri)?;
        let offer = catalog.require(&place.instance.slug)?;
        let declared = offer.capabilities.get("resources").and_then(|it| it.get("subscribe"));
        if declared.and_then(|it| it.bool()) != Some(true) {
            return Err(Error::Request(format!("`{}` has no resource subscriptions", place.instance.slug)));
        }
        self.begin(place.instance, Subject::Resource(place.name)).await
    }

    /// Watches a task for the client that may ask about it.
    pub async fn watch_task(
        self: &Arc<Self>,
        caller: &Caller,
        instance: Uuid,
        id: &str,
    ) -> Result<Watch<L, G>, Error> {
        let unknown = || Error::Request("no such task".into());
        let offer = self.offer(instance).ok_or_else(unknown)?;
        if offer.instance.person != caller.person || !caller.may_use(instance) {
            return Err(unknown());
        }
        usable(&offer.instance)?;
        self.begin(offer.instance.clone(), Subject::Task(id.to_owned())).await
    }

    async fn begin(
        self: &Arc<Self>,
        instance: Arc<Instance>,
        subject: Subject,
    ) -> Result<Watch<L, G>, Error> {
        let key = (instance.id, subject);
        let watchers = self.watchers(&key);
        let mut count = watchers.lock().await;
        let begun = match *count {
            0 => self.links.watch(&instance, &key.1, Watching::Start).await,
            _ => Ok(()),
        };
        *count += usize::from(begun.is_ok());
        drop(count);
        match begun {
            Ok(()) => Ok(Watch { hub: self.clone(), instance, subject: key.1 }),
            Err(error) => {
                self.tidy(&key, &watchers);
                Err(error)
            }
        }
    }

    /// Takes out of the table what nobody watches.
    fn tidy(&self, key: &(Uuid, Subject), watchers: &Watchers) {
        let mut watched = lock(&self.watched);
        // Clones are made under this lock: two owners are the table and us.
        if Arc::strong_count(watchers) == 2 && watchers.try_lock().is_ok_and(|it| *it == 0) {
            watched.remove(key);
        }
    }

    /// How many things are watched. For tests.
    #[doc(hidden)]
    pub fn watched(&self) -> usize {
        lock(&self.watched).len()
    }

    fn watchers(&self, key: &(Uuid, Subject)) -> Watchers {
        lock(&self.watched).entry(key.clone()).or_default().clone()
    }

    /// One client less. Whoever is the last ends the subscription.
    async fn unwatch(&self, instance: &Arc<Instance>, subject: &Subject) {
        let key = (instance.id, subject.clone());
        let watchers = self.watchers(&key);
        let mut count = watchers.lock().await;
        *count = count.saturating_sub(1);
        if *count == 0
            && let Err(error) = self.links.watch(instance, subject, Watching::Stop).await
        {
            tracing::debug!(server = instance.slug, %error, "it stays watched");
        }
        drop(count);
        self.tidy(&key, &watchers);
    }
}

impl<L: Links, G: Log> Drop for Watch<L, G> {
    fn drop(&mut self) {
        let (hub, instance, subject) = (self.hub.clone(), self.instance.clone(), self.subject.clone());
        task::spawn("unwatch", async move { hub.unwatch(&instance, &subject).await });
    }
}
