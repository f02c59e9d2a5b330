//! Where connections may go, judged on the address that is really dialled.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use toolgrove_core::net::Exception;

use super::*;
use crate::web::dial::{Dial, refused_host};

/// Where names lead: each look-up takes the next answer of its name, the last one stays.
#[derive(Debug, Default)]
pub(crate) struct Script {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Script {
    pub(crate) fn of(answers: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let address = |it: &&str| it.parse().unwrap();
        let answer = |it: &&[&str]| it.iter().map(address).collect();
        let answers =
            answers.iter().map(|(host, them)| ((*host).to_owned(), them.iter().map(answer).collect()));
        Arc::new(Self { answers: Mutex::new(answers.collect()), asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(super) fn look_up(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answers = answers.get_mut(host).ok_or_else(|| io::Error::other("no such name"))?;
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Ok(answer.unwrap_or_default().into_iter().map(|it| SocketAddr::new(it, 0)).collect())
    }
}

pub(crate) fn guard(exceptions: &[&str]) -> Guard {
    Guard::Public(exceptions.iter().map(|it| Exception::parse(it).unwrap()).collect())
}

/// Waits on one loopback address for somebody to come.
struct Waiting(std::net::TcpListener);

impl Waiting {
    fn at(address: &str, port: u16) -> Self {
        let listener = std::net::TcpListener::bind((address, port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// A connection is there for the listener as soon as it is there for its other side.
    fn came(&self) -> usize {
        std::iter::from_fn(|| self.0.accept().ok()).count()
    }
}

async fn connect(dial: &Dial, url: &str) -> Result<String, String> {
    let mut connector = Connector::new(dial.resolver().clone());
    match connector.call(url.parse().unwrap()).await {
        Ok(stream) => Ok(stream.inner().peer_addr().unwrap().ip().to_string()),
        Err(error) => {
            Err(refused_host(&*error).map_or_else(|| error.to_string(), |it| format!("refused {it}")))
        }
    }
}

#[tokio::test]
async fn a_name_that_moves_to_a_private_address_is_refused_there() {
    let first = Waiting::at("127.0.0.1", 0);
    let port = first.port();
    let second = Waiting::at("127.0.0.2", port);
    let script = Script::of(&[("moving.example", &[&["127.0.0.1"], &["127.0.0.2"]])]);
    let dial = Dial::with(guard(&["127.0.0.1"]), Lookup::Scripted(script.clone()));
    let url = format!("http://moving.example:{port}/");
    assert_eq!(connect(&dial, &url).await, Ok("127.0.0.1".into()));
    assert_eq!(script.asked().len(), 1, "what was judged is what was connected to");
    assert_eq!(connect(&dial, &url).await, Err("refused moving.example".into()));
    assert_eq!((first.came(), second.came()), (1, 0));
}

#[tokio::test]
async fn of_several_addresses_only_admitted_ones_are_tried() {
    let admitted = Waiting::at("127.0.0.3", 0);
    let port = admitted.port();
    let other = Waiting::at("127.0.0.4", port);
    let script = Script::of(&[("both.example", &[&["127.0.0.4", "127.0.0.3"]])]);
    let dial = Dial::with(guard(&["127.0.0.3/32"]), Lookup::Scripted(script));
    assert_eq!(connect(&dial, &format!("http://both.example:{port}/")).await, Ok("127.0.0.3".into()));
    assert_eq!((admitted.came(), other.came()), (1, 0));
}

#[tokio::test]
async fn an_address_in_a_url_is_judged_too() {
    let script = Script::of(&[]);
    let dial = Dial::with(guard(&[]), Lookup::Scripted(script.clone()));
    for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "0.0.0.0", "10.0.0.1"] {
        let bare = host.trim_matches(['[', ']']);
        assert_eq!(connect(&dial, &format!("http://{host}:1/")).await, Err(format!("refused {bare}")));
        assert!(dial.resolver().resolve(host).await.is_err(), "{host}");
    }
    assert_eq!(script.asked(), [""; 0]);
}

#[tokio::test]
async fn a_host_that_is_excepted_may_be_anywhere() {
    let waiting = Waiting::at("127.0.0.1", 0);
    let port = waiting.port();
    let answers: &[&[&str]] = &[&["127.0.0.1"]];
    let script = Script::of(&[("db.corp.example", answers), ("corp.example", answers)]);
    let dial = Dial::with(guard(&["*.corp.example"]), Lookup::Scripted(script));
    assert!(connect(&dial, &format!("http://db.corp.example:{port}/")).await.is_ok());
    assert_eq!(
        connect(&dial, &format!("http://corp.example:{port}/")).await,
        Err("refused corp.example".into())
    );
}

#[tokio::test]
async fn a_pooled_client_and_a_secure_one_are_guarded_alike() {
    let script = Script::of(&[("x.example", &[&["10.0.0.1"]])]);
    let dial = Dial::with(guard(&[]), Lookup::Scripted(script));
    for url in ["http://x.example/", "https://x.example/", "http://10.0.0.1/", "https://10.0.0.1/"] {
        let lines = dial.lines(&url.parse().unwrap()).unwrap();
        let mut request = http::Request::new(toolgrove_wire::Pieces::default());
        *request.uri_mut() = url.parse().unwrap();
        let error = lines.send(request).await.unwrap_err();
        assert!(refused_host(&error).is_some(), "{url}: {error:?}");
    }
}
