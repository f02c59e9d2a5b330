//! Carries MCP lines between a client on stdin and stdout and a hub, and knows what was asked and not answered yet.
//!
//! When the client's input ends, what it asked is still answered. When the hub goes away, what it did not answer gets
//! an error, and the client goes on with the next hub as if nothing had happened.

use std::collections::{HashMap, VecDeque};
use std::io::Cursor;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use toolgrove_wire::envelope::{self, INTERNAL_ERROR, UnknownId};
use toolgrove_wire::{Id, Message, Raw, RpcError};

/// A client's two streams, and what is going on.
pub(crate) struct Forward<I, O> {
    input: BufReader<I>,
    output: O,
    /// What was read of a line that has no end yet.
    line: Vec<u8>,
    /// A line of which no hub has taken a byte: it is for the next one.
    unsent: Option<Bytes>,
    talk: Talk,
}

#[derive(Debug, Default)]
struct Talk {
    state: Mutex<State>,
    answered: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Requests without an answer.
    open: HashMap<String, Id>,
    /// `initialize` and `notifications/initialized`, for a hub that has not heard them.
    greeting: Vec<Bytes>,
    /// The answer to this one is not the client's: it got one from an earlier hub.
    unwanted: Option<String>,
    /// What was asked in lines that a hub may refuse whole, with an error that names no request.
    refusable: VecDeque<Vec<String>>,
}

/// A longer line may be beyond what a hub takes.
const LONG: usize = 1024 * 1024;

/// Why carrying ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The client's input ended and everything was answered.
    Done,
    HubGone,
}

impl<I: AsyncRead + Unpin, O: AsyncWrite + Unpin> Forward<I, O> {
    pub(crate) fn new(input: I, output: O) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            output,
            line: Vec::new(),
            unsent: None,
            talk: Talk::default(),
        }
    }

    /// For a hub that is ourselves and needs no carrying: what the client has said to an earlier one, all that it
    /// says from now on, and where to answer.
    pub(crate) fn hand_over(&mut self) -> (Vec<Bytes>, impl AsyncRead + Unpin, &mut O) {
        let Self { input, output, line, unsent, talk } = self;
        let mut ahead = unsent.take().unwrap_or_default().to_vec();
        ahead.append(line);
        (std::mem::take(&mut talk.lock().greeting), Cursor::new(ahead).chain(input), output)
    }

    /// Carries until the client or the hub is gone.
    pub(crate) async fn carry(
        &mut self,
        from_hub: impl AsyncRead + Unpin,
        mut to_hub: impl AsyncWrite + Unpin,
    ) -> std::io::Result<End> {
        let Self { input, output, line, unsent, talk } = self;
        let greeting = talk.greet();
        let (mut up_ended, mut all_said) = (false, false);
        let up = async {
            for line in greeting {
                to_hub.write_all(&line).await?;
            }
            loop {
                if unsent.is_none() {
                    input.read_until(b'\n', line).await?;
                    if line.is_empty() {
                        break;
                    }
                    if line.last() != Some(&b'\n') {
                        line.push(b'\n');
                    }
                }
                let whole = &*unsent.get_or_insert_with(|| std::mem::take(line).into());
                let sent = to_hub.write(whole).await?;
                let whole = unsent.take().unwrap_or_default();
                talk.asked(&whole);
                to_hub.write_all(&whole[sent..]).await?;
            }
            talk.all_answered().await;
            to_hub.shutdown().await
        };
        let down = async {
            let mut from_hub = BufReader::with_capacity(64 * 1024, from_hub);
            let (mut answer, mut answers) = (Vec::new(), Vec::new());
            while from_hub.read_until(b'\n', &mut answer).await.is_ok_and(|it| it > 0) {
                let whole = Bytes::from(std::mem::take(&mut answer));
                if talk.heard(&whole) {
                    answers.extend_from_slice(&whole);
                }
                // What came together goes on together.
                if !from_hub.buffer().contains(&b'\n') {
                    output.write_all(&answers).await?;
                    output.flush().await?;
                    answers.clear();
                    talk.answered.notify_waiters();
                }
            }
            std::io::Result::Ok(())
        };
        {
            tokio::pin!(up, down);
            loop {
                tokio::select! {
                    // What the client says next is not for a hub that is gone.
                    biased;
                    done = &mut down => {
                        done?;
                        break;
                    }
                    // A hub that cannot be written to is about to end its answers too.
                    done = &mut up, if !up_ended => (up_ended, all_said) = (true, done.is_ok()),
                }
            }
        }
        if all_said && talk.lock().open.is_empty() {
            return Ok(End::Done);
        }
        for error in talk.give_up() {
            output.write_all(&error).await?;
        }
        output.flush().await?;
        Ok(End::HubGone)
    }
}

