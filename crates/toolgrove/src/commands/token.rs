//! `toolgrove token …`: what programs show to be let in.

use http::Method;
use serde_json::{Map, Value};

use super::logs::time;
use super::server::text;
use crate::api::{Api, segment};
use crate::args::{Token, TokenCreate};
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(args: Token, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    Api::with(paths, async |api| match args {
        Token::Create(args) => create(api, args, printer).await,
        Token::List => list(api, printer).await,
        Token::Revoke { token } => revoke(api, &token, printer).await,
    })
    .await
}

async fn create(api: &Api, args: TokenCreate, printer: &Printer) -> Result<Exit, Failure> {
    let mut body = Map::new();
    body.insert("name".into(), args.name.into());
    if !args.grants.is_empty() {
        body.insert("grants".into(), args.grants.into());
    }
    if let Some(names) = args.names {
        body.insert("names_profile".into(), names.profile().as_str().into());
    }
    let answer = api.post("/api/tokens", &Value::Object(body)).await?;
    printer.json_bytes(&answer.bytes);
    let made = answer.value()?;
    printer.line(text(&made, "token"));
    printer.note("this is the only time it is shown; send it as `Authorization: Bearer …`");
    Ok(Exit::Done)
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/tokens").await?;
    printer.json_bytes(&answer.bytes);
    let tokens: Vec<Value> = answer.read()?;
    if tokens.is_empty() {
        printer.line("no tokens yet");
        printer.hint("make one with `toolgrove token create NAME`");
        return Ok(Exit::Done);
    }
    let rows: Vec<_> = tokens
        .iter()
        .map(|it| {
            let grants = match it["grants"].as_array() {
                None => "everything".to_owned(),
                Some(grants) if grants.is_empty() => "nothing".to_owned(),
                Some(grants) => grants.iter().map(|it| text(it, "slug")).collect::<Vec<_>>().join(", "),
            };
            let used = it["last_used_at"].as_i64().map_or_else(|| "never".to_owned(), time);
            vec![text(it, "name"), grants, text(it, "names_profile"), used, text(it, "id")]
        })
        .collect();
    printer.table(&["NAME", "MAY USE", "NAMES", "LAST USED", "ID"], &rows);
    Ok(Exit::Done)
}

async fn revoke(api: &Api, word: &str, printer: &Printer) -> Result<Exit, Failure> {
    let tokens: Vec<Value> = api.get("/api/tokens").await?.read()?;
    let meant: Vec<_> = tokens.iter().filter(|it| it["name"] == word || it["id"] == word).collect();
    let id = match meant[..] {
        [one] => text(one, "id"),
        [] => {
            return Err(Failure::new("request.not-found", format!("no token is called `{word}`"))
                .hint("run `toolgrove token list` to see every token"));
        }
        _ => {
            return Err(Failure::new("request.invalid", format!("several tokens are called `{word}`"))
                .hint("give the id that `toolgrove token list` shows"));
        }
    };
    let answer = api.send(Method::DELETE, &format!("/api/tokens/{}", segment(&id)), None).await?;
    printer.json_bytes(&answer.bytes);
    printer.line(format_args!("revoked token `{word}`"));
    Ok(Exit::Done)
}
