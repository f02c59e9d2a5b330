//! A tool's result as plain text: `{success, result | error, images?}`.

use serde::Serialize;
use serde_json::Value;

/// What a text client sees of a `CallToolResult`. Images stand beside the text, never in its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub mime_type: String,
    pub data: String,
}

impl View {
    /// The view of a call that produced no result.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { success: false, result: None, error: Some(error.into()), images: Vec::new() }
    }
}

/// The view of a `CallToolResult`: its texts joined, or its content as it is when there is no text.
pub fn view(result: &Value) -> View {
    let content = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = content.iter().filter_map(|it| part(it, "text", "text")).collect();
    let text = texts.join("\n");
    let images = content.iter().filter_map(image).collect();
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        let error = if text.is_empty() { "the tool failed without a message".to_owned() } else { text };
        return View { success: false, result: None, error: Some(error), images };
    }
    let result = match result.get("structuredContent") {
        _ if !texts.is_empty() => Value::String(text),
        Some(structured) if content.is_empty() => structured.clone(),
        _ => Value::Array(content.to_vec()),
    };
    View { success: true, result: Some(result), error: None, images }
}

fn image(part_: &Value) -> Option<Image> {
    let data = part(part_, "image", "data")?.to_owned();
    let mime_type = part_.get("mimeType").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Image { mime_type, data })
}

fn part<'a>(part: &'a Value, kind: &str, member: &str) -> Option<&'a str> {
    let of_kind = part.get("type").and_then(Value::as_str) == Some(kind);
    part.get(member).and_then(Value::as_str).filter(|_| of_kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(result: Value, expected: Value) {
        assert_eq!(serde_json::to_value(view(&result)).unwrap(), expected, "for {result}");
    }

    #[test]
    fn texts_are_joined_and_images_stand_beside_them() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": "AA=="});
        check(
            json!({"content": [{"type": "text", "text": "a"}, image, {"type": "text", "text": "b"}]}),
            json!({"success": true, "result": "a\nb", "images": [{"mimeType": "image/png", "data": "AA=="}]}),
        );
        check(
            json!({"content": [image]}),
            json!({"success": true, "result": [image], "images": [{"mimeType": "image/png", "data": "AA=="}]}),
        );
    }

    #[test]
    fn without_text_the_content_is_given_as_it_is() {
        let link = json!({"type": "resource_link", "uri": "file:///x", "extra": 1});
        check(json!({"content": [link]}), json!({"success": true, "result": [link]}));
        check(json!({}), json!({"success": true, "result": []}));
        check(json!({"structuredContent": {"n": 1}}), json!({"success": true, "result": {"n": 1}}));
        check(json!({"content": [{"type": "text", "text": ""}]}), json!({"success": true, "result": ""}));
    }

    #[test]
    fn a_tool_that_failed_has_an_error() {
        let text = json!({"type": "text", "text": "no such city"});
        check(
            json!({"isError": true, "content": [text]}),
            json!({"success": false, "error": "no such city"}),
        );
        let silent = json!({"success": false, "error": "the tool failed without a message"});
        check(json!({"isError": true}), silent);
        assert_eq!(View::failed("x").error.as_deref(), Some("x"));
    }
}
