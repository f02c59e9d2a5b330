//! Resource addresses on the aggregate endpoint: a prefix names the instance, so that expanded templates still route.
//!
//! `toolgrove://<slug>/<original>`, except that `ui://x` becomes `ui://<slug>+x`, which clients know by its scheme.

use std::sync::LazyLock;

use memchr::memmem;
use toolgrove_wire::{Edit, Raw};

use crate::Error;

const SCHEME: &str = "toolgrove://";
const UI: &str = "ui://";

pub fn wrap(slug: &str, uri: &str) -> String {
    match uri.strip_prefix(UI) {
        Some(rest) => format!("{UI}{slug}+{rest}"),
        None => format!("{SCHEME}{slug}/{uri}"),
    }
}

/// The slug and the server's own address.
pub fn unwrap(uri: &str) -> Option<(&str, String)> {
    if let Some(rest) = uri.strip_prefix(SCHEME) {
        return rest.split_once('/').map(|(slug, original)| (slug, original.to_owned()));
    }
    let (slug, rest) = uri.strip_prefix(UI)?.split_once('+')?;
    Some((slug, format!("{UI}{rest}")))
}

/// A list entry with its address wrapped.
pub fn wrap_entry(slug: &str, entry: &Raw, member: &str) -> Raw {
    match entry.get_text(member) {
        Some(uri) => Edit::of(entry).set_text(member, &wrap(slug, &uri)).done(),
        None => entry.clone(),
    }
}

/// A tool whose page, if it has one, is named by its wrapped address, in the nested and in the flat form.
pub fn wrap_tool(slug: &str, tool: &Raw) -> Raw {
    if memmem::find(tool.bytes(), b"esourceUri\"").is_none() {
        return tool.clone();
    }
    let Some(meta) = tool.get("_meta").filter(Raw::is_object) else { return tool.clone() };
    let mut edit = Edit::of(&meta);
    if let Some(page) = meta.get("ui").filter(Raw::is_object) {
        edit = edit.set("ui", wrap_entry(slug, &page, "resourceUri"));
    }
    if let Some(page) = meta.get_text("ui/resourceUri") {
        edit = edit.set_text("ui/resourceUri", &wrap(slug, &page));
    }
    Edit::of(tool).set("_meta", edit.done()).done()
}

/// A result whose addresses are wrapped: content of a tool, messages of a prompt, contents of a resource.
pub fn wrap_result(slug: &str, result: &Raw) -> Raw {
    static ADDRESS: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\"uri\""));
    if !result.mentions(&ADDRESS) {
        return result.clone();
    }
    let mut edit = Edit::of(result);
    for key in ["content", "contents", "messages"] {
        if let Some(items) = result.get(key).filter(Raw::is_array) {
            let items: Vec<Raw> = items.items().map(|it| wrap_item(slug, &it)).collect();
            edit = edit.set(key, Raw::array(&items));
        }
    }
    // A task that is done holds the result it was made for.
    if let (Some(_), Some(inner)) = (result.get("taskId"), result.get("result").filter(Raw::is_object)) {
        edit = edit.set("result", wrap_result(slug, &inner));
    }
    edit.done()
}

/// What a server said of an address, under the address the caller knows.
pub fn wrap_error(slug: &str, error: Error) -> Error {
    match error {
        Error::Server { code, message, data: Some(data) } if data.is_object() => {
            Error::Server { code, message, data: Some(wrap_entry(slug, &data, "uri")) }
        }
        error => error,
    }
}

fn wrap_item(slug: &str, item: &Raw) -> Raw {
    let item = wrap_entry(slug, item, "uri");
    let mut edit = Edit::of(&item);
    for key in ["resource", "content"] {
        if let Some(inner) = item.get(key).filter(Raw::is_object) {
            edit = edit.set(key, wrap_item(slug, &inner));
        }
    }
    edit.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_as_it_was() {
        for uri in
            ["test://static-text", "file:///a/b c", "ui://app/main", "http://x/y?z#q", "", "toolgrove://a/b"]
        {
            let wrapped = wrap("my-slug", uri);
            assert_eq!(unwrap(&wrapped), Some(("my-slug", uri.to_owned())), "{wrapped}");
        }
        assert_eq!(unwrap("test://x"), None);
    }

    #[test]
    fn the_page_of_a_tool_is_wrapped() {
        let tool =
            r#"{"name":"t","_meta":{"ui":{"resourceUri":"ui://a/b"},"ui/resourceUri":"ui://a/b","k":1}}"#;
        assert_eq!(
            wrap_tool("s", &Raw::parse(tool).expect("valid")).as_str(),
            r#"{"name":"t","_meta":{"ui":{"resourceUri":"ui://s+a/b"},"ui/resourceUri":"ui://s+a/b","k":1}}"#
        );
    }

    #[test]
    fn addresses_inside_results_are_wrapped_and_nothing_else_changes() {
        let result = Raw::parse(
            r#"{"content":[{"type":"text","text":"uri"},{"type":"resource_link","uri":"a://b","x":1e400},{"type":"resource","resource":{"uri":"c://d","text":""}}],"n":12345678901234567890}"#,
        )
        .expect("valid");
        assert_eq!(
            wrap_result("s", &result).as_str(),
            r#"{"content":[{"type":"text","text":"uri"},{"type":"resource_link","uri":"toolgrove://s/a://b","x":1e400},{"type":"resource","resource":{"uri":"toolgrove://s/c://d","text":""}}],"n":12345678901234567890}"#
        );
    }
}
