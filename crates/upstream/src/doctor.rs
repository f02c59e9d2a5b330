//! Walks the way to a server step by step, so that a person sees at which step it ends and what to do there.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout};
use toolgrove_core::Error;
use toolgrove_core::call::Discovery;
use toolgrove_core::event::ListKind;
use toolgrove_core::instance::{Command, Era, Instance, Transport};
use tower_service::Service;
use ts_rs::TS;
use url::Url;

use crate::Pool;
use crate::web::{Dial, NOT_PUBLIC, cause};

const PATIENCE: Duration = Duration::from_secs(10);

/// One step, how it went, and how long it took.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(rename = "DoctorStep")]
pub struct Step {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
    pub ms: u64,
}

/// The steps before anything is said: is there something to talk to?
pub async fn way(pool: &Pool, instance: &Instance) -> Vec<Step> {
    match &instance.transport {
        Transport::Http(reach) | Transport::Sse(reach) => {
            match instance.hosts.check(reach.url.host_str().unwrap_or_default()) {
                Ok(()) => way_to(pool.dial(), &reach.url).await,
                Err(error) => vec![Step { name: "allowlist", ok: false, detail: error.to_string(), ms: 0 }],
            }
        }
        Transport::Stdio(command) => vec![program(command)],
        Transport::Unix(reach) => vec![step("socket", async { open_socket(&reach.path).await }).await],
        Transport::Builtin | Transport::Bud(_) => Vec::new(),
        Transport::Impossible { problem, .. } => {
            vec![Step { name: "setup", ok: false, detail: problem.clone(), ms: 0 }]
        }
    }
}

async fn way_to(dial: &Dial, url: &Url) -> Vec<Step> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let mut places: Vec<SocketAddr> = Vec::new();
    let mut steps = vec![
        step("DNS", async {
            places = dial.resolver().resolve(host).await.map_err(|it| cause(&*it))?;
            let addresses: Vec<_> = places.iter().map(|it| it.ip().to_string()).collect();
            Ok(addresses.join(", "))
        })
        .await,
    ];
    if steps[0].ok {
        for place in &mut places {
            place.set_port(port);
        }
        steps.push(
            step("TCP", async {
                let stream = TcpStream::connect(&places[..]).await.map_err(|it| it.to_string())?;
                stream.peer_addr().map(|it| format!("connected to {it}")).map_err(|it| it.to_string())
            })
            .await,
        );
    }
    if steps.iter().all(|it| it.ok) && url.scheme() == "https" {
        steps.push(step("TLS", handshake(dial, url)).await);
    }
    steps
}

async fn handshake(dial: &Dial, url: &Url) -> Result<String, String> {
    let place = format!("https://{}", url.authority());
    let uri = place.parse().map_err(|it: http::uri::InvalidUri| it.to_string())?;
    dial.tls()?.call(uri).await.map_err(|it| it.to_string())?;
    Ok("certificate is trusted".into())
}

async fn open_socket(path: &Path) -> Result<String, String> {
    UnixStream::connect(path)
        .await
        .map(|_| format!("connected to {}", path.display()))
        .map_err(|it| it.to_string())
}

/// Whether the program can be found, as a shell would look for it.
fn program(command: &Command) -> Step {
    let given = Path::new(&command.program);
    let found = if given.components().count() > 1 {
        let place = command.directory.as_deref().map_or_else(|| given.to_owned(), |it| it.join(given));
        place.is_file().then_some(place)
    } else {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).map(|it| it.join(given)).find(|it| it.is_file())
    };
    match found {
        Some(place) => Step { name: "program", ok: true, detail: place.display().to_string(), ms: 0 },
        None => {
            Step { name: "program", ok: false, detail: format!("`{}` was not found", command.program), ms: 0 }
        }
    }
}

async fn step(name: &'static str, work: impl Future<Output = Result<String, String>>) -> Step {
    let started = Instant::now();
    let result = timeout(PATIENCE, work)
        .await
        .unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())));
    let ms = started.elapsed().as_millis() as u64;
    match result {
        Ok(detail) => Step { name, ok: true, detail, ms },
        Err(detail) => Step { name, ok: false, detail, ms },
    }
}

/// The steps of a conversation, read off how it went.
pub fn talk(instance: &Instance, found: &Result<Discovery, Error>) -> Vec<Step> {
    let answer = match instance.transport {
        Transport::Http(_) | Transport::Sse(_) => "HTTP",
        _ => "answer",
    };
    let good = |name, detail: String| Step { name, ok: true, detail, ms: 0 };
    let bad = |name, detail: String| Step { name, ok: false, detail, ms: 0 };
    match found {
        Ok(found) => {
            let era = match found.verdict.era {
                Era::Modern => "modern",
                Era::Legacy => "legacy",
            };
            let tools = found.lists.iter().find(|it| it.0 == ListKind::Tools).map(|it| &it.1);
            vec![
                good(answer, found.verdict.evidence.clone()),
                good("era", format!("{era}, {}", found.verdict.version)),
                good("auth", "let in".into()),
                match tools {
                    Some(Ok(tools)) => good("list", format!("{} tools", tools.len())),
                    Some(Err(error)) => bad("list", error.to_string()),
                    None => good("list", "no tools".into()),
                },
            ]
        }
        Err(error @ Error::NeedsReauth { .. }) => {
            let name = if error.wants_sign_in() { "sign-in" } else { "auth" };
            vec![good(answer, "the server answered".into()), bad(name, error.to_string())]
        }
        Err(error @ (Error::Answered { .. } | Error::Server { .. } | Error::Garbled { .. })) => {
            vec![good(answer, "something answered".into()), bad("era", error.to_string())]
        }
        Err(error) => vec![bad(answer, error.to_string())],
    }
}

/// What to do, in one sentence.
pub fn advice(instance: &Instance, steps: &[Step]) -> String {
    let slug = &instance.slug;
    let Some(failed) = steps.iter().find(|it| !it.ok) else {
        return format!("`{slug}` is in good health");
    };
    match failed.name {
        "setup" => failed.detail.clone(),
        "allowlist" => "ask an admin to add the host to the allowlist of the workspace".into(),
        "DNS" if failed.detail.ends_with(NOT_PUBLIC) => {
            "an admin can let it through with `[net] allow_private`".into()
        }
        "DNS" => "check the host name in the server's URL, and whether this machine can look up names".into(),
        "TCP" => "start the server, or check host and port in its URL".into(),
        "TLS" => {
            "the server's certificate is not trusted here; renew it or add its authority to this machine"
                .into()
        }
        "program" => "install the program, or give its full path in `command`".into(),
        "socket" => "start the server that owns the socket, or correct the path".into(),
        "sign-in" => format!("run `toolgrove login {slug}`"),
        "auth" => format!("check the credentials of `{slug}`"),
        "list" => "the server is up but cannot list its tools; read its log".into(),
        "era" => "what answers there is not an MCP server; check the path of the URL".into(),
        _ => format!("read the server's log with `toolgrove logs --server {slug}`"),
    }
}