impl Talk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a new hub must hear first; its answer is for nobody.
    fn greet(&self) -> Vec<Bytes> {
        let mut state = self.lock();
        let id = state.greeting.first().and_then(|it| match message(it) {
            Some(Message::Request { id, .. }) => Some(id.key()),
            _ => None,
        });
        state.unwanted = id;
        state.greeting.clone()
    }

    /// Notes what a line of the client asks.
    fn asked(&self, line: &Bytes) {
        let mut state = self.lock();
        let asked = messages(line);
        if line.len() > LONG || line.trim_ascii_start().starts_with(b"[") {
            let ids = asked.iter().filter_map(|it| match it {
                Message::Request { id, .. } => Some(id.key()),
                _ => None,
            });
            let ids = ids.collect();
            state.refusable.push_back(ids);
        }
        for message in asked {
            match message {
                // A subscription is answered by its end.
                Message::Request { method, .. } if method == "subscriptions/listen" => {}
                Message::Request { id, method, .. } => {
                    if method == "initialize" {
                        state.greeting = vec![line.clone()];
                    }
                    state.open.insert(id.key(), id);
                }
                Message::Notification { method, .. } if method == "notifications/initialized" => {
                    state.greeting.push(line.clone());
                }
                Message::Notification { method, params } if method == "notifications/cancelled" => {
                    if let Some(id) = params.and_then(|it| it.get("requestId")).and_then(Id::new) {
                        state.open.remove(&id.key());
                    }
                }
                Message::Notification { .. } | Message::Response { .. } => {}
            }
        }
    }

    /// Notes what a line of the hub answers, and says whether it is for the client.
    fn heard(&self, line: &Bytes) -> bool {
        let mut state = self.lock();
        if state.open.is_empty() && state.unwanted.is_none() {
            return true;
        }
        for message in messages(line) {
            match message {
                Message::Response { id: Some(id), .. } => {
                    let id = id.key();
                    if state.unwanted.as_ref() == Some(&id) {
                        state.unwanted = None;
                        return false;
                    }
                    state.open.remove(&id);
                    state.refusable.retain(|it| !it.contains(&id));
                }
                Message::Response { id: None, .. } => {
                    for id in state.refusable.pop_front().unwrap_or_default() {
                        state.open.remove(&id);
                    }
                }
                Message::Request { .. } | Message::Notification { .. } => {}
            }
        }
        true
    }

    async fn all_answered(&self) {
        loop {
            let answered = self.answered.notified();
            if self.lock().open.is_empty() {
                return;
            }
            answered.await;
        }
    }

    /// The answers to everything a hub left open.
    fn give_up(&self) -> Vec<Bytes> {
        let mut state = self.lock();
        let problem = RpcError::new(INTERNAL_ERROR, "the hub went away before it answered");
        let open: Vec<Id> = state.open.drain().map(|it| it.1).collect();
        open.iter()
            .map(|id| {
                let mut line = envelope::error(Some(id), &problem, UnknownId::Null).to_vec();
                line.push(b'\n');
                line.into()
            })
            .collect()
    }
}

fn message(line: &Bytes) -> Option<Message> {
    Message::read(&Raw::parse(line.clone()).ok()?).ok()
}

