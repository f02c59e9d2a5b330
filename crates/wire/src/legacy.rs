//! The revisions from 2024-11-05 to 2025-11-25: sessions opened by `initialize`, translated to and from modern.

use serde_json::json;

use crate::modern::{HOP_KEYS, Implementation};
use crate::{Edit, Raw};

/// A legacy revision. They compare by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
}

impl Version {
    pub const LATEST: Self = Self::V2025_11_25;
    pub const ALL: [Self; 4] = [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }

    /// Only this revision has JSON-RPC batches.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// From 2025-06-18 on every request after `initialize` names the revision in a header.
    pub fn sends_version_header(self) -> bool {
        self >= Self::V2025_06_18
    }
}

/// The parameters of `initialize`.
pub fn initialize_params(version: &str, capabilities: &Raw, client: &Implementation) -> Raw {
    let params = Raw::of(&json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {} }));
    Edit::of(&params).set("capabilities", capabilities.clone()).set("clientInfo", client.raw()).done()
}

/// A result as a legacy client may see it: what only later peers know is taken off or put in older words.
pub fn result_for_client(result: &Raw, version: Version) -> Raw {
    let modern = ["resultType", "ttlMs", "cacheScope"];
    let (mut edit, mut changed) = (Edit::of(result), false);
    let (mut meta, mut content, mut structured) = (None, None, None);
    for member in result.members() {
        let key = member.key();
        if let Some(key) = modern.iter().find(|it| **it == key) {
            edit = edit.remove(key);
            changed = true;
        } else {
            match &*key {
                "_meta" => meta = Some(member.value()),
                "content" => content = Some(member.value()),
                "structuredContent" => structured = Some(member.value()),
                _ => {}
            }
        }
    }
    if let Some(meta) = meta.filter(|it| it.members().any(|it| HOP_KEYS.contains(&&*it.key()))) {
        let kept = HOP_KEYS.iter().fold(Edit::of(&meta), |edit, key| edit.remove(key)).done();
        edit = if kept.members().next().is_none() { edit.remove("_meta") } else { edit.set("_meta", kept) };
        changed = true;
    }
    if let Some(value) = structured.filter(|it| !it.is_object()) {
        edit = edit.remove("structuredContent");
        changed = true;
        if content.as_ref().is_none_or(|it| it.items().next().is_none()) {
            edit = edit.set("content", Raw::of(&json!([{ "type": "text", "text": value.as_str() }])));
        }
    }
    if version < Version::V2025_06_18
        && let Some(content) = content.filter(Raw::is_array)
    {
        let items: Vec<Raw> = content.items().map(|it| content_for_client(&it, version)).collect();
        edit = edit.set("content", Raw::array(&items));
        changed = true;
    }
    if changed { edit.done() } else { result.clone() }
}

/// One part of a result for a client that does not know its type yet.
fn content_for_client(part: &Raw, version: Version) -> Raw {
    match part.get_text("type").as_deref() {
        Some("resource_link") => {
            let uri = part.get_text("uri").unwrap_or_default();
            let name = part.get_text("name").filter(|it| !it.is_empty());
            let text = name.map_or_else(|| uri.clone(), |name| format!("{name}: {uri}"));
            Raw::of(&json!({ "type": "text", "text": text }))
        }
        Some("audio") if version < Version::V2025_03_26 => {
            let resource = json!({
                "uri": "audio:result",
                "mimeType": part.get_text("mimeType").unwrap_or_default(),
                "blob": part.get_text("data").unwrap_or_default(),
            });
            Raw::of(&json!({ "type": "resource", "resource": resource }))
        }
        _ => part.clone(),
    }
}

/// A tool list for a legacy client: schemas it cannot read are simplified or left out.
pub fn tools_for_client(tools: &Raw, version: Version) -> Raw {
    let mut changed = false;
    let items: Vec<Raw> = tools
        .items()
        .map(|tool| {
            let mut edit = Edit::of(&tool);
            let mut touched = false;
            if let Some(schema) = tool.get("outputSchema")
                && schema.get_text("type").as_deref() != Some("object")
            {
                edit = edit.remove("outputSchema");
                touched = true;
            }
            if let Some(schema) = tool.get("inputSchema").and_then(|it| without_boolean_properties(&it)) {
                edit = edit.set("inputSchema", schema);
                touched = true;
            }
            if version < Version::V2025_11_25 && tool.get("execution").is_some() {
                edit = edit.remove("execution");
                touched = true;
            }
            changed |= touched;
            if touched { edit.done() } else { tool.clone() }
        })
        .collect();
    if changed { Raw::array(&items) } else { tools.clone() }
}

