//! `docs/bundles.md`: what it tells people to type works, and what it tells authors to write can be read.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::home::{Home, fixture};

/// The code blocks of the page in one language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bundles.md");
    let page = fs::read_to_string(page).unwrap();
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|it| it.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_snippet_works() {
    let home = Home::new();
    let folder = home.path("weather-tools");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("weather.sh"), format!("exec {} stdio\n", fixture().display())).unwrap();
    let cursor = home.path("home/.cursor/mcp.json");
    fs::create_dir_all(cursor.parent().unwrap()).unwrap();
    fs::write(&cursor, json!({ "mcpServers": { "mine": { "url": "http://127.0.0.1:9/mcp" } } }).to_string())
        .unwrap();
    for block in blocks("yaml") {
        let name =
            block.lines().next().and_then(|it| it.strip_prefix("# file: ")).expect("it names its file");
        fs::write(home.path(name), &block).unwrap();
    }
    let mut commands = 0;
    for line in blocks("sh").iter().flat_map(|it| it.lines()).filter(|it| !it.is_empty()) {
        let typed = line.strip_prefix("toolgrove ").expect("a command of ours");
        let ran = home.finish(home.command(typed.split_whitespace()).current_dir(home.path("")));
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        commands += 1;
    }
    assert!(commands >= 10, "the page was read");
    // The other format, as a bundle of its own.
    let collection = home.path("collection");
    fs::create_dir_all(collection.join("prompts")).unwrap();
    fs::write(collection.join("prompts/umbrella.prompt.md"), "Do I need one?\n").unwrap();
    fs::rename(home.path("weather.collection.yml"), collection.join("weather.collection.yml")).unwrap();
    let shown = home.run(["bundle", "install", &collection.display().to_string(), "--preview"]);
    assert!(
        shown.err.contains("reaches `https://weather.example/mcp` as prompt-registry:weather:api"),
        "{shown:?}"
    );
}
