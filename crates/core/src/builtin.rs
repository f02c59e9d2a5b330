//! The small tools of the hub itself, server `builtin`: what they are called and what they take. They stand in no list
//! of everything, so that no client pays for what it did not ask for: they are found in the registry, listed where the
//! instance is alone, given to models that name the server, and called by their names from everywhere.

mod calculator;

use serde_json::json;
use toolgrove_wire::Raw;

pub use calculator::calculate;

/// The slug of everybody's instance.
pub const SLUG: &str = "builtin";

pub const CALCULATOR: &str = "calculator";
pub const FILE_SEARCH: &str = "file_search";
pub const READ_RESULT: &str = "read_result";

/// How many passages a search gives at most, and when nothing is said.
pub const MOST_HITS: i64 = 20;
pub const USUAL_HITS: i64 = 5;

/// All of them, as a server lists its tools.
pub fn tools() -> Vec<Raw> {
    let reads = json!({ "readOnlyHint": true, "openWorldHint": false });
    let text = |it: &str| json!({ "type": "string", "description": it });
    let tools = [
        json!({
            "name": CALCULATOR,
            "title": "Calculator",
            "description": "Works out an expression: + - * / % ^, parentheses, sqrt, abs, exp, ln, log, sin, cos, tan, \
                asin, acos, atan, floor, ceil, round, min, max, pi and e",
            "inputSchema": {
                "type": "object",
                "properties": { "expression": text("For example `2 * (3 + 4)^2`") },
                "required": ["expression"],
                "additionalProperties": false,
            },
            "annotations": reads,
        }),
        json!({
            "name": FILE_SEARCH,
            "title": "File search",
            "description": "Finds passages in the files that were added to your workspaces: those that hold every word",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": text("The words to look for"),
                    "limit": { "type": "integer", "minimum": 1, "maximum": MOST_HITS, "default": USUAL_HITS },
                },
                "required": ["query"],
                "additionalProperties": false,
            },
            "annotations": reads,
        }),
        json!({
            "name": READ_RESULT,
            "title": "Read result",
            "description": "Reads on in a result that was cut because it was too long",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "id": text("The id that stands where the result was cut"),
                    "offset": {
                        "type": "integer", "minimum": 0, "default": 0,
                        "description": "How many characters to skip",
                    },
                    "length": {
                        "type": "integer", "minimum": 1,
                        "description": "How many characters to read; as many as fit when absent",
                    },
                },
                "required": ["id"],
                "additionalProperties": false,
            },
            "annotations": reads,
        }),
    ];
    tools.iter().map(Raw::of).collect()
}

/// Part of a text that was kept whole: so many characters after so many, and where to go on.
pub fn part(text: &str, offset: usize, length: usize) -> String {
    let all = text.chars().count();
    let part: String = text.chars().skip(offset).take(length).collect();
    let end = offset + part.chars().count();
    match (part.is_empty(), end < all) {
        (true, _) => format!("[there is nothing after {all} characters]"),
        (false, true) => format!("{part}\n[{end} of {all} characters; go on with offset {end}]"),
        (false, false) => part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_read_part_by_part_to_its_end() {
        let text = "grüße aus dem wald";
        assert_eq!(part(text, 0, 5), "grüße\n[5 of 18 characters; go on with offset 5]");
        assert_eq!(part(text, 5, 8), " aus dem\n[13 of 18 characters; go on with offset 13]");
        assert_eq!(part(text, 13, 8), " wald");
        assert_eq!(part(text, 18, 8), "[there is nothing after 18 characters]");
        assert_eq!(part(text, usize::MAX, 8), "[there is nothing after 18 characters]");
    }

    #[test]
    fn every_tool_has_a_schema_that_compiles() {
        for tool in tools() {
            let schema = tool.get("inputSchema").unwrap().to_value();
            assert!(crate::schema::Validator::compile(&schema).is_ok(), "{tool:?}");
        }
    }
}
