//! The fixed tools: for clients that do not hear of changed lists, and those that pages of the relay are used to.

use serde_json::{Value, json};
use toolgrove_wire::{Edit, Raw};

use super::listing::Entry;
use super::table::{TabView, Table};
use super::tool::PageTool;
use crate::offer::Shown;

/// The tool that stands for any other: the hub puts the call it carries in its place.
pub const CALL_TOOL: &str = "browser_call_tool";
pub(super) const LIST_TOOLS: &str = "browser_list_tools";
pub(super) const OPEN_TAB: &str = "browser_open_tab";
pub(super) const LIST_SOURCES: &str = "webmcp_list_sources";
pub(super) const RELAY_TOOLS: &str = "webmcp_list_tools";
pub(super) const OPEN_PAGE: &str = "webmcp_open_page";

/// Names no page can take.
pub const META_TOOLS: [&str; 6] = [CALL_TOOL, LIST_TOOLS, OPEN_TAB, LIST_SOURCES, RELAY_TOOLS, OPEN_PAGE];

pub(super) fn entries() -> impl Iterator<Item = Entry> {
    let text = |text: &str| json!({ "type": "string", "description": text });
    let url = json!({ "url": text("An http: or https: address") });
    let tools = [
        (
            LIST_TOOLS,
            Shown::Together,
            "List the tabs that are shared from the browser, and the tools their pages offer",
            json!({ "tab": { "type": "integer", "description": "Only the tab with this number" }, "domain": text("Only tabs of this domain") }),
            json!([]),
            true,
        ),
        (
            CALL_TOOL,
            Shown::Together,
            "Call a tool of a page by the name that browser_list_tools gives",
            json!({ "name": text("The tool's name"), "arguments": { "type": "object", "description": "Its arguments" } }),
            json!(["name"]),
            false,
        ),
        (
            OPEN_TAB,
            Shown::Together,
            "Open an address in a new tab of the browser and list the tools its page offers",
            url.clone(),
            json!(["url"]),
            false,
        ),
        (
            LIST_SOURCES,
            Shown::Alone,
            "List the pages that are connected, the newest first",
            json!({}),
            json!([]),
            true,
        ),
        (RELAY_TOOLS, Shown::Alone, "List the tools of all pages", json!({}), json!([]), true),
        (OPEN_PAGE, Shown::Alone, "Open an address in a new tab of the browser", url, json!(["url"]), false),
    ];
    tools.into_iter().map(|(name, shown, description, properties, required, reads)| {
        let raw = json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "readOnlyHint": reads },
        });
        Entry::new(name, shown, &Raw::of(&raw))
    })
}

/// A result for both readers: structure for programs, the same as text for models.
pub(super) fn told(structure: &Value) -> Raw {
    let text = serde_json::to_string_pretty(structure).unwrap_or_default();
    Raw::of(&json!({ "content": [{ "type": "text", "text": text }], "structuredContent": structure }))
}

/// `browser_list_tools`.
pub(super) fn tabs_and_tools(table: &Table, args: &Raw) -> Value {
    let number = args.get("tab").and_then(|it| it.u64());
    let domain = args.get_text("domain");
    let tabs = table.views().into_iter().filter(|it| {
        number.is_none_or(|number| u64::from(it.slot) == number)
            && domain.as_ref().is_none_or(|domain| it.domain == *domain)
    });
    let cached = table.cached.iter().filter(|it| domain.as_ref().is_none_or(|domain| it.1.domain == *domain));
    let cached: Vec<Value> = cached
        .filter(|_| number.is_none())
        .filter_map(|((origin, tool), it)| {
            let name = table.origin_name(origin, tool)?;
            let raw = table.approved(origin, &it.tool)?;
            Some(json!({ "name": name, "domain": it.domain, "description": raw.get_text("description") }))
        })
        .collect();
    json!({ "tabs": tabs.map(|it| tab(table, &it)).collect::<Vec<_>>(), "remembered": cached })
}

pub(super) fn tab(table: &Table, view: &TabView) -> Value {
    let tools = view.tools.iter().filter(|it| !it.1.debugging).filter_map(|(name, tool)| {
        let raw = table.approved(&view.origin, tool)?;
        Some(json!({
            "name": name,
            "description": raw.get_text("description"),
            "inputSchema": raw.get("inputSchema").map(|it| it.to_value()),
        }))
    });
    json!({
        "tab": view.slot,
        "title": view.title,
        "origin": view.origin,
        "url": view.url,
        "active": view.active,
        "tools": tools.collect::<Vec<_>>(),
    })
}

/// `webmcp_list_sources`: the newest first, without those that offer nothing.
pub(super) fn sources(table: &Table) -> Value {
    let sources = table.views().into_iter().map(|it| {
        json!({
            "sourceId": it.key.to_string(),
            "tabId": it.source,
            "origin": it.origin,
            "url": it.url,
            "title": it.title,
            "toolCount": it.tools.len(),
            "lastSeenAt": it.last_updated,
        })
    });
    json!({ "sources": sources.collect::<Vec<_>>() })
}

/// `webmcp_list_tools`.
pub(super) fn relay_tools(table: &Table) -> Value {
    let tools = table.list().into_iter().filter(|it| it.shown == Shown::Alone);
    let tools = tools.filter_map(|it| {
        let page = it.page?;
        match table.held.get(&(page.origin, page.tool)) {
            None => Some(it.raw.to_value()),
            Some(held) => Some(Edit::of(held.as_ref()?).set_text("name", &it.name).done().to_value()),
        }
    });
    json!({ "tools": tools.collect::<Vec<_>>() })
}

impl Table {
    /// The definition of a tool that may be told: what was approved, where that is something else. None: nothing was.
    fn approved<'a>(&'a self, origin: &str, tool: &'a PageTool) -> Option<&'a Raw> {
        match self.held.get(&(origin.to_owned(), tool.name.clone())) {
            None => Some(&tool.raw),
            Some(held) => held.as_ref(),
        }
    }
}
