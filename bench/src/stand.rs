//! Everything that runs beside the load: servers, the pass-through, nginx, the hub, and other gateways if there are any.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use tempfile::TempDir;
use tokio::process::Command;

use crate::client::{Place, Target};
use crate::machine::Cores;
use crate::process::{Hub, Program, Side, configure, installed, listening, ourselves};
use crate::speech::Era;

/// The server behind, by how it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Legacy,
    Modern,
    /// A legacy process on its standard streams.
    Stdio,
    /// A modern server on a unix socket.
    Unix,
}

impl Server {
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Stdio => "pipe",
            Self::Unix => "socket",
        }
    }

    fn of(era: Era) -> Self {
        match era {
            Era::Legacy => Self::Legacy,
            Era::Modern => Self::Modern,
        }
    }
}

/// What stands between load and server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Column {
    Direct,
    PassThrough,
    Nginx,
    Toolgrove,
    Peer(usize),
}

pub(crate) struct Stand {
    _folder: TempDir,
    servers: [(Program, String); 2],
    socket: (Program, PathBuf),
    passes: [(Program, String); 2],
    nginx: Option<(Program, [u16; 2])>,
    pub(crate) hub: Hub,
    peers: Vec<(Peer, Program)>,
}

/// Another gateway that is installed here.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Peer {
    pub(crate) name: String,
    /// The command, in which `{legacy}` and `{modern}` stand for the addresses of the echo servers.
    start: Vec<String>,
    /// Where it listens, `HOST:PORT`.
    address: String,
    path: String,
    #[serde(default)]
    headers: Vec<String>,
    /// What it calls the tool `echo`.
    tool: String,
    /// The eras it is measured in.
    eras: Vec<String>,
}

#[derive(Deserialize, Default)]
struct Peers {
    #[serde(default)]
    peer: Vec<Peer>,
}

impl Stand {
    pub(crate) async fn start(hub: &Path, peers: Option<&Path>, cores: Cores) -> Result<Self> {
        let folder = TempDir::with_prefix("toolgrove-bench-")?;
        let legacy = serve(&["echo", "--era", "legacy"], (cores, Side::Rest)).await?;
        let modern = serve(&["echo", "--era", "modern"], (cores, Side::Rest)).await?;
        let path = folder.path().join("echo.sock");
        let path_text = path.to_str().context("the temporary folder has a readable name")?;
        let (socket, _) =
            serve(&["echo", "--era", "modern", "--socket", path_text], (cores, Side::Rest)).await?;
        let pass_legacy = serve(&["proxy", &legacy.1], (cores, Side::Measured)).await?;
        let pass_modern = serve(&["proxy", &modern.1], (cores, Side::Measured)).await?;
        let nginx = nginx(folder.path(), [&legacy.1, &modern.1], cores).await?;
        configure(folder.path(), &servers(&legacy.1, &modern.1, path_text)?)?;
        let hub = Hub::start(hub, folder.path(), cores).await?;
        let text = peers.map(std::fs::read_to_string).transpose()?.unwrap_or_default();
        let mut started = Vec::new();
        for peer in toml::from_str::<Peers>(&text).context("bench/peers.toml")?.peer {
            let mut words =
                peer.start.iter().map(|it| it.replace("{legacy}", &legacy.1).replace("{modern}", &modern.1));
            let mut command = Command::new(words.next().context("a peer needs a command")?);
            command.args(words);
            let program = Program::silent(command, cores, Side::Measured)?;
            reachable(&peer.address).await?;
            started.push((peer, program));
        }
        Ok(Self {
            _folder: folder,
            servers: [legacy, modern],
            socket: (socket, path),
            passes: [pass_legacy, pass_modern],
            nginx,
            hub,
            peers: started,
        })
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::Direct, Column::PassThrough];
        columns.extend(self.nginx.is_some().then_some(Column::Nginx));
        columns.push(Column::Toolgrove);
        columns.extend((0..self.peers.len()).map(Column::Peer));
        columns
    }

    pub(crate) fn name(&self, column: &Column) -> String {
        match column {
            Column::Direct => "direct".into(),
            Column::PassThrough => "pass-through".into(),
            Column::Nginx => "nginx".into(),
            Column::Toolgrove => "toolgrove".into(),
            Column::Peer(place) => self.peers[*place].0.name.clone(),
        }
    }

    /// Where a client of an era calls a server through a column, and the process whose time counts.
    pub(crate) fn target(&self, column: &Column, era: Era, server: Server) -> Option<(Target, Option<u32>)> {
        let side = match server {
            Server::Legacy => 0,
            Server::Modern | Server::Unix => 1,
            Server::Stdio => 2,
        };
        let same_era = Server::of(era) == server;
        let plain =
            |place: Place| Target { place, path: "/mcp".into(), headers: vec![], tool: "echo".into(), era };
        match column {
            Column::Toolgrove => Some((self.through_hub(era, server.slug()), Some(self.hub.program.pid()))),
            Column::Direct if server == Server::Unix && era == Era::Modern => {
                Some((plain(Place::Unix(self.socket.1.clone())), None))
            }
            Column::Direct if same_era => Some((plain(Place::Tcp(self.servers[side].1.clone())), None)),
            Column::PassThrough if same_era => {
                let (program, address) = &self.passes[side];
                Some((plain(Place::Tcp(address.clone())), Some(program.pid())))
            }
            Column::Nginx if same_era => {
                let (program, ports) = self.nginx.as_ref()?;
                Some((plain(Place::Tcp(format!("127.0.0.1:{}", ports[side]))), Some(program.pid())))
            }
            Column::Peer(place) if same_era => {
                let (peer, program) = &self.peers[*place];
                let target = Target {
                    place: Place::Tcp(peer.address.clone()),
                    path: peer.path.clone(),
                    headers: peer.headers.clone(),
                    tool: peer.tool.clone(),
                    era,
                };
                peer.eras.iter().any(|it| it == era.name()).then_some((target, Some(program.pid())))
            }
            _ => None,
        }
    }

    fn through_hub(&self, era: Era, slug: &str) -> Target {
        through(&self.hub, era, slug)
    }

    pub(crate) fn server_address(&self, era: Era) -> &str {
        &self.servers[usize::from(era == Era::Modern)].1
    }
}

