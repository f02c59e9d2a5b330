//! `toolgrove export`: everything in a shape that `import` reads back.

use super::call::pretty;
use crate::api::{Api, with_query};
use crate::args::Export;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(args: Export, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let secrets = args.secrets.then_some("true");
    let path = with_query("/api/mcp/export", &[("format", Some(args.format.as_str())), ("secrets", secrets)]);
    Api::with(paths, async |api| {
        let answer = api.get(&path).await?;
        printer.json_bytes(&answer.bytes);
        printer.foreign(&pretty(&answer.raw()?));
        Ok(Exit::Done)
    })
    .await
}
