//! `toolgrove serve`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use expect_test::expect;
use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, HttpFixture, Hub, until, wait_until_gone};

#[test]
fn it_prints_where_it_listens_and_how_to_connect() {
    let home = Home::new();
    let hub = home.serve_with("serve --listen 127.0.0.1:0");
    let first = hub.first.clone();
    hub.signal(Signal::INT);
    let (code, rest, log) = hub.wait();
    assert_eq!(code, Some(0));
    let url = first.trim().strip_prefix("Toolgrove listens at ").unwrap();
    let base = url.strip_suffix("/mcp").unwrap();
    let key = fs::read_to_string(home.data("key")).unwrap();
    let code = rest.split("code=").nth(1).unwrap().lines().next().unwrap();
    let rest = rest.replace(base, "BASE").replace(key.trim(), "KEY").replace(code, "CODE");
    expect![[r#"
        Its page, by a link that signs you in once: BASE/ui/login?code=CODE

        Connect a client with
        {
          "mcpServers": {
            "toolgrove": {
              "url": "BASE/mcp",
              "headers": {
                "Authorization": "Bearer KEY"
              }
            }
          }
        }
        or
        claude mcp add --transport http toolgrove BASE/mcp --header "Authorization: Bearer KEY"
        or, for a client that starts a process,
        {"mcpServers":{"toolgrove":{"command":"toolgrove","args":["stdio"]}}}

        No servers yet: add some with `toolgrove import FILE` or `toolgrove server add NAME URL`

    "#]]
    .assert_eq(&rest);
    assert_eq!(log, "stopping; press Ctrl-C again to quit at once\n");
}

#[test]
fn the_second_hub_says_where_the_first_is() {
    let home = Home::new();
    let hub = home.serve();
    let ran = home.type_("serve --listen 127.0.0.1:0");
    let told = ran.all().replace(&hub.url(), "URL").replace(&hub.pid().as_raw_nonzero().to_string(), "PID");
    expect![[r"
        error: a hub is already running at `URL` (process PID)
        hint: every command uses it; stop it first to start another, or set `TOOLGROVE_DATA`
        exit 1"]]
    .assert_eq(&told);
}

#[test]
fn of_two_hubs_started_at_once_one_runs() {
    let home = Home::new();
    let start = || {
        home.command(["serve", "--listen", "127.0.0.1:0"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut both = [start(), start()];
    let loser = until(|| both.iter_mut().position(|it| it.try_wait().unwrap().is_some()));
    assert_eq!(both[loser].wait().unwrap().code(), Some(1));
    let winner = &mut both[1 - loser];
    assert!(winner.try_wait().unwrap().is_none());
    assert_eq!(home.type_("tools").code, 0);
    winner.kill().unwrap();
    winner.wait().unwrap();
}

#[test]
fn a_port_in_use_gets_a_sentence_and_a_way_out() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = home.run(["serve", "--listen", &address]);
    expect![[r"
        error: cannot listen on `ADDRESS`: it is in use
        hint: take a free port with `toolgrove serve --listen 127.0.0.1:0`, or set `listen` in `toolgrove.toml`
        exit 1"]]
    .assert_eq(&ran.all().replace(&address, "ADDRESS"));
}

#[test]
fn only_this_machine_is_served() {
    let home = Home::new();
    expect![[r"
        error: `--listen 0.0.0.0:80` is not a loopback address
        hint: a solo hub serves this machine only; use `127.0.0.1` or `[::1]`
        exit 2"]]
    .assert_eq(&home.type_("serve --listen 0.0.0.0:80").all());
    let ran = home.type_("serve --listen nowhere");
    assert!(
        ran.code == 2 && ran.err.contains("expected an address and a port, such as 127.0.0.1:7430"),
        "{ran:?}"
    );
}

#[test]
fn the_names_it_shows_can_be_chosen() {
    let home = Home::new().with_fixture();
    let hub = home.serve_with("serve --listen 127.0.0.1:0 --json --names single");
    assert!(home.type_("tools").ok().contains("\nmcp_fix__echo "));
    assert!(home.type_("tools --names double").ok().contains("\nmcp__fix__echo "));
    hub.stop();
}

#[test]
fn a_stopped_hub_leaves_no_process_behind() {
    let home = Home::new().with_fixture();
    let hub = home.serve();
    let (server, child) = (pid(&home, "mcp__fix__pid"), pid(&home, "mcp__fix__spawn_child"));
    hub.stop();
    wait_until_gone(server);
    wait_until_gone(child);
}

#[test]
fn a_killed_hub_leaves_no_process_behind_and_the_next_one_starts_at_once() {
    let home = Home::new().with_fixture();
    let hub = home.serve();
    let (server, child) = (pid(&home, "mcp__fix__pid"), pid(&home, "mcp__fix__spawn_child"));
    hub.signal(Signal::KILL);
    assert_eq!(hub.wait().0, None);
    assert!(home.data("hub.sock").exists(), "the killed hub had no time to tidy up");
    let hub = home.serve();
    assert!(home.type_("tools").ok().contains("mcp__fix__echo"), "the catalogue is there at once");
    assert_ne!(pid(&home, "mcp__fix__pid"), server);
    wait_until_gone(server);
    wait_until_gone(child);
    hub.stop();
}

#[test]
fn a_running_call_may_end_after_the_first_ctrl_c_and_the_second_quits() {
    let home = Home::new().with_fixture();
    let hub = home.serve();
    let mut call = start_sleep(&home, &hub, 1000);
    hub.signal(Signal::INT);
    let mut rest = String::new();
    call.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("event: done") && rest.contains("slept 1000 ms"), "{rest}");
    assert_eq!(hub.wait().0, Some(0));

    let hub = home.serve_with("serve --listen 127.0.0.1:0");
    let mut call = start_sleep(&home, &hub, 60_000);
    hub.signal(Signal::INT);
    until(|| hub.log().contains("stopping").then_some(()));
    hub.signal(Signal::INT);
    assert_eq!(hub.wait().0, Some(130));
    let mut rest = String::new();
    let _ = call.read_to_string(&mut rest);
    assert!(!rest.contains("event: done"), "the call was not answered: {rest}");
}

/// A call that is certainly running: it has reported progress.
fn start_sleep(home: &Home, hub: &Hub, ms: u32) -> BufReader<TcpStream> {
    let url = hub.first.split("http://").nth(1).unwrap();
    let host = url.split('/').next().unwrap();
    let key = fs::read_to_string(home.data("key")).unwrap();
    let body = format!("{{\"tool\":\"mcp__fix__sleep\",\"arguments\":{{\"ms\":{ms}}}}}");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /api/mcp/call HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        key.trim(),
        body.len()
    )
    .unwrap();
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("event: progress") {
        line.clear();
        assert!(answer.read_line(&mut line).unwrap() > 0, "the call ended without progress");
    }
    answer
}

#[test]
fn a_dead_server_does_not_keep_the_hub_from_starting() {
    let home = Home::new().with_fixture();
    let gone = HttpFixture::start(&[]);
    let url = gone.url.clone();
    home.run(["server", "add", "gone", &url]).ok();
    drop(gone);
    let hub = home.serve();
    let tools = home.type_("tools").ok();
    assert!(
        tools.contains("mcp__fix__echo") && tools.contains("mcp__gone__echo"),
        "the catalogue lists both"
    );
    assert_eq!(home.type_("call mcp__fix__echo").code, 0);
    let ran = home.type_("call mcp__gone__echo");
    assert_eq!((ran.code, ran.err.contains("error: cannot reach `gone`")), (1, true), "{ran:?}");
    hub.stop();
}

fn pid(home: &Home, tool: &str) -> i32 {
    let out = home.run(["call", tool]).ok();
    let answer: Value = serde_json::from_str(&out).unwrap();
    answer["pid"].as_i64().unwrap() as i32
}
