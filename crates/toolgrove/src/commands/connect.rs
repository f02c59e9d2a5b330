//! `toolgrove connect CLIENT`: the hub in a client's configuration, shown before it is written, and out again.

use toolgrove_bundle::connect::{self, Door, FileChange};
use toolgrove_bundle::files::Disk;
use toolgrove_bundle::places::{Client, Home};

use super::server::confirm;
use crate::args::Connect;
use crate::failure::{Exit, Failure};
use crate::lock::{self, Owner};
use crate::paths::Paths;
use crate::printer::Printer;
use crate::start;

pub(crate) async fn run(args: &Connect, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let (disk, client) = (Disk::default(), args.client);
    let file = match &args.project {
        Some(folder) => {
            let folder = folder.canonicalize().map_err(|error| Failure {
                exit: Exit::Usage,
                ..Failure::io(format_args!("cannot use `{}`", folder.display()), &error)
            })?;
            client.project_file(&folder).ok_or_else(|| {
                Failure::usage(format!("{} has no configuration for a project", client.title()))
            })?
        }
        None => client.user_file(&home()?),
    };
    let change = if args.undo {
        connect::disconnect(&disk, client, &file)?
    } else {
        connect::connect(&disk, client, &file, &door(args, paths).await?)?
    };
    let place = file.display();
    let done = if args.undo { "out of" } else { "in" };
    let answer = |change: &FileChange, written: bool| {
        serde_json::json!({
            "client": client, "file": file, "diff": change.diff(), "changed": change.is_needed() && written,
        })
    };
    if !change.is_needed() {
        printer.json(&answer(&change, false));
        printer.line(format_args!("Toolgrove is {done} `{place}` already"));
        return Ok(Exit::Done);
    }
    printer.note(format_args!("`{place}`"));
    printer.note(change.diff().trim_end());
    if args.preview {
        printer.json(&answer(&change, false));
        return Ok(Exit::Done);
    }
    if !args.yes {
        confirm(printer, &format!("Change the configuration of {}?", client.title()))?;
    }
    let shown = answer(&change, true);
    change.apply(&disk)?;
    printer.json(&shown);
    printer.line(format_args!("Toolgrove is {done} `{place}`"));
    if args.undo {
        return Ok(Exit::Done);
    }
    printer.hint(format_args!(
        "start {} again; take it out with `toolgrove connect {} --undo`",
        client.title(),
        client.as_str()
    ));
    Ok(Exit::Done)
}

/// The servers that a person has in a client, as a configuration that `import` reads.
pub(super) fn servers_of(client: Client) -> Result<String, Failure> {
    let servers = connect::servers(&Disk::default(), client, &client.user_file(&home()?))?;
    Ok(servers.to_string())
}

fn home() -> Result<Home, Failure> {
    Home::here().ok_or_else(|| Failure::usage("this system does not say where the home folder is"))
}

/// A process of our own works whether a hub runs or not, so it is what a client gets unless it is told otherwise.
async fn door(args: &Connect, paths: &Paths) -> Result<Door, Failure> {
    if !args.http {
        let program =
            std::env::current_exe().map_err(|error| Failure::io("cannot find this program", &error))?;
        return Ok(Door::Stdio { command: program.display().to_string(), args: vec!["stdio".into()] });
    }
    let place = match lock::claim(paths).await? {
        Owner::Running(place) => place.url,
        Owner::Us(_) => None,
    };
    let url = place.ok_or_else(|| {
        Failure::new("hub.none", "there is no running hub to connect to")
            .hint("start one with `toolgrove serve`")
    })?;
    Ok(Door::Http { url: format!("{}/mcp", url.trim_end_matches('/')), key: Some(start::local_key(paths)?) })
}
