//! The scripted provider, heard by the providers' own clients: what our tests take for a model is one to them.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::hub::PATIENCE;
use crate::model::{Model, Reply};
use crate::third::python;

#[tokio::test]
async fn the_official_clients_understand_the_scripted_provider() {
    for kind in ["openai", "anthropic"] {
        let model = Model::start([
            Reply::Text(vec!["Hel", "lo ", "grüße"]),
            Reply::Tool("get_weather", vec!["{\"ci", "ty\":", "\"Rome\"}"]),
            Reply::Wait(vec!["slow ", "words"]),
            Reply::Breaks("it burns"),
            Reply::Status(429, &[("retry-after", "0"), ("content-type", "application/json")]),
            Reply::Text(vec!["now"]),
            Reply::Status(401, &[("content-type", "application/json")]),
            Reply::Cut("half"),
        ])
        .await;
        let mut client = python("py_model_client.py");
        client.args([kind, &model.url]).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = client.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut heard = Vec::new();
        while let Some(line) = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap() {
            let said: Value = serde_json::from_str(&line).unwrap();
            // It has heard the first words of a reply that goes on when we say so.
            if said == json!({ "slow": "slow words" }) {
                model.go_on();
            }
            heard.push(said);
        }
        assert!(child.wait().await.unwrap().success(), "{kind}: {heard:?}");
        let (stop, tools) = if kind == "openai" { ("stop", "tool_calls") } else { ("end_turn", "tool_use") };
        let expected = json!([
            { "text": ["Hel", "lo ", "grüße"], "finish": stop, "usage": [11, 7] },
            { "tool": "get_weather", "arguments": { "city": "Rome" }, "pieces": 3, "finish": tools },
            { "slow": "slow words" },
            { "finish": stop },
            { "broken": "it burns", "after": "half" },
            { "patience": "now" },
            { "refused": 401 },
            { "cut": "half", "finish": null },
        ]);
        assert_eq!(json!(heard), expected, "{kind}");
        assert_eq!(model.seen().len(), 8, "{kind}: it was asked again after 429");
    }
}