/// `true` and `false` as a property's schema become `{}` and `{"not":{}}`; none when there are none.
fn without_boolean_properties(schema: &Raw) -> Option<Raw> {
    let properties = schema.get("properties")?;
    let replaced: Vec<(String, Raw)> = properties
        .members()
        .filter_map(|it| {
            let schema = if it.value().bool()? { json!({}) } else { json!({ "not": {} }) };
            Some((it.key().into_owned(), Raw::of(&schema)))
        })
        .collect();
    if replaced.is_empty() {
        return None;
    }
    let edit = replaced.iter().fold(Edit::of(&properties), |edit, (key, value)| edit.set(key, value.clone()));
    Some(Edit::of(schema).set("properties", edit.done()).done())
}

/// A form for a client of 2025-06-18: titled choices become `enum` with `enumNames`, and a choice of several has no
/// form there at all.
pub fn form_for_client(schema: &Raw) -> Option<Raw> {
    let Some(properties) = schema.get("properties") else { return Some(schema.clone()) };
    let mut replaced: Vec<(String, Raw)> = Vec::new();
    for member in properties.members() {
        let property = member.value();
        if property.get_text("type").as_deref() == Some("array") {
            return None;
        }
        if let Some(choices) = property.get("oneOf") {
            let values: Vec<Raw> = choices.items().filter_map(|it| it.get("const")).collect();
            let titles: Vec<Raw> = choices
                .items()
                .map(|it| it.get("title").or_else(|| it.get("const")).unwrap_or_else(Raw::empty_object))
                .collect();
            let property = Edit::of(&property)
                .remove("oneOf")
                .set("enum", Raw::array(&values))
                .set("enumNames", Raw::array(&titles))
                .done();
            replaced.push((member.key().into_owned(), property));
        }
    }
    let edit = replaced.iter().fold(Edit::of(&properties), |edit, (key, value)| edit.set(key, value.clone()));
    Some(Edit::of(schema).set("properties", edit.done()).done())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legacy_client_sees_nothing_modern() {
        let result = Raw::parse(
            r#"{"resultType":"complete","tools":[ ],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{},"k":1}}"#,
        )
        .expect("valid");
        assert_eq!(result_for_client(&result, Version::LATEST).as_str(), r#"{"tools":[ ],"_meta":{"k":1}}"#);
        let plain = Raw::parse(r#"{"tools":[ ]}"#).expect("valid");
        assert_eq!(result_for_client(&plain, Version::LATEST), plain);
    }

    #[test]
    fn older_clients_get_older_words() {
        let check = |version, before: &'static str, after: &str| {
            assert_eq!(result_for_client(&Raw::parse(before).expect("valid"), version).as_str(), after);
        };
        check(
            Version::LATEST,
            r#"{"structuredContent":[1],"content":[]}"#,
            r#"{"content":[{"type":"text","text":"[1]"}]}"#,
        );
        check(Version::LATEST, r#"{"structuredContent":{"a":1}}"#, r#"{"structuredContent":{"a":1}}"#);
        let link = r#"{"content":[{"type":"resource_link","uri":"a://b","name":"x"}]}"#;
        check(Version::V2025_06_18, link, link);
        check(Version::V2025_03_26, link, r#"{"content":[{"type":"text","text":"x: a://b"}]}"#);
        let audio = r#"{"content":[{"type":"audio","data":"QQ==","mimeType":"audio/wav"}]}"#;
        check(Version::V2025_03_26, audio, audio);
        check(
            Version::V2024_11_05,
            audio,
            r#"{"content":[{"type":"resource","resource":{"uri":"audio:result","mimeType":"audio/wav","blob":"QQ=="}}]}"#,
        );
    }

    #[test]
    fn tool_lists_are_simplified_only_where_they_must_be() {
        let list = Raw::parse(r#"[{"name":"a","x":1e400},{"name":"b","inputSchema":{"properties":{"p":true,"q":false}},"outputSchema":{"type":"array"}}]"#).expect("valid");
        assert_eq!(
            tools_for_client(&list, Version::LATEST).as_str(),
            r#"[{"name":"a","x":1e400},{"name":"b","inputSchema":{"properties":{"p":{},"q":{"not":{}}}}}]"#
        );
    }

    #[test]
    fn titled_choices_become_names_and_several_are_refused() {
        let form = Raw::parse(
            r#"{"type":"object","properties":{"c":{"type":"string","oneOf":[{"const":"r","title":"Red"}]}}}"#,
        )
        .expect("valid");
        assert_eq!(
            form_for_client(&form).expect("a form").as_str(),
            r#"{"type":"object","properties":{"c":{"type":"string","enum":["r"],"enumNames":["Red"]}}}"#
        );
        let many =
            Raw::parse(r#"{"properties":{"c":{"type":"array","items":{"enum":["a"]}}}}"#).expect("valid");
        assert!(form_for_client(&many).is_none());
    }

    #[test]
    fn revisions_compare_by_age() {
        assert!(Version::V2024_11_05 < Version::LATEST);
        assert!(Version::ALL.is_sorted());
        assert_eq!(Version::parse("2025-03-26"), Some(Version::V2025_03_26));
        assert_eq!(Version::parse("2026-07-28"), None);
    }
}
