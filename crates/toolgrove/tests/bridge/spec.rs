//! One revision's schema, and the messages that are held against it.

use std::collections::{BTreeMap, HashMap};

use jsonschema::Validator;
use serde_json::{Value, json};
use toolgrove_fixture::MODERN;

/// The types of one revision's schema.
pub(crate) struct Spec {
    pub(crate) version: String,
    schema: Value,
    at: &'static str,
    compiled: HashMap<String, Validator>,
    /// How many messages were held against which type.
    checked: BTreeMap<String, usize>,
    pub(crate) problems: Vec<String>,
}

impl Spec {
    pub(crate) fn of(version: &str) -> Self {
        let path = format!("{}/../../spec/{version}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let at = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
        Self {
            version: version.into(),
            schema,
            at,
            compiled: HashMap::new(),
            checked: BTreeMap::new(),
            problems: Vec::new(),
        }
    }

    pub(crate) fn knows(&self, kind: &str) -> bool {
        self.schema[self.at].get(kind).is_some()
    }

    pub(crate) fn check(&mut self, kind: &str, value: &Value, what: &str) {
        assert!(self.knows(kind), "{} has no {kind}", self.version);
        let (schema, at) = (&self.schema, self.at);
        let validator = self.compiled.entry(kind.to_owned()).or_insert_with(|| {
            let mut root = schema.clone();
            root["$ref"] = format!("#/{at}/{kind}").into();
            if at == "definitions" {
                // In draft-07 nothing beside a reference counts.
                root = json!({ "$schema": schema["$schema"], "allOf": [{ "$ref": root["$ref"] }], at: schema[at] });
            }
            jsonschema::options().build(&root).unwrap()
        });
        *self.checked.entry(kind.to_owned()).or_default() += 1;
        let problems: Vec<_> =
            validator.iter_errors(value).map(|it| format!("{}: {it}", it.instance_path())).collect();
        if !problems.is_empty() {
            let mut problem = format!("{} {what}: no {kind}: {}", self.version, problems.join("; "));
            problem.truncate(problem.char_indices().nth(600).map_or(problem.len(), |it| it.0));
            self.problems.push(format!("{problem}\n   {:.400}", value.to_string()));
        }
    }

    /// Any message of the hub; `method` is what was asked.
    pub(crate) fn check_message(&mut self, method: &str, message: &Value, what: &str) {
        let first = |kinds: [&'static str; 2]| if self.knows(kinds[0]) { kinds[0] } else { kinds[1] };
        match (message.get("method"), message.get("id"), message.get("error")) {
            (Some(_), None, _) => self.check("ServerNotification", message, what),
            (Some(_), Some(_), _) => {
                self.check("JSONRPCRequest", message, what);
                self.check("ServerRequest", message, what);
            }
            (None, _, Some(_)) => {
                let kind = first(["JSONRPCErrorResponse", "JSONRPCError"]);
                self.check(kind, message, what);
            }
            (None, _, None) => {
                let kind = first(["JSONRPCResultResponse", "JSONRPCResponse"]);
                self.check(kind, message, what);
                self.check_result(method, &message["result"], what);
            }
        }
    }

    pub(crate) fn check_result(&mut self, method: &str, result: &Value, what: &str) {
        let kind = match method {
            _ if result["resultType"] == "input_required" => "InputRequiredResult",
            _ if result["resultType"] == "task" => return self.check_task(result, what),
            "tasks/get" => return self.check_task(result, what),
            "initialize" => "InitializeResult",
            "server/discover" => "DiscoverResult",
            "tools/list" => "ListToolsResult",
            "tools/call" => "CallToolResult",
            "prompts/list" => "ListPromptsResult",
            "prompts/get" => "GetPromptResult",
            "resources/list" => "ListResourcesResult",
            "resources/templates/list" => "ListResourceTemplatesResult",
            "resources/read" => "ReadResourceResult",
            "completion/complete" => "CompleteResult",
            "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "tasks/update"
            | "tasks/cancel" => "EmptyResult",
            other => panic!("{what}: what is the result of {other}?"),
        };
        self.check(kind, result, what);
        if self.version == MODERN {
            assert!(result["resultType"].is_string(), "{what}: {result}");
        }
    }

    /// Tasks are an extension, whose shapes stand in no schema of the specification.
    fn check_task(&mut self, result: &Value, what: &str) {
        self.check("Result", result, what);
        let statuses = ["working", "input_required", "completed", "failed", "cancelled"];
        let is_task = result["taskId"].is_string()
            && statuses.iter().any(|it| result["status"] == *it)
            && result["createdAt"].is_string()
            && result["lastUpdatedAt"].is_string()
            && (result["ttlMs"].is_u64() || result["ttlMs"].is_null());
        if !is_task {
            self.problems.push(format!("{what}: no task: {result}"));
        }
        *self.checked.entry("a task".to_owned()).or_default() += 1;
        if let Some(done) = result.get("result") {
            self.check("CallToolResult", done, what);
        }
        for request in result["inputRequests"].as_object().into_iter().flat_map(|it| it.values()) {
            self.check("InputRequest", request, what);
        }
    }

    #[track_caller]
    pub(crate) fn done(self, wanted: &[&str], at_least: usize) {
        assert!(self.problems.is_empty(), "{} problems:\n{}", self.problems.len(), self.problems.join("\n"));
        for kind in wanted {
            assert!(self.checked.contains_key(*kind), "no {kind} was seen: {:?}", self.checked);
        }
        let all: usize = self.checked.values().sum();
        assert!(all >= at_least, "only {all}: {:?}", self.checked);
    }
}
