//! What was said in a chat, as a model is told it again.

use toolgrove_store::MessageRow;
use toolgrove_upstream::model::{Message, Part, ToolCall};

use super::content;

/// Providers refuse a wish for a tool that nobody answered, so one that was stopped gets a word.
pub(super) fn told(rows: &[MessageRow]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let said = content(row);
        let mut parts: Vec<Part> = Vec::new();
        if !said.text.is_empty() {
            parts.push(Part::Text(said.text.clone()));
        }
        parts.extend(
            said.images
                .iter()
                .map(|it| Part::Image { mime_type: it.mime_type.clone(), data: it.data.clone() }),
        );
        match row.role.as_str() {
            "user" => messages.push(Message::User(parts)),
            "assistant" if said.text.is_empty() && said.uses.is_empty() => {}
            "assistant" => {
                let call = |it: &crate::api::chats::ToolUse| ToolCall {
                    id: it.id.clone(),
                    name: it.name.clone(),
                    arguments: it.arguments.clone(),
                };
                let calls: Vec<_> = said.uses.iter().map(call).collect();
                let answered =
                    |id: &str| rows[place + 1..].iter().any(|it| content(it).use_id.as_deref() == Some(id));
                let open: Vec<_> =
                    calls.iter().filter(|it| !answered(&it.id)).map(|it| it.id.clone()).collect();
                messages.push(Message::Assistant { text: said.text, calls });
                messages.extend(open.into_iter().map(|call| Message::Tool {
                    call,
                    content: vec![Part::Text("this was stopped before it was done".into())],
                    is_error: true,
                }));
            }
            "tool" => {
                if let Some(call) = said.use_id {
                    let is_error = said.state == Some(crate::api::chats::MessageState::Failed);
                    messages.push(Message::Tool { call, content: parts, is_error });
                } else {
                    // A person called it: the model hears of it as of anything they said.
                    let tool = said.tool.unwrap_or_default();
                    let mut all = vec![Part::Text(format!("I called `{tool}`, which answered:"))];
                    all.extend(parts);
                    messages.push(Message::User(all));
                }
            }
            _ => {}
        }
    }
    messages
}
