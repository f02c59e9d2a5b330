//! A plan: calls as nodes of a graph. What one gives another stands in its arguments as `{{node}}` or `{{node.path}}`,
//! and is an edge. Nothing is run here.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::Error;
use crate::bud::plain;

/// The most nodes a plan may have, and how many run at once.
pub const MOST_NODES: usize = 50;
pub const AT_ONCE: usize = 8;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields, default)]
#[ts(rename = "PlanGraph")]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
#[ts(rename = "PlanNode")]
pub struct Node {
    pub id: String,
    /// A public name, such as `mcp__weather__forecast`.
    pub tool: String,
    #[serde(default)]
    #[ts(type = "{ [key: string]: Json }")]
    pub args: Map<String, Value>,
    /// Where it is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub at: Option<(f64, f64)>,
}

/// `to` waits for `from`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
#[ts(rename = "PlanEdge")]
pub struct Edge {
    pub from: String,
    pub to: String,
}

/// How far a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    Waiting,
    Running,
    Done,
    Failed,
    Skipped,
}

/// What a node has given to those after it.
#[derive(Debug, Clone, Default)]
pub struct Given {
    pub text: String,
    pub structured: Option<Value>,
}

impl Graph {
    /// For every node, in the graph's order, the places of those it waits for. Circles and references to nothing are
    /// refused.
    pub fn order(&self) -> Result<Vec<Vec<usize>>, Error> {
        if self.nodes.len() > MOST_NODES {
            return Err(Error::Request(format!("a plan has at most {MOST_NODES} nodes")));
        }
        let mut places = HashMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            if node.id.is_empty() || node.id.contains(['{', '}', '.']) || node.id.trim() != node.id {
                return Err(Error::PlanReference(format!("`{}` cannot be the id of a node", node.id)));
            }
            if places.insert(node.id.as_str(), place).is_some() {
                return Err(Error::PlanReference(format!("two nodes are called `{}`", node.id)));
            }
        }
        let mut waits = vec![Vec::new(); self.nodes.len()];
        let mut wait = |node: usize, on: usize| {
            let list: &mut Vec<usize> = &mut waits[node];
            if !list.contains(&on) {
                list.push(on);
            }
        };
        for Edge { from, to } in &self.edges {
            let find = |id: &String| {
                let missing =
                    || Error::PlanReference(format!("an edge names `{id}`, and no node is called that"));
                places.get(id.as_str()).copied().ok_or_else(missing)
            };
            wait(find(to)?, find(from)?);
        }
        for (place, node) in self.nodes.iter().enumerate() {
            for name in references(&Value::Object(node.args.clone())) {
                let id = name.split('.').next().unwrap_or_default();
                let on = places.get(id).ok_or_else(|| {
                    let problem =
                        format!("`{}` uses `{{{{{name}}}}}`, and no node is called `{id}`", node.id);
                    Error::PlanReference(problem)
                })?;
                wait(place, *on);
            }
        }
        match circle(&waits) {
            None => Ok(waits),
            Some(circle) => {
                let names: Vec<_> = circle.iter().map(|it| format!("`{}`", self.nodes[*it].id)).collect();
                Err(Error::PlanCycle(names.join(" → ")))
            }
        }
    }
}

/// The nodes of a circle, its first one at both ends.
fn circle(waits: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        OnTheWay,
        Done,
    }
    fn visit(
        node: usize,
        waits: &[Vec<usize>],
        seen: &mut [Seen],
        way: &mut Vec<usize>,
    ) -> Option<Vec<usize>> {
        seen[node] = Seen::OnTheWay;
        way.push(node);
        for &next in &waits[node] {
            if seen[next] == Seen::OnTheWay {
                let start = way.iter().position(|it| *it == next)?;
                let mut circle: Vec<_> = way[start..].to_vec();
                circle.push(next);
                circle.reverse();
                return Some(circle);
            }
            if seen[next] == Seen::No
                && let Some(circle) = visit(next, waits, seen, way)
            {
                return Some(circle);
            }
        }
        way.pop();
        seen[node] = Seen::Done;
        None
    }
    let mut seen = vec![Seen::No; waits.len()];
    (0..waits.len()).find_map(|node| {
        if seen[node] == Seen::No { visit(node, waits, &mut seen, &mut Vec::new()) } else { None }
    })
}

/// Everything between `{{` and `}}` in the texts of a value.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => pieces(text).filter_map(Result::err).map(|it| it.trim().to_owned()).collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(members) => members.values().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// A text as plain pieces (`Ok`) and references (`Err`).
fn pieces(text: &str) -> impl Iterator<Item = Result<&str, &str>> {
    let mut rest = Some(text);
    let mut reference = None;
    std::iter::from_fn(move || {
        if let Some(reference) = reference.take() {
            return Some(Err(reference));
        }
        let text = rest.take()?;
        if let Some((before, after)) = text.split_once("{{")
            && let Some((name, tail)) = after.split_once("}}")
        {
            reference = Some(name);
            rest = Some(tail);
            return Some(Ok(before));
        }
        Some(Ok(text))
    })
}

/// Puts what other nodes gave in the place of references. One that stands alone keeps its JSON type.
#[allow(clippy::implicit_hasher, reason = "nobody brings another")]
pub fn filled(value: &Value, given: &HashMap<&str, &Given>) -> Result<Value, Error> {
    Ok(match value {
        Value::String(text) => {
            let parts: Vec<_> = pieces(text).filter(|it| *it != Ok("")).collect();
            if let [Err(alone)] = parts[..] {
                return found(alone.trim(), given);
            }
            let mut out = String::new();
            for part in parts {
                match part {
                    Ok(text) => out.push_str(text),
                    Err(name) => out.push_str(&plain(&found(name.trim(), given)?)),
                }
            }
            Value::String(out)
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|it| filled(it, given)).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let filled = members.iter().map(|(key, it)| Ok::<_, Error>((key.clone(), filled(it, given)?)));
            Value::Object(filled.collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

fn found(name: &str, given: &HashMap<&str, &Given>) -> Result<Value, Error> {
    let missing = |why: &str| Error::PlanReference(format!("`{{{{{name}}}}}` cannot be filled in: {why}"));
    let (id, path) = name.split_once('.').map_or((name, None), |it| (it.0, Some(it.1)));
    let given = given.get(id).ok_or_else(|| missing("that node has given nothing"))?;
    let Some(path) = path else { return Ok(Value::String(given.text.clone())) };
    // A server may put its JSON into the text alone.
    let structured = given.structured.clone().or_else(|| serde_json::from_str(&given.text).ok());
    let structured = structured.ok_or_else(|| missing("the result has no structure, only text"))?;
    let step = |value: Value, key: &str| match (&value, key.parse::<usize>()) {
        (Value::Array(items), Ok(place)) => items.get(place).cloned(),
        _ => value.get(key).cloned(),
    };
    let mut value = structured;
    for key in path.split('.') {
        value = step(value, key).ok_or_else(|| missing(&format!("the result has no `{key}` there")))?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
