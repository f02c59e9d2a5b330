//! A server with a bad day: slow, flaky, malformed, huge, changing, asking, rude, and gone.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::peer::{Fault, Job, Peer};
use super::{failed, text};

/// More than this is not worth waiting for.
const MOST_SECONDS: f64 = 120.0;
const MOST_KILOBYTES: u64 = 8 * 1024;

pub(super) fn tools(peer: &Peer) -> Vec<Value> {
    let tool = |name: &str, description: &str, properties: Value| {
        json!({ "name": name, "description": description,
            "inputSchema": { "type": "object", "properties": properties } })
    };
    let mut changing = json!({});
    for number in 0..=peer.count.load(Ordering::Relaxed) % 4 {
        changing[format!("field_{number}")] = json!({ "type": "string" });
    }
    let rude = "Line one\nLine two <script>alert('not run')</script> <img src=https://tracker.invalid/x.png> \
        \u{202e}sdrawkcab\u{202c} bell:\u{7} https://login.example.com@evil.invalid/ \
        averyveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryverylongword";
    vec![
        tool(
            "slow",
            "Takes a while, and says how far it is",
            json!({ "seconds": { "type": "number", "minimum": 0, "maximum": MOST_SECONDS, "default": 8 } }),
        ),
        tool("flaky", "Works, fails and breaks in turns", json!({})),
        tool(
            "huge",
            "Returns far too much",
            json!({ "kilobytes": { "type": "integer", "minimum": 1, "maximum": MOST_KILOBYTES, "default": 2048 } }),
        ),
        tool("changing", "Has another schema after every call", changing),
        tool("ask", "Asks you something in the middle", json!({})),
        tool("crash", "Ends the process in the middle of the call", json!({})),
        tool(
            "complain",
            "Writes to the log",
            json!({ "lines": { "type": "integer", "minimum": 1, "maximum": 200, "default": 5 } }),
        ),
        tool(
            "rude",
            rude,
            json!({ "<b>name</b>": { "type": "string", "description": "<i>not italic</i>" } }),
        ),
        // Two entries that no list may be spoilt by.
        json!({ "description": "I have no name", "inputSchema": { "type": "object" } }),
        json!({ "name": "malformed", "description": "My schema is a text", "inputSchema": "object" }),
    ]
}

pub(super) async fn call(job: &Job, tool: &str, args: &Value) -> Result<Value, Fault> {
    Ok(match tool {
        "slow" => {
            const STEPS: u32 = 16;
            let seconds = args["seconds"].as_f64().unwrap_or(8.0).clamp(0.0, MOST_SECONDS);
            for step in 0..STEPS {
                job.progress(step.into(), STEPS.into(), &format!("step {} of {STEPS}", step + 1));
                tokio::time::sleep(Duration::from_secs_f64(seconds) / STEPS).await;
            }
            text(format!("done after {seconds} seconds"))
        }
        "flaky" => match job.peer.count.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => text("this time it worked"),
            1 => failed("the upstream database is having a nap"),
            _ => {
                let data = json!({ "retryable": true, "trace": ["flaky", "backend", "disk 3"] });
                return Err(Fault { code: -32050, message: "backend unavailable".into(), data: Some(data) });
            }
        },
        "huge" => {
            let kilobytes = args["kilobytes"].as_u64().unwrap_or(2048).clamp(1, MOST_KILOBYTES);
            let line = format!("{:1022}.\n", "all work and no play");
            text(line.repeat(kilobytes as usize))
        }
        "changing" => {
            job.peer.count.fetch_add(1, Ordering::Relaxed);
            job.peer.notify("notifications/tools/list_changed", &json!({}));
            text("my schema is another one now")
        }
        "ask" => {
            let schema = json!({ "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string", "title": "Your name" },
                "colour": { "type": "string", "title": "Favourite colour", "enum": ["green", "blue", "none"] },
                "reminders": { "type": "boolean", "title": "Send reminders", "default": false } } });
            match job.ask("Who is there?", &schema).await {
                None => failed("nobody can be asked: this client does not support elicitation"),
                Some(answer) if answer["action"] == "accept" => {
                    text(format!("hello, {}", answer["content"]["name"].as_str().unwrap_or("stranger")))
                }
                Some(answer) => {
                    text(format!("you chose to {}", answer["action"].as_str().unwrap_or("leave")))
                }
            }
        }
        "crash" => {
            let _ = tokio::io::stderr().write_all(b"fatal: out of patience\n").await;
            std::process::exit(1)
        }
        "complain" => {
            let lines = args["lines"].as_u64().unwrap_or(5).clamp(1, 200);
            for number in 1..=lines {
                let level = ["info", "warning", "error"][(number % 3) as usize];
                let line = format!("{level}: complaint {number} of {lines}\n");
                let _ = tokio::io::stderr().write_all(line.as_bytes()).await;
            }
            text(format!("{lines} lines are in the log"))
        }
        "rude" => text("<h1>not a heading</h1>\n<script>alert(1)</script>\n\u{1b}[31mnot red\u{1b}[0m"),
        other => return Err(Fault::unknown("tool", other)),
    })
}
