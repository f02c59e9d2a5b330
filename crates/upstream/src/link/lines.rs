//! One JSON message per line over any pair of byte streams: a process's pipes or a socket.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use toolgrove_core::Error;
use toolgrove_core::redact::redact_text;
use toolgrove_core::task::{Handful, spawn};
use toolgrove_wire::{Abilities, Raw};

use crate::context::Context;
use crate::failure::Failure;
use crate::mux::{Mux, Outbound};

/// How many lines that are no message are put up with.
const GARBAGE: usize = 100;
/// How long the writer may go on after the link was closed.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Lines up to this size are copied together into one write.
const SMALL: usize = 16 * 1024;

/// The two ends of a link that speaks in lines. Dropping it closes the writing side.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) mux: Arc<Mux>,
    /// Tells the writer, when dropped, that its time is running out.
    open: Mutex<Option<oneshot::Sender<()>>>,
}

/// Why reading ended.
#[derive(Debug)]
pub(crate) enum End {
    Closed,
    Broken(io::Error),
    Refused(Error),
}

impl Lines {
    /// Starts the writer. Who calls this reads with [`read`] and ends the mux with what it then knows.
    pub(crate) fn start(
        context: &Arc<Context>,
        declared: Abilities,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (mux, inbox) = Mux::new(context.clone(), declared);
        let (open, closed) = oneshot::channel();
        spawn("lines-writer", async move {
            let mut writer = writer;
            let running_out = async {
                let _ = closed.await;
                tokio::time::sleep(LAST_WORDS).await;
            };
            tokio::select! {
                written = write(&mut writer, inbox) => {
                    if let Err(error) = written {
                        tracing::debug!(%error, "a line could not be written");
                    }
                }
                () = running_out => {}
            }
        });
        Self { mux, open: Mutex::new(Some(open)) }
    }

    pub(crate) fn close(&self) {
        self.mux.end(&self.mux.context.unreachable("the link was closed"));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.close();
    }
}

/// Writes what is queued, as much as possible at once.
async fn write(
    writer: &mut (impl AsyncWrite + Unpin),
    mut inbox: mpsc::Receiver<Outbound>,
) -> io::Result<()> {
    let mut batch = Vec::with_capacity(64);
    let mut buffer = BytesMut::new();
    while inbox.recv_many(&mut batch, 64).await > 0 {
        for outbound in batch.drain(..) {
            let line = on_one_line(outbound.body);
            if line.len() > SMALL {
                writer.write_all_buf(&mut buffer).await?;
                writer.write_all(&line).await?;
            } else {
                buffer.put_slice(&line);
            }
            buffer.put_u8(b'\n');
        }
        writer.write_all_buf(&mut buffer).await?;
        buffer.clear();
        writer.flush().await?;
    }
    Ok(())
}

/// A line end in checked JSON can only be white space between tokens.
fn on_one_line(body: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &body).is_none() {
        return body;
    }
    body.iter().map(|it| if matches!(it, b'\n' | b'\r') { b' ' } else { *it }).collect::<Vec<_>>().into()
}

/// Reads messages until the stream ends or is no longer worth reading.
pub(crate) async fn read(mut reader: impl AsyncRead + Unpin, mux: &Mux) -> End {
    let limit = mux.context.options.body_limit;
    let mut buffer = BytesMut::with_capacity(8 * 1024);
    let (mut seen, mut garbage, mut skipping) = (0, 0, false);
    let mut handful = Handful::default();
    loop {
        if buffer.capacity() - buffer.len() < 4 * 1024 {
            buffer.reserve(buffer.len().max(8 * 1024));
        }
        match reader.read_buf(&mut buffer).await {
            Ok(0) => return End::Closed,
            Ok(_) => {}
            Err(error) => return End::Broken(error),
        }
        while let Some(end) = memchr::memchr(b'\n', &buffer[seen..]) {
            let line = buffer.split_to(seen + end).freeze();
            buffer.advance(1);
            seen = 0;
            if std::mem::take(&mut skipping) || line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Err(problem) = take(mux, line.clone()) {
                garbage += 1;
                note_garbage(&mux.context, &line, &problem);
                if garbage == GARBAGE {
                    let problem = format!("{GARBAGE} lines of its output are no messages");
                    return End::Refused(mux.context.garbled(problem));
                }
            }
            handful.took(buffer.len()).await;
        }
        seen = buffer.len();
        if seen > limit {
            // Whose answer this is can only be told while a single call waits.
            if !skipping && !mux.finish_only(Err(Failure::Final(mux.context.too_large()))) {
                return End::Refused(mux.context.too_large());
            }
            skipping = true;
            buffer.clear();
            seen = 0;
        }
    }
}

fn take(mux: &Mux, line: Bytes) -> Result<(), String> {
    let raw = Raw::parse(line).map_err(|it| it.to_string())?;
    mux.receive(&raw).map_err(|it| it.to_string())
}

fn note_garbage(context: &Context, line: &[u8], problem: &str) {
    let text = String::from_utf8_lossy(&line[..line.len().min(500)]).into_owned();
    let text = redact_text(text, &context.instance);
    tracing::warn!(target: "server", server = context.slug(), problem, "not a message on stdout: {text}");
    context.note(format!("stdout: {text}"));
}
