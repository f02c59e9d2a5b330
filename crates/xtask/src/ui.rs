//! The web UI: built when its sources are newer than its output.

use anyhow::Result;

use crate::tree;

/// Builds `ui/` if there is one and it changed.
#[expect(clippy::unused_async, reason = "building will wait for npm")]
pub(crate) async fn build_if_stale() -> Result<()> {
    if !tree::root().join("ui/package.json").exists() {
        return Ok(());
    }
    anyhow::bail!(
        "`ui/package.json` exists, but xtask does not know yet how to build it: see crates/xtask/src/ui.rs"
    )
}