pub(crate) fn through(hub: &Hub, era: Era, slug: &str) -> Target {
    Target {
        place: Place::Tcp(hub.address.clone()),
        path: "/mcp".into(),
        headers: vec![format!("Authorization: Bearer {}", hub.key)],
        tool: format!("mcp__{slug}__echo"),
        era,
    }
}

pub(crate) async fn serve(args: &[&str], on: (Cores, Side)) -> Result<(Program, String)> {
    Program::start(ourselves(args)?, on, listening).await
}

fn servers(legacy: &str, modern: &str, socket: &str) -> Result<String> {
    let ourselves = std::env::current_exe()?;
    let ourselves = ourselves.to_str().context("this program has a readable name")?;
    Ok(format!(
        "[server.legacy]\nurl = \"http://{legacy}/mcp\"\n\n[server.modern]\nurl = \"http://{modern}/mcp\"\n\n\
         [server.socket]\nurl = \"unix://{socket}#/mcp\"\n\n\
         [server.pipe]\ncommand = \"{ourselves}\"\nargs = [\"echo\", \"--era\", \"legacy\", \"--stdio\"]\n"
    ))
}

/// nginx as a proxy with connections that stay open, if it is installed.
async fn nginx(folder: &Path, to: [&str; 2], cores: Cores) -> Result<Option<(Program, [u16; 2])>> {
    let Some(binary) = installed("nginx") else { return Ok(None) };
    let mut ports = [0; 2];
    for port in &mut ports {
        *port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    }
    let folder = folder.join("nginx");
    std::fs::create_dir_all(&folder)?;
    let place = folder.display();
    let doors: String = (0..2)
        .map(|it| {
            format!(
                "upstream up{it} {{ server {}; keepalive 2048; keepalive_requests 100000000; }}\n\
                 server {{ listen 127.0.0.1:{}; location / {{ proxy_pass http://up{it}; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; }} }}\n",
                to[it], ports[it]
            )
        })
        .collect();
    let config = format!(
        "daemon off;\nmaster_process off;\npid {place}/pid;\nerror_log {place}/error.log;\nevents {{ worker_connections 8192; }}\n\
         http {{ access_log off; tcp_nodelay on; keepalive_requests 100000000; client_max_body_size 16m; client_body_buffer_size 2m;\n\
         client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;\n{doors}}}\n"
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, config)?;
    let mut command = Command::new(binary);
    command.arg("-p").arg(&folder).arg("-c").arg(&file).stderr(std::process::Stdio::null());
    let program = Program::silent(command, cores, Side::Measured)?;
    reachable(&format!("127.0.0.1:{}", ports[1])).await?;
    Ok(Some((program, ports)))
}

/// Waits until something listens there.
async fn reachable(address: &str) -> Result<()> {
    for _ in 0..600 {
        if tokio::net::TcpStream::connect(address).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    anyhow::bail!("nothing listens on {address}")
}
