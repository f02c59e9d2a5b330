//! Tools for models that have no calls of their own: described in the system prompt, asked for in the text.

use serde_json::Value;
use toolgrove_core::bud::plain;
use toolgrove_core::text::params::params;
use toolgrove_core::text::prompt::{PromptTool, own_section, section};
use toolgrove_core::text::xml::{Piece, XmlCalls};
use toolgrove_upstream::model::{Choice, Delta, Message, Part, ToolCall, ToolSpec, Turn};

use super::object;

const HOW: &str = "To use tools, write this and nothing after it; the results come with the next message:\n\
    <tool_calls>\n<invoke name=\"TOOL\">\n<parameter name=\"NAME\">VALUE</parameter>\n</invoke>\n</tool_calls>";

/// A turn in which everything about tools is text.
pub(super) fn written(turn: &Turn) -> Turn {
    let system = match (&turn.system, turn.tools.is_empty() || turn.choice == Choice::None) {
        (system, true) => system.clone(),
        (system, false) => {
            let (own, tools): (Vec<_>, Vec<_>) = turn.tools.iter().partition(|it| it.is_own);
            let [own, tools] = [own, tools].map(|it| it.into_iter().map(described).collect::<Vec<_>>());
            let parts = [system.clone(), Some(HOW.to_owned()), own_section(&own), section(&tools)];
            Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
        }
    };
    let mut messages: Vec<Message> = Vec::new();
    for message in &turn.messages {
        match message {
            Message::User(_) => messages.push(message.clone()),
            Message::Assistant { text, calls } => {
                let text = std::iter::once(text.clone()).chain(asked(calls)).collect();
                messages.push(Message::Assistant { text, calls: Vec::new() });
            }
            Message::Tool { call, content, is_error } => {
                let word = if *is_error { "error" } else { "result" };
                let mut parts = vec![Part::Text(format!("<{word} call=\"{call}\">"))];
                parts.extend(content.iter().cloned());
                parts.push(Part::Text(format!("</{word}>")));
                match messages.last_mut() {
                    Some(Message::User(last)) => last.extend(parts),
                    _ => messages.push(Message::User(parts)),
                }
            }
        }
    }
    Turn { system, messages, tools: Vec::new(), choice: Choice::Auto, ..turn.clone() }
}

fn described(tool: &ToolSpec) -> PromptTool {
    PromptTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        params: params(&tool.input_schema),
        enabled: true,
    }
}

/// Calls as the model would have written them.
fn asked(calls: &[ToolCall]) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    let mut text = String::from("\n<tool_calls>");
    for call in calls {
        text.extend(["\n<invoke name=\"", &call.name, "\">"]);
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        for (name, value) in object(&arguments) {
            text.extend(["\n<parameter name=\"", &name, "\">", &plain(&value), "</parameter>"]);
        }
        text.push_str("\n</invoke>");
    }
    text.push_str("\n</tool_calls>");
    Some(text)
}

/// Reads calls out of a model's text while it comes.
pub(super) struct Reader<'a> {
    tools: &'a [ToolSpec],
    calls: XmlCalls,
    text: String,
    found: Vec<ToolCall>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tools: &'a [ToolSpec]) -> Self {
        Self { tools, calls: XmlCalls::default(), text: String::new(), found: Vec::new() }
    }

    pub(super) fn push(&mut self, piece: &str) -> Vec<Delta> {
        let pieces = self.calls.push(piece);
        self.take(pieces)
    }

    pub(super) fn finish(mut self) -> (Vec<Delta>, String, Vec<ToolCall>) {
        let pieces = std::mem::take(&mut self.calls).finish();
        let deltas = self.take(pieces);
        (deltas, self.text, self.found)
    }

    fn take(&mut self, pieces: Vec<Piece>) -> Vec<Delta> {
        let mut deltas = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    self.text.push_str(&text);
                    deltas.push(Delta::Text(text));
                }
                Piece::Call(call) => {
                    let schema = self.tools.iter().find(|it| it.name == call.name).map(|it| &it.input_schema);
                    let arguments = Value::Object(call.arguments(schema)).to_string();
                    let place = self.found.len();
                    let id = format!("xml_{}", uuid::Uuid::now_v7().simple());
                    deltas.push(Delta::Call { place, id: id.clone(), name: call.name.clone() });
                    deltas.push(Delta::Arguments { place, piece: arguments.clone() });
                    self.found.push(ToolCall { id, name: call.name, arguments });
                }
            }
        }
        deltas
    }
}
