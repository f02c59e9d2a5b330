//! The sockets of browsers: who is connected, what they were asked, and what they answered.
//!
//! A socket itself, and its words, are the doors' business. A request that nobody waits for any more is cancelled in
//! the page; an answer is taken only from the socket that was asked, and only once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};
use toolgrove_core::tabs::{BrowserKind, Refusal, TabEvent, TabHub, TabKey, TabRequest, TabTransport};
use toolgrove_wire::Raw;
use uuid::Uuid;

/// The tab hub over real sockets.
pub type Tabs = TabHub<Browsers>;

/// Every browser that is connected.
#[derive(Debug)]
pub struct Browsers {
    sockets: Arc<Mutex<HashMap<Arc<str>, Socket>>>,
    next: AtomicU64,
    events: mpsc::UnboundedSender<TabEvent>,
    heard: Mutex<Option<mpsc::UnboundedReceiver<TabEvent>>>,
}

#[derive(Debug)]
struct Socket {
    /// Tells this connection from an earlier one of the same browser.
    number: u64,
    out: mpsc::UnboundedSender<ToBrowser>,
    pending: HashMap<Uuid, Answering>,
}

type Answering = oneshot::Sender<Result<Raw, Refusal>>;

/// What a door is to send.
#[derive(Debug)]
pub enum ToBrowser {
    Request {
        id: Uuid,
        tab: i64,
        request: TabRequest,
    },
    /// Nobody waits for this any more.
    Cancel {
        id: Uuid,
        reason: &'static str,
    },
    /// Ends the connection.
    Close {
        code: u16,
        reason: &'static str,
    },
}

/// One connection, as its door holds it. Dropping it says that the browser is gone.
#[derive(Debug)]
pub struct Connection {
    sockets: Arc<Mutex<HashMap<Arc<str>, Socket>>>,
    events: mpsc::UnboundedSender<TabEvent>,
    browser: Arc<str>,
    number: u64,
}

impl Default for Browsers {
    fn default() -> Self {
        let (events, heard) = mpsc::unbounded_channel();
        Self { sockets: Arc::default(), next: AtomicU64::new(1), events, heard: Mutex::new(Some(heard)) }
    }
}

impl Browsers {
    /// Takes a browser in. One that is here already is replaced: the newer connection is the true one.
    pub fn attach(
        &self,
        browser: &Arc<str>,
        person: Uuid,
        kind: BrowserKind,
        label: &str,
    ) -> (Connection, mpsc::UnboundedReceiver<ToBrowser>) {
        let (out, orders) = mpsc::unbounded_channel();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let socket = Socket { number, out, pending: HashMap::new() };
        if let Some(older) = lock(&self.sockets).insert(browser.clone(), socket) {
            let older = older.end(&Refusal::Closed);
            let _ =
                older.out.send(ToBrowser::Close { code: 1000, reason: "a newer connection took its place" });
        }
        let label = label.to_owned();
        let _ = self.events.send(TabEvent::Connected { browser: browser.clone(), person, kind, label });
        let connection = Connection {
            sockets: self.sockets.clone(),
            events: self.events.clone(),
            browser: browser.clone(),
            number,
        };
        (connection, orders)
    }

    /// Ends a browser's connection.
    pub fn close(&self, browser: &str, code: u16, reason: &'static str) {
        if let Some(socket) = lock(&self.sockets).get(browser) {
            let _ = socket.out.send(ToBrowser::Close { code, reason });
        }
    }

    /// Requests without an answer. For tests.
    #[doc(hidden)]
    pub fn pending(&self) -> usize {
        lock(&self.sockets).values().map(|it| it.pending.len()).sum()
    }
}

impl Socket {
    fn end(self, refusal: &Refusal) -> Self {
        for (_, answering) in self.pending {
            let _ = answering.send(Err(refusal.clone()));
        }
        Self { pending: HashMap::new(), ..self }
    }
}

impl Connection {
    pub fn browser(&self) -> &Arc<str> {
        &self.browser
    }

    pub fn tab(&self, tab: i64) -> TabKey {
        TabKey::new(&self.browser, tab)
    }

    /// Passes on what the browser reports, unless a newer connection speaks for it now.
    pub fn report(&self, event: TabEvent) {
        if self.is_current() {
            let _ = self.events.send(event);
        }
    }

    /// Takes an answer. `false`: nobody waits for it.
    pub fn answer(&self, id: Uuid, answer: Result<Raw, Refusal>) -> bool {
        let mut sockets = lock(&self.sockets);
        let socket = sockets.get_mut(&self.browser).filter(|it| it.number == self.number);
        let Some(to) = socket.and_then(|it| it.pending.remove(&id)) else { return false };
        self.events.send(TabEvent::Answered { to, answer }).is_ok()
    }

    /// The connection ends, and this is why its requests have no answer.
    pub fn fail(&self, refusal: &Refusal) {
        let mut sockets = lock(&self.sockets);
        let socket = sockets.get_mut(&self.browser).filter(|it| it.number == self.number);
        for (_, answering) in socket.map(|it| std::mem::take(&mut it.pending)).unwrap_or_default() {
            let _ = answering.send(Err(refusal.clone()));
        }
    }

