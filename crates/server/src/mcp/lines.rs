//! The stdio door, and the same on the hub's socket: one message per line.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use toolgrove_core::call::{Caller, Door, View};
use toolgrove_core::task::Handful;
use toolgrove_wire::RpcError;
use toolgrove_wire::envelope::{self, INVALID_REQUEST, UnknownId};

use super::conversation::Conversation;
use crate::App;

/// Answers that a client has not read yet. Past this the hub waits for it.
const UNREAD: usize = 256;

/// Serves one client until its input ends. What still runs then is cancelled.
pub async fn serve(
    app: Arc<App>,
    caller: Arc<Caller>,
    view: View,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let limit = app.body_limit();
    let (out, answers) = mpsc::channel(UNREAD);
    let conversation = Conversation::new(app, caller, view, Door::Stdio, out.clone());
    let reading = async move {
        let read = take_lines(&conversation, &out, input, limit).await;
        drop(conversation);
        read
    };
    until_written(reading, write(answers, output)).await
}

/// The same for a client whose input may end before it has its answers: they still come. What it has said to an
/// earlier hub it does not say again; what comes of that it has heard already.
pub async fn serve_whole(
    app: Arc<App>,
    caller: Arc<Caller>,
    view: View,
    said: Vec<Bytes>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let limit = app.body_limit();
    let (out, mut answers) = mpsc::channel(UNREAD);
    let conversation = Conversation::new(app, caller, view, Door::Stdio, out.clone());
    for line in said {
        conversation.take(line).await;
        // The answer to `initialize`, if it was that.
        let _ = answers.try_recv();
    }
    let reading = async move {
        let read = take_lines(&conversation, &out, input, limit).await;
        conversation.all_answered().await;
        drop(conversation);
        read
    };
    until_written(reading, write(answers, output)).await
}

/// Reads to the end, and then waits until everything is written. A client that cannot be written to has gone.
async fn until_written(
    reading: impl Future<Output = std::io::Result<()>>,
    writing: impl Future<Output = ()>,
) -> std::io::Result<()> {
    tokio::pin!(reading, writing);
    tokio::select! {
        biased;
        () = &mut writing => Ok(()),
        read = &mut reading => {
            writing.await;
            read
        }
    }
}

async fn take_lines(
    conversation: &Conversation,
    out: &mpsc::Sender<Bytes>,
    input: impl AsyncRead + Unpin,
    limit: usize,
) -> std::io::Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut handful = Handful::default();
    loop {
        match read_line(&mut input, limit).await? {
            Line::End => return Ok(()),
            Line::Message(line) if line.iter().all(u8::is_ascii_whitespace) => {}
            Line::Message(line) => {
                conversation.take(line).await;
                handful.took(input.buffer().len()).await;
            }
            Line::TooLong => {
                let problem =
                    RpcError::new(INVALID_REQUEST, format!("a message may have at most {limit} bytes"));
                let _ = out.send(envelope::error(None, &problem, UnknownId::Null)).await;
            }
        }
    }
}

enum Line {
    Message(Bytes),
    TooLong,
    End,
}

/// Reads up to the next line end. A line over the limit is read to its end and dropped.
async fn read_line(input: &mut (impl AsyncBufReadExt + Unpin), limit: usize) -> std::io::Result<Line> {
    let (mut line, mut too_long) = (BytesMut::new(), false);
    loop {
        let buffer = input.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(if line.is_empty() { Line::End } else { Line::Message(line.freeze()) });
        }
        let end = memchr::memchr(b'\n', buffer);
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        too_long |= line.len() + piece.len() > limit;
        if !too_long {
            line.extend_from_slice(piece);
        }
        let used = end.map_or(buffer.len(), |it| it + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Message(line.freeze()) });
        }
    }
}

/// Writes answers as lines, as many as are there in one go.
async fn write(mut answers: mpsc::Receiver<Bytes>, mut output: impl AsyncWrite + Unpin) {
    let mut batch = Vec::with_capacity(UNREAD);
    let mut buffer = BytesMut::new();
    while answers.recv_many(&mut batch, UNREAD).await > 0 {
        for message in batch.drain(..) {
            if has_line_end(&message) {
                // JSON text has line ends only as white space between tokens (a pretty-printing server): a blank does as well.
                buffer.extend(message.iter().map(|it| if matches!(it, b'\n' | b'\r') { b' ' } else { *it }));
            } else {
                buffer.extend_from_slice(&message);
            }
            buffer.extend_from_slice(b"\n");
        }
        if output.write_all(&buffer).await.is_err() || output.flush().await.is_err() {
            return;
        }
        buffer.clear();
    }
}

fn has_line_end(message: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', message).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::bed::app;
    use super::*;

    const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}"#;

    /// All that a client hears who has said something before, says something now, and ends its input.
    async fn heard(said: &[&str], says: &str) -> String {
        let app = app().await;
        let caller = app.local_caller(None).await.expect("the owner");
        let said = said.iter().map(|it| Bytes::copy_from_slice(it.as_bytes())).collect();
        let mut out = Vec::new();
        serve_whole(app, caller, View::All, said, says.as_bytes(), &mut out).await.expect("all is written");
        String::from_utf8(out).expect("text")
    }

    #[tokio::test]
    async fn whoever_ends_its_input_still_gets_its_answers() {
        let ping = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let answer = |id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n");
        let all: Vec<_> = (1..=9).map(ping).collect();
        assert_eq!(heard(&[], &all.join("\n")).await, (1..=9).map(answer).collect::<String>());
    }

    #[tokio::test]
    async fn what_a_client_has_said_to_an_earlier_hub_holds_and_is_not_answered_again() {
        let again = format!("{HELLO}\n");
        let heard =
            heard(&[HELLO, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#], &again).await;
        assert!(heard.contains("already initialized"), "{heard}");
        assert_eq!(heard.lines().count(), 1, "{heard}");
    }
}
