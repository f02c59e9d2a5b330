//! Chat completions, as OpenAI and most local servers speak them.

use serde_json::{Value, json};
use toolgrove_wire::sse::Event;

use super::{Broken, Choice, Delta, Message, Part, Reading, Stop, ToolCall, Turn, json, str_of};

pub(super) fn body(turn: &Turn) -> Value {
    let mut messages = Vec::new();
    messages.extend(turn.system.as_ref().map(|it| json!({ "role": "system", "content": it })));
    for message in &turn.messages {
        write(message, &mut messages);
    }
    let mut body = json!({
        "model": turn.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if let Some(temperature) = turn.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(most) = turn.max_tokens {
        body["max_tokens"] = most.into();
    }
    if !turn.tools.is_empty() {
        body["tools"] = turn
            .tools
            .iter()
            .map(|it| {
                let function =
                    json!({ "name": it.name, "description": it.description, "parameters": it.input_schema });
                json!({ "type": "function", "function": function })
            })
            .collect();
        body["tool_choice"] = match &turn.choice {
            Choice::Auto => "auto".into(),
            Choice::None => "none".into(),
            Choice::Any => "required".into(),
            Choice::One(name) => json!({ "type": "function", "function": { "name": name } }),
        };
    }
    body
}

fn write(message: &Message, out: &mut Vec<Value>) {
    match message {
        Message::User(parts) => out.push(json!({ "role": "user", "content": content(parts) })),
        Message::Assistant { text, calls } => {
            let mut message = json!({ "role": "assistant", "content": text });
            if !calls.is_empty() {
                message["tool_calls"] = calls.iter().map(call).collect();
            }
            out.push(message);
        }
        Message::Tool { call, content: parts, .. } => {
            out.push(json!({ "role": "tool", "tool_call_id": call, "content": text_of(parts) }));
            // The format has no pictures in a tool's answer; they follow as if the person showed them.
            let pictures: Vec<Part> =
                parts.iter().filter(|it| matches!(it, Part::Image { .. })).cloned().collect();
            if !pictures.is_empty() {
                out.push(json!({ "role": "user", "content": content(&pictures) }));
            }
        }
    }
}

fn call(call: &ToolCall) -> Value {
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": call.arguments } })
}

fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|it| match it {
        Part::Text(text) => Some(text.as_str()),
        Part::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Text alone is a string, which every server understands.
fn content(parts: &[Part]) -> Value {
    if parts.iter().all(|it| matches!(it, Part::Text(_))) {
        return text_of(parts).into();
    }
    parts
        .iter()
        .map(|it| match it {
            Part::Text(text) => json!({ "type": "text", "text": text }),
            Part::Image { mime_type, data } => {
                json!({ "type": "image_url", "image_url": { "url": format!("data:{mime_type};base64,{data}") } })
            }
        })
        .collect()
}

pub(super) fn take(reading: &mut Reading, event: &Event) -> Result<Vec<Delta>, Broken> {
    if event.data.as_ref() == b"[DONE]" {
        reading.ended = true;
        return Ok(Vec::new());
    }
    let chunk = json(event)?;
    if let Some(error) = chunk.get("error").filter(|it| !it.is_null()) {
        let message = error.as_str().unwrap_or_else(|| str_of(error, "message"));
        return Err(Broken::Provider(if message.is_empty() {
            error.to_string()
        } else {
            message.to_owned()
        }));
    }
    if let Some(usage) = chunk.get("usage").filter(|it| it.is_object()) {
        let count = |key| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
        reading.said.usage.input = count("prompt_tokens");
        reading.said.usage.output = count("completion_tokens");
    }
    let mut deltas = Vec::new();
    let Some(choice) = chunk.get("choices").and_then(|it| it.get(0)) else { return Ok(deltas) };
    if let Some(delta) = choice.get("delta") {
        reading.text(str_of(delta, "content"), &mut deltas);
        for part in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let number = part.get("index").and_then(Value::as_u64).unwrap_or_default();
            let function = part.get("function").unwrap_or(&Value::Null);
            let (id, name) = (str_of(part, "id"), str_of(function, "name"));
            // Some servers repeat id and name in every piece; others send a whole call at once.
            if !reading.places.contains(&number) {
                reading.call(number, id, name, &mut deltas);
            }
            reading.arguments(number, str_of(function, "arguments"), &mut deltas)?;
        }
    }
    match choice.get("finish_reason").and_then(Value::as_str) {
        Some("length") => reading.said.stop = Stop::Length,
        Some("tool_calls" | "function_call") => reading.said.stop = Stop::Tools,
        Some("content_filter") => {
            return Err(Broken::Provider("the provider's filter stopped the model".into()));
        }
        // Some servers say `stop` where a call is meant.
        Some(_) if !reading.said.calls.is_empty() => reading.said.stop = Stop::Tools,
        _ => {}
    }
    Ok(deltas)
}
