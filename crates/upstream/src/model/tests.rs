//! What is written to providers and read from them, however their streams are cut.

use serde_json::json;
use toolgrove_wire::sse::Reader;

use super::*;

const OPENAI: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"Let me "}}],"usage":null}

: a comment

data: {"choices":[{"index":0,"delta":{"content":"look ☔"}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"a","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","function":{"name":"b","arguments":"{}"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}

data: [DONE]

"#;

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":9,"cache_read_input_tokens":2,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"look ☔"}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call_1","name":"a","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_2","name":"b","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

"#;

fn read(wire: Wire, pieces: &[&[u8]]) -> Result<Said, Broken> {
    let (mut reader, mut reading) = (Reader::new(1024 * 1024), Reading::new(wire));
    for piece in pieces {
        for event in reader.push(piece).unwrap() {
            reading.take(&event)?;
        }
    }
    reading.finish()
}

fn said() -> Said {
    let call = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    Said {
        text: "Let me look ☔".into(),
        calls: vec![call("call_1", "a", r#"{"x":1}"#), call("call_2", "b", "{}")],
        usage: Usage { input: 11, output: 7 },
        stop: Stop::Tools,
    }
}

#[test]
fn both_formats_say_the_same_wherever_they_are_cut() {
    for (wire, text) in [(Wire::OpenAi, OPENAI), (Wire::Anthropic, ANTHROPIC)] {
        for cut in 0..=text.len() {
            let (one, two) = text.as_bytes().split_at(cut);
            assert_eq!(read(wire, &[one, two]), Ok(said()), "{wire:?} cut at {cut}");
        }
    }
}

#[test]
fn a_stream_that_ends_early_is_no_answer() {
    for (wire, text) in [(Wire::OpenAi, OPENAI), (Wire::Anthropic, ANTHROPIC)] {
        for lines in [1, 4, 8] {
            let events: Vec<_> = text.split_inclusive("\n\n").take(lines).collect();
            assert_eq!(read(wire, &[events.concat().as_bytes()]), Err(Broken::Truncated), "{wire:?} {lines}");
        }
    }
}

#[test]
fn an_error_in_the_stream_is_the_providers_own_word() {
    let openai = "data: {\"error\":{\"message\":\"out of memory\"}}\n\n";
    let anthropic = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    assert_eq!(read(Wire::OpenAi, &[openai.as_bytes()]), Err(Broken::Provider("out of memory".into())));
    assert_eq!(read(Wire::Anthropic, &[anthropic.as_bytes()]), Err(Broken::Provider("Overloaded".into())));
    assert!(matches!(read(Wire::OpenAi, &[b"data: <html>\n\n"]), Err(Broken::Format(_))));
}

fn turn() -> Turn {
    let picture = Part::Image { mime_type: "image/png".into(), data: "AAAA".into() };
    Turn {
        model: "m".into(),
        system: Some("Be brief".into()),
        temperature: Some(0.2),
        max_tokens: Some(50),
        messages: vec![
            Message::User(vec![Part::Text("see".into()), picture.clone()]),
            Message::Assistant { text: String::new(), calls: said().calls },
            Message::Tool {
                call: "call_1".into(),
                content: vec![Part::Text("one".into()), picture],
                is_error: false,
            },
            Message::Tool { call: "call_2".into(), content: vec![Part::Text("bad".into())], is_error: true },
        ],
        tools: vec![ToolSpec {
            name: "a".into(),
            description: "A".into(),
            input_schema: json!({ "type": "object" }),
            is_own: false,
        }],
        choice: Choice::Any,
    }
}

#[test]
fn chat_completions_are_written_as_their_format_wants() {
    let url = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    assert_eq!(
        Wire::OpenAi.body(&turn()),
        json!({
            "model": "m",
            "messages": [
                { "role": "system", "content": "Be brief" },
                { "role": "user", "content": [{ "type": "text", "text": "see" }, url] },
                { "role": "assistant", "content": "", "tool_calls": [call("call_1", "a", r#"{"x":1}"#), call("call_2", "b", "{}")] },
                { "role": "tool", "tool_call_id": "call_1", "content": "one" },
                { "role": "user", "content": [url] },
                { "role": "tool", "tool_call_id": "call_2", "content": "bad" },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
            "temperature": 0.2,
            "max_tokens": 50,
            "tools": [{ "type": "function", "function": { "name": "a", "description": "A", "parameters": { "type": "object" } } }],
            "tool_choice": "required",
        })
    );
}

#[test]
fn messages_are_written_as_their_format_wants() {
    let image =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } });
    let result =
        |id: &str, content: Value| json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    let mut failed = result("call_2", json!([{ "type": "text", "text": "bad" }]));
    failed["is_error"] = true.into();
    assert_eq!(
        Wire::Anthropic.body(&turn())["messages"],
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "see" }, image] },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "call_1", "name": "a", "input": { "x": 1 } },
                { "type": "tool_use", "id": "call_2", "name": "b", "input": {} },
            ] },
            { "role": "user", "content": [result("call_1", json!([{ "type": "text", "text": "one" }, image])), failed] },
        ])
    );
    let body = Wire::Anthropic.body(&turn());
    assert_eq!((&body["system"], &body["tool_choice"]), (&json!("Be brief"), &json!({ "type": "any" })));
}