    fn is_current(&self) -> bool {
        lock(&self.sockets).get(&self.browser).is_some_and(|it| it.number == self.number)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut sockets = lock(&self.sockets);
        if sockets.get(&self.browser).is_some_and(|it| it.number == self.number)
            && let Some(socket) = sockets.remove(&self.browser)
        {
            socket.end(&Refusal::Closed);
            let _ = self.events.send(TabEvent::Lost { browser: self.browser.clone() });
        }
    }
}

/// A request on its way. Dropped before its answer, it is cancelled.
struct Asked<'a> {
    browsers: &'a Browsers,
    browser: Arc<str>,
    id: Uuid,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut sockets = lock(&self.browsers.sockets);
        if let Some(socket) = sockets.get_mut(&self.browser)
            && socket.pending.remove(&self.id).is_some()
        {
            let _ = socket.out.send(ToBrowser::Cancel { id: self.id, reason: "nobody waits for the answer" });
        }
    }
}

impl TabTransport for Browsers {
    async fn send_request(&self, tab: &TabKey, id: Uuid, request: TabRequest) -> Result<Raw, Refusal> {
        let (answering, answered) = oneshot::channel();
        {
            let mut sockets = lock(&self.sockets);
            let Some(socket) = sockets.get_mut(&tab.browser) else { return Err(Refusal::Absent) };
            if socket.out.send(ToBrowser::Request { id, tab: tab.tab, request }).is_err() {
                return Err(Refusal::Absent);
            }
            socket.pending.insert(id, answering);
        }
        let _asked = Asked { browsers: self, browser: tab.browser.clone(), id };
        answered.await.unwrap_or(Err(Refusal::Closed))
    }

    fn events(&self) -> mpsc::UnboundedReceiver<TabEvent> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).take();
        heard.unwrap_or_else(|| mpsc::unbounded_channel().1)
    }

    fn disconnect(&self, tab: &TabKey) {
        self.close(&tab.browser, 1000, "the hub lets go");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    fn request() -> TabRequest {
        TabRequest::Execute { tool: "t".into(), args: Raw::empty_object(), document: None }
    }

    /// A request that was sent, and its id.
    async fn asked(orders: &mut mpsc::UnboundedReceiver<ToBrowser>) -> Uuid {
        match orders.recv().await {
            Some(ToBrowser::Request { id, .. }) => id,
            other => panic!("unexpected: {other:?}"),
        }
    }

    #[tokio::test]
    async fn an_answer_counts_only_from_the_socket_that_was_asked() {
        let browsers = Browsers::default();
        let (a, mut orders) = browsers.attach(&"a".into(), Uuid::nil(), BrowserKind::Relay, "");
        let (b, _orders_b) = browsers.attach(&"b".into(), Uuid::nil(), BrowserKind::Relay, "");
        let tab = a.tab(0);
        let mut events = browsers.events();
        let answer = browsers.send_request(&tab, Uuid::new_v4(), request());
        let other = async {
            let id = asked(&mut orders).await;
            assert!(!b.answer(id, Ok(Raw::string("forged"))));
            assert!(a.answer(id, Ok(Raw::string("true"))));
            assert!(!a.answer(id, Ok(Raw::string("late"))));
            while let Some(event) = events.recv().await {
                if let TabEvent::Answered { to, answer } = event {
                    to.send(answer).unwrap();
                    break;
                }
            }
        };
        let (answer, ()) = tokio::join!(answer, other);
        assert_eq!(answer, Ok(Raw::string("true")));
    }

    #[tokio::test]
    async fn a_request_that_is_dropped_is_cancelled() {
        let browsers = Browsers::default();
        let (a, mut orders) = browsers.attach(&"a".into(), Uuid::nil(), BrowserKind::Extension, "");
        let (tab, id) = (a.tab(0), Uuid::new_v4());
        {
            let mut answer = Box::pin(browsers.send_request(&tab, id, request()));
            assert!(matches!(futures::poll!(&mut answer), Poll::Pending));
        }
        assert_eq!(asked(&mut orders).await, id);
        assert!(matches!(orders.recv().await, Some(ToBrowser::Cancel { id: it, .. }) if it == id));
        assert_eq!(browsers.pending(), 0);
    }

    #[tokio::test]
    async fn a_newer_connection_takes_the_place_of_an_older_one() {
        let browsers = Browsers::default();
        let (old, mut orders) = browsers.attach(&"a".into(), Uuid::nil(), BrowserKind::Extension, "");
        let (new, _orders) = browsers.attach(&"a".into(), Uuid::nil(), BrowserKind::Extension, "");
        assert!(matches!(orders.recv().await, Some(ToBrowser::Close { code: 1000, .. })));
        drop(old);
        assert!(new.is_current(), "what the older one leaves behind is not the newer one's");
        let mut events = browsers.events();
        let mut lost = 0;
        while let Ok(event) = events.try_recv() {
            lost += usize::from(matches!(event, TabEvent::Lost { .. }));
        }
        assert_eq!(lost, 0);
    }
}
