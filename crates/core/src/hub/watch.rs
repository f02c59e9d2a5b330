//! Watched resources. Many clients may watch one; its server hears of the first and of the last.

use std::sync::Arc;

use uuid::Uuid;

use super::{Hub, Log, lock};
use crate::call::{Links, View, Watching};
use crate::instance::Instance;
use crate::{Error, task};

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
    pub async fn watch(self: &Arc<Self>, person: Uuid, view: &View, uri: &str) -> Result<Watch<L, G>, Error> {
        let catalog = self.catalog(person);
        let place = catalog.resource(view, uri)?;
        let offer = catalog.require(&place.instance.slug)?;
        let declared = offer.capabilities.get("resources").and_then(|it| it.get("subscribe"));
        if declared.and_then(|it| it.bool()) != Some(true) {
            return Err(Error::Request(format!("`{}` has no resource subscriptions", place.instance.slug)));
        }
        let watch = Watch { hub: self.clone(), instance: place.instance, uri: place.name };
        let first = {
            let mut watched = lock(&self.watched);
            let count = watched.entry((watch.instance.id, watch.uri.clone())).or_default();
            *count += 1;
            *count == 1
        };
        if first {
            self.links.watch(&watch.instance, &watch.uri, Watching::Start).await?;
        }
        Ok(watch)
    }
}

impl<L: Links, G: Log> Drop for Watch<L, G> {
    fn drop(&mut self) {
        let key = (self.instance.id, self.uri.clone());
        let last = {
            let mut watched = lock(&self.hub.watched);
            match watched.get_mut(&key) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    false
                }
                _ => watched.remove(&key).is_some(),
            }
        };
        if last {
            let (hub, instance, uri) = (self.hub.clone(), self.instance.clone(), self.uri.clone());
            task::spawn("unwatch", async move {
                if let Err(error) = hub.links.watch(&instance, &uri, Watching::Stop).await {
                    tracing::debug!(server = instance.slug, %error, "a resource stays watched");
                }
            });
        }
    }
}
