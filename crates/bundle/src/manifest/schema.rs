//! The two formats that authors write by hand, as JSON Schema: for editors, and for whoever makes bundles by program.
//! What a schema cannot say (files that exist, paths that stay inside) the readers check.

use serde_json::{Value, json};

use super::collection::{DESCRIPTION_MAX, ITEMS_MAX, KINDS, NAME_MAX};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
const FOLDER: &str = "^[A-Za-z0-9_+-][A-Za-z0-9._+-]*$";

/// `deployment-manifest.yml`
pub fn manifest() -> Value {
    json!({
        "$schema": DRAFT,
        "title": "deployment-manifest.yml",
        "type": "object",
        "required": ["id", "version", "name"],
        "properties": {
            "id": { "type": "string", "pattern": FOLDER, "maxLength": 200 },
            "version": { "type": "string", "pattern": FOLDER, "maxLength": 200 },
            "name": { "type": "string", "minLength": 1, "maxLength": NAME_MAX },
            "description": { "type": ["string", "null"] },
            "author": { "type": ["string", "object", "null"] },
            "prompts": { "type": ["array", "null"] },
            "mcpServers": servers(),
        },
        "$defs": definitions(),
    })
}

/// `*.collection.yml`
pub fn collection() -> Value {
    json!({
        "$schema": DRAFT,
        "title": "*.collection.yml",
        "type": "object",
        "required": ["id", "name", "description", "items"],
        "additionalProperties": false,
        "properties": {
            "id": { "type": "string", "pattern": "^[a-z0-9-]+$", "maxLength": NAME_MAX },
            "name": { "type": "string", "minLength": 1, "maxLength": NAME_MAX },
            "description": { "type": "string", "minLength": 1, "maxLength": DESCRIPTION_MAX },
            "version": { "type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$" },
            "author": { "type": "string" },
            "tags": { "type": "array" },
            "display": {},
            "items": { "type": "array", "maxItems": ITEMS_MAX, "items": { "$ref": "#/$defs/item" } },
            "mcp": {
                "type": "object", "additionalProperties": false, "properties": { "items": servers() },
            },
            "mcpServers": servers(),
        },
        "$defs": definitions(),
    })
}

fn servers() -> Value {
    json!({
        "type": ["object", "null"],
        "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
        "additionalProperties": { "$ref": "#/$defs/server" },
    })
}

fn definitions() -> Value {
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    json!({
        "server": { "type": "object", "anyOf": [{ "$ref": "#/$defs/stdio" }, { "$ref": "#/$defs/remote" }] },
        "stdio": {
            "required": ["command"],
            "not": { "required": ["url"] },
            "properties": {
                "type": { "const": "stdio" },
                "command": { "type": "string", "minLength": 1 },
                "args": { "type": "array", "items": { "type": "string" } },
                "env": texts,
                "envFile": { "type": "string" },
                "disabled": { "type": "boolean" },
                "description": { "type": "string" },
            },
        },
        "remote": {
            "required": ["type", "url"],
            "properties": {
                "type": { "enum": ["http", "sse"] },
                "url": { "type": "string", "pattern": "^(https?|unix|pipe):" },
                "headers": texts,
                "disabled": { "type": "boolean" },
                "description": { "type": "string" },
            },
        },
        "item": {
            "type": "object",
            "required": ["path", "kind"],
            "additionalProperties": false,
            "properties": {
                "path": { "type": "string", "minLength": 1 },
                "kind": { "enum": KINDS },
                "title": { "type": "string" },
                "description": { "type": "string" },
                "tags": { "type": "array" },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use toolgrove_core::schema::Validator;

    use super::*;
    use crate::manifest::{Manifest, yaml_value};

    fn agree(schema: &Value, text: &str, read: fn(&str) -> crate::error::Result<Manifest>) {
        let value = yaml_value(text).unwrap();
        let schema = Validator::compile(schema).unwrap().check(&value).map_err(|it| it.clone());
        let read = read(text).map(drop).map_err(|it| it.to_string());
        assert_eq!(schema.is_ok(), read.is_ok(), "{text}\nschema: {schema:?}\nreader: {read:?}");
    }

    #[test]
    fn schema_and_reader_agree_on_collections() {
        let good = "id: a-1\nname: A\ndescription: d\nitems: []\n";
        for text in [
            good,
            &format!("{good}version: 1.0.0\nauthor: me\nmcpServers:\n  a: {{command: x}}\n"),
            &format!("{good}mcp:\n  items:\n    a: {{type: http, url: 'https://x/mcp'}}\n"),
            &format!("{good}mcpServers:\n  a: {{url: 'https://x/mcp'}}\n"),
            &format!("{good}mcpServers:\n  'a b': {{command: x}}\n"),
            &format!("{good}mcpServers:\n  a: {{command: x, url: y}}\n"),
            &format!("{good}mcpServers:\n  a: {{command: x, disabled: 'no'}}\n"),
            &format!("{good}mcp: {{other: 1}}\n"),
            &format!("{good}version: 1.0\n"),
            &format!("{good}version: 1.0.x\n"),
            &format!("{good}more: 1\n"),
            "id: A\nname: A\ndescription: d\nitems: []\n",
            "id: a\nname: ''\ndescription: d\nitems: []\n",
            "id: a\nname: A\ndescription: d\n",
            "id: a\nname: A\ndescription: d\nitems: [{path: x, kind: prompt}]\n",
            "id: a\nname: A\ndescription: d\nitems: [{path: x, kind: poem}]\n",
            "id: a\nname: A\ndescription: d\nitems: [{path: x, kind: agent, size: 1}]\n",
        ] {
            agree(&collection(), text, Manifest::from_collection);
        }
        let long = format!("id: a\nname: {}\ndescription: d\nitems: []\n", "x".repeat(NAME_MAX + 1));
        agree(&collection(), &long, Manifest::from_collection);
    }

    #[test]
    fn schema_and_reader_agree_on_manifests() {
        for text in [
            "id: a\nversion: 1.0.0\nname: A\n",
            "id: a\nversion: 1.0.0\nname: A\nanything: 1\nmcpServers:\n  a: {command: x}\n",
            "id: a\nversion: 1.0.0\n",
            "id: ../a\nversion: 1.0.0\nname: A\n",
            "id: a\nversion: 1/0\nname: A\n",
            "id: a\nversion: 1.0.0\nname: A\nmcpServers: []\n",
            "id: .a\nversion: 1.0.0\nname: A\n",
        ] {
            agree(&manifest(), text, Manifest::from_deployment);
        }
    }
}
