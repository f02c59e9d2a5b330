//! Models: one turn of a conversation goes out, its pieces come back while the model still speaks.
//!
//! Two wire formats cover what people run. Each has a file that writes a [`Turn`] and reads a stream of events; what
//! they have in common is here. Nothing here knows of buds or chats.

mod anthropic;
mod openai;
mod provider;

#[cfg(test)]
mod tests;

pub use provider::{Provider, Refused};

use serde_json::Value;
use toolgrove_wire::sse::Event;

/// More than any model says in one turn.
const MOST_SAID: usize = 512 * 1024;

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `POST <url>/chat/completions`.
    OpenAi,
    /// `POST <url>/v1/messages`.
    Anthropic,
}

/// Everything a model is given for its next words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    pub model: String,
    pub system: Option<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    pub choice: Choice,
}

/// One tool, under the name the model uses.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    /// Whether it is one of the hub's own, which prompts tell of first.
    pub is_own: bool,
}

/// Whether the model has to use a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
    #[default]
    Auto,
    None,
    Any,
    One(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    User(Vec<Part>),
    Assistant { text: String, calls: Vec<ToolCall> },
    Tool { call: String, content: Vec<Part>, is_error: bool },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Text(String),
    /// `data` is base64.
    Image {
        mime_type: String,
        data: String,
    },
}

/// A tool the model wants to be called. The arguments are what it wrote, which need not be JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// A piece of what a model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    /// The call at this place begins.
    Call {
        place: usize,
        id: String,
        name: String,
    },
    /// More of its arguments.
    Arguments {
        place: usize,
        piece: String,
    },
}

/// All that a model said in one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub usage: Usage,
    pub stop: Stop,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stop {
    /// It had no more to say.
    #[default]
    End,
    /// It waits for tools.
    Tools,
    /// It may say no more.
    Length,
}

/// What went wrong inside a stream, in the provider's words where it gave any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("{0}")]
    Provider(String),
    #[error("the provider's stream holds something else than its format: {0}")]
    Format(String),
    #[error("the provider's stream ended before the model did")]
    Truncated,
    #[error("the model said more than {} KiB", MOST_SAID / 1024)]
    TooLong,
}

impl Wire {
    /// The request's body.
    pub fn body(self, turn: &Turn) -> Value {
        match self {
            Self::OpenAi => openai::body(turn),
            Self::Anthropic => anthropic::body(turn),
        }
    }

    /// What is put behind the provider's URL.
    pub const fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "chat/completions",
            Self::Anthropic => "v1/messages",
        }
    }
}

/// Reads one answer, event by event.
#[derive(Debug)]
pub struct Reading {
    wire: Wire,
    said: Said,
    /// The stream has said that it is over.
    ended: bool,
    /// Where the format's own numbers of calls stand among ours.
    places: Vec<u64>,
}

impl Reading {
    pub fn new(wire: Wire) -> Self {
        Self { wire, said: Said::default(), ended: false, places: Vec::new() }
    }

    /// Takes one event and returns what is new.
    pub fn take(&mut self, event: &Event) -> Result<Vec<Delta>, Broken> {
        if self.ended || event.data.is_empty() {
            return Ok(Vec::new());
        }
        match self.wire {
            Wire::OpenAi => openai::take(self, event),
            Wire::Anthropic => anthropic::take(self, event),
        }
    }

    /// Whether it has become more than anybody would read.
    pub fn is_too_long(&self) -> bool {
        let said = &self.said;
        said.text.len() + said.calls.iter().map(|it| it.arguments.len()).sum::<usize>() > MOST_SAID
    }

    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// The stream is over: all of it, or an error if it broke off.
    pub fn finish(self) -> Result<Said, Broken> {
        if self.ended { Ok(self.said) } else { Err(Broken::Truncated) }
    }

    fn text(&mut self, piece: &str, deltas: &mut Vec<Delta>) {
        if !piece.is_empty() {
            self.said.text.push_str(piece);
            deltas.push(Delta::Text(piece.to_owned()));
        }
    }

    /// A call begins under the format's own number.
    fn call(&mut self, number: u64, id: &str, name: &str, deltas: &mut Vec<Delta>) {
        let place = self.places.len();
        self.places.push(number);
        let call = ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: String::new() };
        deltas.push(Delta::Call { place, id: call.id.clone(), name: call.name.clone() });
        self.said.calls.push(call);
    }

    /// More arguments of the call under that number; a call that never began is nobody's.
    fn arguments(&mut self, number: u64, piece: &str, deltas: &mut Vec<Delta>) -> Result<(), Broken> {
        if piece.is_empty() {
            return Ok(());
        }
        let place = self.places.iter().rposition(|it| *it == number);
        let place =
            place.ok_or_else(|| Broken::Format(format!("arguments of call {number}, which never began")))?;
        self.said.calls[place].arguments.push_str(piece);
        deltas.push(Delta::Arguments { place, piece: piece.to_owned() });
        Ok(())
    }
}

/// The event's data as JSON.
fn json(event: &Event) -> Result<Value, Broken> {
    serde_json::from_slice(&event.data).map_err(|error| {
        let text = String::from_utf8_lossy(&event.data);
        let cut: String = text.chars().take(80).collect();
        Broken::Format(format!("`{cut}` ({error})"))
    })
}

fn str_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
