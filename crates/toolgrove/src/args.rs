//! What was typed. What it means is decided by each command.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use toolgrove_bundle::places::Client;
use toolgrove_core::name::Profile;

use crate::given::{self, Given};

/// One endpoint for all your MCP servers
#[derive(Debug, Parser)]
#[command(name = "toolgrove", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Args {
    /// Print JSON and nothing else; a problem is printed as JSON to stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// On a team's hub: the admin for whom to act; needed if there are several
    #[arg(long = "as", global = true, value_name = "EMAIL")]
    pub(crate) acting_as: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the hub until Ctrl-C
    Serve(Serve),
    /// Be an MCP server on stdin and stdout, for clients that start a process
    Stdio(Stdio),
    /// Add the servers of a JSON configuration and discover their tools
    Import(Import),
    /// Print all servers as a configuration that `import` reads
    Export(Export),
    /// Where tools come from
    #[command(subcommand)]
    Server(Server),
    /// Servers as you use them, with slug and credentials
    #[command(subcommand)]
    Instance(Instance),
    /// Tools of the pages that are open in your browser
    #[command(subcommand)]
    Tabs(Tabs),
    /// What programs show to be let in
    #[command(subcommand)]
    Token(Token),
    /// Sets of servers: installed, updated and removed without a trace
    #[command(subcommand)]
    Bundle(Bundle),
    /// Tools that are not what was approved
    #[command(subcommand)]
    Pins(Pins),
    /// Write the hub into the configuration of a client
    Connect(Connect),
    /// Sign in to the server of an instance, in a browser
    Login(Login),
    /// The key that encrypts stored secrets
    #[command(subcommand)]
    Key(Key),
    /// List every tool
    Tools(Tools),
    /// Call a tool
    Call(Call),
    /// Print the `## MCP Tools` section of a system prompt
    Prompt(Prompt),
    /// Read function schemas of other systems as the methods of a server
    Convert(Convert),
    /// Model presets that act as servers
    #[command(subcommand)]
    Bud(Bud),
    /// Graphs of calls
    #[command(subcommand)]
    Plan(Plan),
    /// Texts of your workspaces, for the tool `file_search` to look in
    #[command(subcommand)]
    Files(Files),
    /// Show what was called, or what a server wrote to stderr
    Logs(Logs),
    /// Find out what is wrong, and say what to do
    Doctor(Doctor),
    /// Print a completion script for a shell
    Completions(Completions),
    #[command(name = "__docs", hide = true)]
    Docs(Docs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Address and port to listen on instead of the configured one; port 0 takes a free one
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// The tool names that lists show
    #[arg(long, value_enum)]
    pub(crate) names: Option<Names>,
    /// Add a few invented servers, one of them with a bad day, so that there is something to see
    #[arg(long)]
    pub(crate) demo: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stdio {
    /// Offer only this instance, its tools under their own names
    #[arg(long, value_name = "SLUG")]
    pub(crate) instance: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    /// The file to read, or `-` for stdin
    #[arg(required_unless_present = "from")]
    pub(crate) file: Option<String>,
    /// Read the servers that this client has instead, such as `claude-desktop`
    #[arg(long, value_name = "CLIENT", conflicts_with = "file", value_parser = client)]
    pub(crate) from: Option<Client>,
    /// Keep servers that could not be asked for their tools
    #[arg(long)]
    pub(crate) save_anyway: bool,
    /// Update servers that are there already
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// The shape of the configuration
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ExportFormat,
    /// Include the values of headers and environment variables
    #[arg(long)]
    pub(crate) secrets: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Server {
    /// Add a server, ask it for its tools, and make an instance of it
    Add(ServerAdd),
    /// List all servers
    List,
    /// Show one server
    Show { server: String },
    /// Ask a server what it offers, now
    Test { server: String },
    /// Turn a server on, for everybody
    On { server: String },
    /// Turn a server off: it is in no list and nothing is sent to it
    Off { server: String },
    /// Remove a server with its instances
    Remove {
        server: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "toolgrove server add [OPTIONS] <NAME> <URL>\n       toolgrove server add [OPTIONS] <NAME> -- <COMMAND>..."
)]
pub(crate) struct ServerAdd {
    /// What to call it
    pub(crate) name: String,
    /// Where it is: `https://…`, `http://…` or `unix:///path.sock`
    pub(crate) url: Option<String>,
    /// The program to run and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// A header for every request, such as `Authorization=Bearer …`, or its name alone to be asked; repeatable
    #[arg(long = "header", value_name = "NAME[=VALUE]", value_parser = given::plain)]
    pub(crate) headers: Vec<Given>,
    /// An environment variable for the program, or its name alone to be asked; repeatable
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = given::plain)]
    pub(crate) env: Vec<Given>,
    /// With `--no-instance`, what each person has to show: `header:NAME` or `query:NAME`, repeatable; `oauth` or `public`
    #[arg(long = "auth", value_name = "AUTH", requires = "no_instance")]
    pub(crate) auth: Vec<String>,
    /// Keep it even if it does not answer now
    #[arg(long)]
    pub(crate) save_anyway: bool,
    /// Update the server of this name if there is one
    #[arg(long)]
    pub(crate) replace: bool,
    /// Only register it: nothing is asked of it, and nobody uses it yet
    #[arg(long, conflicts_with_all = ["save_anyway", "replace", "env", "headers"])]
    pub(crate) no_instance: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Instance {
    /// Use a server that is registered
    Add(InstanceAdd),
    /// Change an instance, or give it the values its server asks for
    Set(InstanceSet),
    /// List all instances with their health
    List,
    /// Turn an instance on, or one of its tools
    On {
        slug: String,
        /// Only this tool
        #[arg(long)]
        tool: Option<String>,
    },
    /// Turn an instance off, or one of its tools
    Off {
        slug: String,
        /// Only this tool
        #[arg(long)]
        tool: Option<String>,
    },
    /// Ask the server for its lists again
    Refresh { slug: String },
    /// Remove an instance; its server stays
    Remove {
        slug: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct InstanceAdd {
    /// Name or id of the server
    pub(crate) server: String,
    /// The part of tool names that stands for this instance
    #[arg(long)]
    pub(crate) slug: Option<String>,
    /// What to call it
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// How to show who you are, if the server takes several ways
    #[arg(long, value_enum)]
    pub(crate) auth: Option<Auth>,
    /// A value the server asks for; `KEY` alone asks for it, `KEY=@FILE` reads it; repeatable
    #[arg(long = "credential", value_name = "KEY[=VALUE]", value_parser = given::or_file)]
    pub(crate) credentials: Vec<Given>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InstanceSet {
    pub(crate) slug: String,
    /// Another part of tool names that stands for this instance
    #[arg(long = "slug", value_name = "SLUG")]
    pub(crate) new_slug: Option<String>,
    /// What to call it
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What it is for
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// How to show who you are; another way forgets what was shown before
    #[arg(long, value_enum)]
    pub(crate) auth: Option<Auth>,
    /// A value the server asks for, in the place of all there were; `KEY` alone asks for it, `KEY=@FILE` reads it;
    /// repeatable
    #[arg(long = "credential", value_name = "KEY[=VALUE]", value_parser = given::or_file)]
    pub(crate) credentials: Vec<Given>,
}

/// How an instance shows who it is.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Auth {
    Public,
    Header,
    Oauth,
}

impl Auth {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Header => "header",
            Self::Oauth => "oauth",
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a new key and seal every stored secret with it; a running hub goes on meanwhile
    Rotate,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tabs {
    /// Make the hub known to the browsers on this machine, and say how to load the extension
    Install(TabsInstall),
    /// List browsers, their tabs, and the tools that are remembered
    List,
    /// Make a code that pairs one browser
    Pair,
    /// Forget a browser, a remembered tool, or all tools of a domain
    Forget {
        /// A browser's name or id, a tool's name, or a domain
        what: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct TabsInstall {
    /// The user data folder of a browser that is not in a usual place; repeatable
    #[arg(long = "user-data-dir", value_name = "DIR")]
    pub(crate) user_data_dirs: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token; it is shown this once
    Create(TokenCreate),
    /// List your tokens
    List,
    /// End a token, now
    Revoke {
        /// Its name or id
        token: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct TokenCreate {
    /// What to call it
    pub(crate) name: String,
    /// An instance it may use, by slug; repeatable. Without any it may use all
    #[arg(long = "grant", value_name = "SLUG")]
    pub(crate) grants: Vec<String>,
    /// The tool names that lists show
    #[arg(long, value_enum)]
    pub(crate) names: Option<Names>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bundle {
    /// Install a bundle: shows what will run or be reached, then asks
    Install(BundleInstall),
    /// Remove a bundle's servers from the file and from the hub
    Uninstall {
        bundle: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Put another version in the place of the one that is there
    Update(BundleUpdate),
    /// List what is installed
    List,
    /// Show one bundle with its servers
    Show { bundle: String },
    /// Look for servers in the registry
    Search {
        /// Words to look for; without any, all
        words: Vec<String>,
    },
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that somebody types")]
pub(crate) struct BundleInstall {
    /// A folder, a `.zip` or `.mcpb`, an https address, `github:<owner>/<repo>[@tag]`, or a name in the registry
    pub(crate) source: String,
    /// The collection of this id, or the file of a release with this in its name
    #[arg(long, value_name = "NAME")]
    pub(crate) bundle: Option<String>,
    /// Where its servers are written; on a shared hub `none`, which leaves them to the hub
    #[arg(long, value_enum)]
    pub(crate) scope: Option<BundleScope>,
    /// The project of the scopes `workspace` and `repository`, instead of this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// The editor whose file is meant: `Code`, `Code - Insiders`, `Cursor`, `Windsurf`
    #[arg(long, value_name = "NAME", conflicts_with = "client")]
    pub(crate) editor: Option<String>,
    /// Another client whose file is meant, such as `claude-code`
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// In a repository: keep what is written out of commits
    #[arg(long)]
    pub(crate) local_only: bool,
    /// Replace servers of the same name
    #[arg(long, conflicts_with = "skip")]
    pub(crate) overwrite: bool,
    /// Leave servers of the same name as they are
    #[arg(long)]
    pub(crate) skip: bool,
    /// Leave `${env:X}` in the file instead of its value
    #[arg(long)]
    pub(crate) keep_env: bool,
    #[command(flatten)]
    pub(crate) agree: BundleAgree,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BundleUpdate {
    pub(crate) bundle: String,
    /// Another place to get it from than the last time
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) agree: BundleAgree,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BundleAgree {
    /// An answer to what the bundle asks; `KEY` alone asks for it, `KEY=@FILE` reads it; repeatable
    #[arg(long = "set", value_name = "KEY[=VALUE]", value_parser = given::or_file)]
    pub(crate) settings: Vec<Given>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only show what would be done
    #[arg(long, conflicts_with = "yes")]
    pub(crate) preview: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BundleScope {
    /// The editor's file for this person
    User,
    /// `.vscode/mcp.json` of a folder
    Workspace,
    /// The same, with a lockfile for everybody who uses the repository
    Repository,
    /// No file: the hub alone runs them
    None,
}

impl BundleScope {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Repository => "repository",
            Self::None => "none",
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Pins {
    /// List tools that changed since they were approved
    List,
    /// Show what changed
    Diff {
        /// The tool, as clients call it; without one, all
        tool: Option<String>,
    },
    /// Take the new definition: calls go through again
    Approve { tool: String },
    /// Stay with the old definition: calls of the tool stay refused
    Reject { tool: String },
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that somebody types")]
pub(crate) struct Connect {
    /// The client, such as `claude-code`, `cursor` or `vscode`
    #[arg(value_parser = client)]
    pub(crate) client: Client,
    /// Take the hub out again
    #[arg(long)]
    pub(crate) undo: bool,
    /// Let the client reach a running hub by its address, instead of starting `toolgrove stdio`
    #[arg(long)]
    pub(crate) http: bool,
    /// The file of this project, instead of the person's
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only show what would be changed
    #[arg(long, conflicts_with = "yes")]
    pub(crate) preview: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Login {
    /// The instance
    pub(crate) slug: String,
    /// Only print the page's address
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tools {
    /// Only the tools of this server, by slug or name
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// How to print them
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ToolsFormat,
    /// The form of the names
    #[arg(long, value_enum)]
    pub(crate) names: Option<Names>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Call {
    /// The tool's name, as `toolgrove tools` shows it
    pub(crate) tool: String,
    /// Arguments; values are read as the tool's schema says
    #[arg(value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) arguments: Vec<(String, String)>,
    /// All arguments as one JSON object, or `-` to read it from stdin
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    pub(crate) json_args: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Prompt {
    /// The form of the names
    #[arg(long, value_enum)]
    pub(crate) names: Option<Names>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Convert {
    /// A JSON file with functions, or `-` for stdin
    pub(crate) file: String,
    /// What to call the server
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Keep it as a bud
    #[arg(long)]
    pub(crate) save: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bud {
    /// List every bud
    List,
    /// Ask a bud, by its first method
    Run {
        /// Its name, id or `bud://` address
        bud: String,
        /// What to say, or all arguments as one JSON object
        #[arg(required = true)]
        message: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Plan {
    /// List every plan
    List,
    /// Run a plan and show how its nodes end
    Run {
        /// Its name or id
        plan: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Files {
    /// Add texts to a workspace
    Add {
        /// Texts of at most 512 KiB; each is known by its file name
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Name or id of the workspace; needed if you are in several
        #[arg(long, value_name = "NAME")]
        workspace: Option<String>,
    },
    /// List the files of your workspaces
    List,
    /// Remove a file: one that you added, or any of a workspace you keep
    Remove {
        /// Its name or id
        file: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// How many calls or lines to show
    #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    /// Only calls of this tool
    #[arg(long, conflicts_with = "server")]
    pub(crate) tool: Option<String>,
    /// Only calls that failed
    #[arg(long, conflicts_with = "server")]
    pub(crate) failed: bool,
    /// What this instance's process wrote to stderr, instead of calls
    #[arg(long, value_name = "SLUG")]
    pub(crate) server: Option<String>,
    /// Keep running and print what is new; with `--json` one line each
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Walk the way to this instance's server step by step
    pub(crate) slug: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Docs {
    #[arg(value_enum)]
    pub(crate) page: Page,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Page {
    Errors,
    Config,
    Cli,
    Types,
    Manifest,
    Collection,
    TabTypes,
    TabSchema,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// `{"mcpServers": …}`, as most clients read it
    #[default]
    #[value(name = "mcp.json")]
    McpJson,
    /// `{"bouno_mcp_servers": […]}`, with switches and cached tools
    Bouno,
}

impl ExportFormat {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::McpJson => "mcp.json",
            Self::Bouno => "bouno",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsFormat {
    /// Names and descriptions
    #[default]
    Table,
    /// The result of `tools/list`
    Mcp,
    /// Function definitions for chat completions
    Openai,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Names {
    /// `mcp__<slug>__<tool>`
    Double,
    /// `mcp_<slug>__<tool>`
    Single,
}

impl Names {
    pub(crate) fn profile(self) -> Profile {
        match self {
            Self::Double => Profile::Double,
            Self::Single => Profile::Single,
        }
    }
}

fn client(typed: &str) -> Result<Client, String> {
    Client::parse(typed).map_err(|error| {
        let names: Vec<_> = Client::ALL.iter().map(|it| format!("`{}`", it.as_str())).collect();
        format!("{error}; there are {}", names.join(", "))
    })
}

fn address(typed: &str) -> Result<SocketAddr, String> {
    typed.parse().map_err(|_| "expected an address and a port, such as 127.0.0.1:7430".into())
}

fn pair(typed: &str) -> Result<(String, String), String> {
    match typed.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_value_may_hold_the_sign_that_ends_the_key() {
        assert_eq!(pair("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(pair("a="), Ok(("a".into(), String::new())));
        assert!(pair("=b").is_err());
        assert!(pair("ab").is_err());
    }
}
