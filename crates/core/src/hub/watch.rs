//! Watched resources. Many clients may watch one; its server hears of the first and of the last.

use std::sync::Arc;

use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use super::{Hub, Log, lock};
use crate::call::{Caller, Links, View, Watching};
use crate::instance::Instance;
use crate::{Error, task};

/// How many clients watch one resource. Locked while its server is told of a change.
pub(super) type Watchers = Arc<AsyncMutex<usize>>;

/// Keeps one resource watched until it is dropped.
pub struct Watch<L: Links, G: Log> {
    hub: Arc<Hub<L, G>>,
    instance: Arc<Instance>,
    uri: String,
}

impl<L: Links, G: Log> Watch<L, G> {
    /// The instance's slug and the server's own address.
    pub fn place(&self) -> (&str, &str) {
        (&self.instance.slug, &self.uri)
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
        let watchers = self.watchers(&(place.instance.id, place.name.clone()));
        let mut count = watchers.lock().await;
        if *count == 0 {
            self.links.watch(&place.instance, &place.name, Watching::Start).await?;
        }
        *count += 1;
        Ok(Watch { hub: self.clone(), instance: place.instance, uri: place.name })
    }

    fn watchers(&self, key: &(Uuid, String)) -> Watchers {
        lock(&self.watched).entry(key.clone()).or_default().clone()
    }

    /// One client less. Whoever is the last ends the subscription.
    async fn unwatch(&self, instance: &Arc<Instance>, uri: &str) {
        let key = (instance.id, uri.to_owned());
        let watchers = self.watchers(&key);
        let mut count = watchers.lock().await;
        *count = count.saturating_sub(1);
        if *count == 0
            && let Err(error) = self.links.watch(instance, uri, Watching::Stop).await
        {
            tracing::debug!(server = instance.slug, %error, "a resource stays watched");
        }
        let idle = *count == 0;
        drop(count);
        let mut watched = lock(&self.watched);
        // Clones are made under this lock: two owners are the table and us.
        if idle && Arc::strong_count(&watchers) == 2 {
            watched.remove(&key);
        }
    }
}

impl<L: Links, G: Log> Drop for Watch<L, G> {
    fn drop(&mut self) {
        let (hub, instance, uri) = (self.hub.clone(), self.instance.clone(), self.uri.clone());
        task::spawn("unwatch", async move { hub.unwatch(&instance, &uri).await });
    }
}