/// The messages of a line; several in a batch. What is none is the other side's to refuse.
fn messages(line: &Bytes) -> Vec<Message> {
    match Raw::parse(line.clone()) {
        Ok(body) if body.is_array() => body.items().filter_map(|it| Message::read(&it).ok()).collect(),
        Ok(body) => Message::read(&body).into_iter().collect(),
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex, split};

    use super::*;

    async fn read_line(from: &mut BufReader<DuplexStream>) -> String {
        let mut line = String::new();
        from.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }

    #[tokio::test]
    async fn input_may_end_before_the_answers_come() {
        let input = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"[..];
        let (mut hub, ours) = duplex(1024);
        let hub = async move {
            let mut asked = [0; 40];
            hub.read_exact(&mut asked).await.unwrap();
            tokio::task::yield_now().await;
            hub.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").await.unwrap();
            let mut rest = Vec::new();
            hub.read_to_end(&mut rest).await.unwrap();
        };
        let mut out = Vec::new();
        let mut forward = Forward::new(input, &mut out);
        let (from, to) = split(ours);
        let (end, ()) = tokio::join!(forward.carry(from, to), hub);
        assert_eq!(end.unwrap(), End::Done);
        assert_eq!(String::from_utf8(out).unwrap(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    }

    #[tokio::test]
    async fn a_line_that_no_hub_has_taken_is_for_the_next_one() {
        let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        let mut out = Vec::new();
        let mut forward = Forward::new(line.as_bytes(), &mut out);
        // It cannot be written to, and says so before its answers end.
        let (deaf, mute) = (duplex(64).0, duplex(64));
        let gone = async {
            tokio::task::yield_now().await;
            drop(mute.1);
        };
        let (end, ()) = tokio::join!(forward.carry(mute.0, deaf), gone);
        assert_eq!(end.unwrap(), End::HubGone);

        let (hub, ours) = duplex(1024);
        let (from, to) = split(ours);
        let hub = async {
            let mut hub = BufReader::new(hub);
            assert_eq!(read_line(&mut hub).await, line);
            hub.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").await.unwrap();
            assert_eq!(read_line(&mut hub).await, "");
        };
        let (end, ()) = tokio::join!(forward.carry(from, to), hub);
        assert_eq!(end.unwrap(), End::Done);
        assert_eq!(String::from_utf8(out).unwrap(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    }

    #[tokio::test]
    async fn our_own_hub_gets_all_that_no_other_has_taken() {
        let (greeting, first, rest) =
            ("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n", "first\n", "second\nthi");
        let (mut client, input) = duplex(1024);
        client.write_all([greeting, first, rest].concat().as_bytes()).await.unwrap();
        let mut out = Vec::new();
        let mut forward = Forward::new(input, &mut out);
        // It takes the greeting, hears no more, and goes.
        let (mut hub, ours) = duplex(greeting.len());
        let gone = async move {
            hub.read_exact(&mut vec![0; greeting.len()]).await.unwrap();
            hub.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n").await.unwrap();
        };
        let (from, to) = split(ours);
        let (end, ()) = tokio::join!(forward.carry(from, to), gone);
        assert_eq!(end.unwrap(), End::HubGone);

        client.write_all(b"rd\n").await.unwrap();
        drop(client);
        let (said, mut input, _) = forward.hand_over();
        assert_eq!(said, [greeting]);
        let mut all = String::new();
        input.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "first\nsecond\nthird\n");
    }

    #[tokio::test]
    async fn the_next_hub_is_greeted_and_open_requests_get_an_error() {
        let (mut client_in, input) = duplex(4096);
        let (output, client_out) = duplex(4096);
        let mut client_out = BufReader::new(client_out);
        let mut forward = Forward::new(input, output);
        client_in.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}\n").await.unwrap();

        let (first, ours) = duplex(4096);
        let (from, to) = split(ours);
        let play = async {
            let mut first = BufReader::new(first);
            read_line(&mut first).await;
            first.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n").await.unwrap();
            read_line(&mut first).await;
        };
        let (end, ()) = tokio::join!(forward.carry(from, to), play);
        assert_eq!(end.unwrap(), End::HubGone);
        assert_eq!(read_line(&mut client_out).await, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
        let error = read_line(&mut client_out).await;
        assert!(error.contains("\"id\":7") && error.contains("went away"), "{error}");

        let (second, ours) = duplex(4096);
        let (from, to) = split(ours);
        drop(client_in);
        let play = async {
            let mut second = BufReader::new(second);
            assert!(read_line(&mut second).await.contains("initialize"));
            second.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"method\":\"hi\"}\n").await.unwrap();
            assert_eq!(read_line(&mut second).await, "");
        };
        let (end, ()) = tokio::join!(forward.carry(from, to), play);
        assert_eq!(end.unwrap(), End::Done);
        assert_eq!(read_line(&mut client_out).await, "{\"jsonrpc\":\"2.0\",\"method\":\"hi\"}");
    }
}
