//! The demo servers, spoken to over a pipe.

use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};

use super::*;

/// A client of one of the servers.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
    next: u64,
}

impl Client {
    fn of(show: Show) -> Self {
        let (ours, theirs) = duplex(1 << 20);
        let (input, output) = split(theirs);
        toolgrove_core::task::spawn("server", peer::speak(show, input, output));
        let (input, out) = split(ours);
        Self { lines: BufReader::new(input).lines(), out, next: 100 }
    }

    async fn send(&mut self, message: Value) {
        self.out.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// The answer to a request; what comes before it is passed over.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        loop {
            let heard = self.hear().await;
            if heard["id"] == id && heard.get("method").is_none() {
                return heard;
            }
        }
    }

    async fn call(&mut self, tool: &str, args: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": args })).await
    }
}

#[tokio::test]
async fn every_server_says_who_it_is_and_lists_what_it_has() {
    for show in Show::ALL {
        let mut client = Client::of(show);
        if show == Show::Sleepy {
            continue;
        }
        let hello =
            client.ask("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} })).await;
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
        assert!(
            hello["result"]["serverInfo"]["icons"][0]["src"]
                .as_str()
                .unwrap()
                .starts_with("data:image/svg+xml,")
        );
        for (method, member) in [
            ("tools/list", "tools"),
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let list = client.ask(method, json!({})).await;
            assert!(list["result"][member].is_array(), "{show:?} {method}: {list}");
        }
        assert_eq!(client.ask("server/discover", json!({})).await["error"]["code"], -32601);
    }
}

#[tokio::test]
async fn every_tool_of_the_quiet_ones_answers_its_own_examples() {
    for (show, tool, args, expected) in [
        (Show::Weather, "current", json!({ "city": "Berlin" }), "sky"),
        (Show::Weather, "current", json!({ "city": "Atlantis" }), "no weather station"),
        (Show::Weather, "forecast", json!({ "city": "Lima", "days": 2, "units": "fahrenheit" }), "high"),
        (Show::Weather, "alerts", json!({ "region": null }), "Storm"),
        (Show::Files, "list_files", json!({}), "notes/todo.md"),
        (Show::Files, "read_file", json!({ "path": "readme.md" }), "in memory"),
        (Show::Files, "read_file", json!({ "path": "no" }), "no file `no`"),
        (Show::Files, "search", json!({ "query": "plants" }), "notes/todo.md: 1. water"),
        (Show::Files, "write_file", json!({ "path": "a", "text": "b" }), "created `a`"),
        (Show::Files, "delete_file", json!({ "path": "readme.md" }), "deleted"),
        (Show::Files, "show_kinds", json!({}), "audio/wav"),
        (Show::Files, "save_contact", json!({ "name": "Ada", "reach": { "phone": "1" } }), "saved Ada"),
        (Show::Files, "no_such", json!({}), "no tool is called"),
    ] {
        let answer = Client::of(show).call(tool, args).await.to_string();
        assert!(answer.contains(expected), "{tool}: {answer}");
    }
}

#[tokio::test]
async fn a_bad_day_has_its_turns() {
    let mut client = Client::of(Show::BadDay);
    let worked = client.call("flaky", json!({})).await;
    assert_eq!(worked["result"]["isError"], Value::Null);
    assert_eq!(client.call("flaky", json!({})).await["result"]["isError"], true);
    assert_eq!(client.call("flaky", json!({})).await["error"]["data"]["retryable"], true);
    let huge = client.call("huge", json!({ "kilobytes": 100 })).await;
    assert_eq!(huge["result"]["content"][0]["text"].as_str().unwrap().len(), 100 * 1024);
    let schema = async |client: &mut Client| {
        let tools = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
        tools.as_array().unwrap().iter().find(|it| it["name"] == "changing").unwrap()["inputSchema"].clone()
    };
    let before = schema(&mut client).await;
    client.call("changing", json!({})).await;
    assert_ne!(schema(&mut client).await, before);
}

#[tokio::test]
async fn a_question_reaches_the_client_and_its_answer_the_tool() {
    let mut client = Client::of(Show::BadDay);
    let nobody = client.call("ask", json!({})).await;
    assert_eq!(nobody["result"]["isError"], true);
    client.ask("initialize", json!({ "capabilities": { "elicitation": {} } })).await;
    client
        .send(json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": { "name": "ask" } }))
        .await;
    let question = client.hear().await;
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    client.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer })).await;
    assert_eq!(client.hear().await["result"]["content"][0]["text"], "hello, Ada");
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_says_how_far_it_is_and_can_be_cancelled() {
    let mut client = Client::of(Show::BadDay);
    let params = json!({ "name": "slow", "arguments": { "seconds": 8 }, "_meta": { "progressToken": 7 } });
    client.send(json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": params })).await;
    let first = client.hear().await;
    assert_eq!((&first["params"]["progressToken"], &first["params"]["total"]), (&json!(7), &json!(16.0)));
    client
        .send(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "c" } }),
        )
        .await;
    let after = client.ask("ping", json!({})).await;
    assert_eq!(after["result"], json!({}), "nothing more is heard of it");
}

#[tokio::test(start_paused = true)]
async fn the_sleepy_one_takes_its_time() {
    let mut client = Client::of(Show::Sleepy);
    let began = tokio::time::Instant::now();
    client.ask("initialize", json!({ "capabilities": {} })).await;
    assert!(began.elapsed() >= std::time::Duration::from_secs(4));
}
