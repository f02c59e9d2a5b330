//! Messages, as Anthropic speaks them.

use serde_json::{Value, json};
use toolgrove_wire::sse::Event;

use super::{Broken, Choice, Delta, Message, Part, Reading, Stop, ToolCall, Turn, json, str_of};

/// The format wants a bound where the others have none.
const MOST_TOKENS: u32 = 4096;

pub(super) fn body(turn: &Turn) -> Value {
    let mut body = json!({
        "model": turn.model,
        "max_tokens": turn.max_tokens.unwrap_or(MOST_TOKENS),
        "messages": messages(&turn.messages),
        "stream": true,
    });
    if let Some(system) = &turn.system {
        body["system"] = system.as_str().into();
    }
    if let Some(temperature) = turn.temperature {
        body["temperature"] = temperature.into();
    }
    if !turn.tools.is_empty() {
        let tool = |it: &super::ToolSpec| json!({ "name": it.name, "description": it.description, "input_schema": it.input_schema });
        body["tools"] = turn.tools.iter().map(tool).collect();
        body["tool_choice"] = match &turn.choice {
            Choice::Auto => json!({ "type": "auto" }),
            Choice::None => json!({ "type": "none" }),
            Choice::Any => json!({ "type": "any" }),
            Choice::One(name) => json!({ "type": "tool", "name": name }),
        };
    }
    body
}

/// Roles take turns, so what one role says in a row is one message. Nothing may be empty.
fn messages(all: &[Message]) -> Vec<Value> {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in all {
        let (role, blocks) = match message {
            Message::User(parts) => ("user", parts.iter().filter_map(block).collect()),
            Message::Assistant { text, calls } => {
                let said = block(&Part::Text(text.clone()));
                ("assistant", said.into_iter().chain(calls.iter().map(tool_use)).collect())
            }
            Message::Tool { call, content, is_error } => {
                let content: Vec<Value> = content.iter().filter_map(block).collect();
                let mut result = json!({ "type": "tool_result", "tool_use_id": call, "content": content });
                if *is_error {
                    result["is_error"] = true.into();
                }
                ("user", vec![result])
            }
        };
        match out.last_mut() {
            Some(last) if last.0 == role => last.1.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => out.push((role, blocks)),
        }
    }
    out.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(json!({ "type": "text", "text": text })),
        Part::Image { mime_type, data } => {
            let source = json!({ "type": "base64", "media_type": mime_type, "data": data });
            Some(json!({ "type": "image", "source": source }))
        }
    }
}

/// What a model once wrote as arguments may not be JSON; the format wants an object.
fn tool_use(call: &ToolCall) -> Value {
    let input =
        serde_json::from_str(&call.arguments).ok().filter(Value::is_object).unwrap_or_else(|| json!({}));
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

pub(super) fn take(reading: &mut Reading, event: &Event) -> Result<Vec<Delta>, Broken> {
    let said = json(event)?;
    let mut deltas = Vec::new();
    let number = said.get("index").and_then(Value::as_u64).unwrap_or_default();
    let part = |key: &str| said.get(key).cloned().unwrap_or_default();
    match str_of(&said, "type") {
        "message_start" => usage(reading, &part("message")),
        "content_block_start" => {
            let block = part("content_block");
            match str_of(&block, "type") {
                "text" => reading.text(str_of(&block, "text"), &mut deltas),
                "tool_use" => reading.call(number, str_of(&block, "id"), str_of(&block, "name"), &mut deltas),
                // Thinking and what else may come is the model's own.
                _ => {}
            }
        }
        "content_block_delta" => {
            let delta = part("delta");
            match str_of(&delta, "type") {
                "text_delta" => reading.text(str_of(&delta, "text"), &mut deltas),
                "input_json_delta" if reading.places.contains(&number) => {
                    reading.arguments(number, str_of(&delta, "partial_json"), &mut deltas)?;
                }
                _ => {}
            }
        }
        "message_delta" => {
            usage(reading, &said);
            match str_of(&part("delta"), "stop_reason") {
                "tool_use" => reading.said.stop = Stop::Tools,
                "max_tokens" => reading.said.stop = Stop::Length,
                "refusal" => return Err(Broken::Provider("the model refused to answer".into())),
                _ => {}
            }
        }
        "message_stop" => reading.ended = true,
        "error" => {
            let error = part("error");
            let message = str_of(&error, "message");
            return Err(Broken::Provider(if message.is_empty() {
                error.to_string()
            } else {
                message.to_owned()
            }));
        }
        // `ping`, `content_block_stop`, and what a later revision brings.
        _ => {}
    }
    Ok(deltas)
}

/// Counts come in two places, each with what is known there.
fn usage(reading: &mut Reading, holder: &Value) {
    let count = |key| holder.get("usage").and_then(|it| it.get(key)).and_then(Value::as_u64);
    let cached = count("cache_read_input_tokens").unwrap_or_default()
        + count("cache_creation_input_tokens").unwrap_or_default();
    if let Some(input) = count("input_tokens") {
        reading.said.usage.input = input + cached;
    }
    if let Some(output) = count("output_tokens") {
        reading.said.usage.output = output;
    }
}
