//! Which node waits for which, and what is put in the place of a reference.

use serde_json::json;

use super::*;

fn graph(nodes: Value, edges: Value) -> Graph {
    serde_json::from_value(json!({ "nodes": nodes, "edges": edges })).unwrap()
}

fn node(id: &str, args: Value) -> Value {
    json!({ "id": id, "tool": "t", "args": args })
}

#[track_caller]
fn refused(nodes: Value, edges: Value, code: &str, text: &str) {
    let error = graph(nodes, edges).order().unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), (code, text));
}

#[test]
fn references_are_edges() {
    let nodes = json!([
        node("a", json!({})),
        node("b", json!({ "x": ["{{a}}", { "y": "{{ a.p.0 }} {{c}}" }] })),
        node("c", json!({}))
    ]);
    assert_eq!(
        graph(nodes, json!([{ "from": "a", "to": "c" }])).order().unwrap(),
        [vec![], vec![0, 2], vec![0]]
    );
}

#[test]
fn circles_and_references_to_nothing_are_refused() {
    let nodes = json!([node("a", json!({ "x": "{{b}}" })), node("b", json!({ "x": "{{a}}" }))]);
    refused(nodes, json!([]), "plan.cycle", "the plan runs in a circle: `a` → `b` → `a`");
    refused(
        json!([node("a", json!({ "x": "{{a}}" }))]),
        json!([]),
        "plan.cycle",
        "the plan runs in a circle: `a` → `a`",
    );
    let uses = json!([node("a", json!({ "x": "{{c.d}}" }))]);
    refused(uses, json!([]), "plan.reference", "`a` uses `{{c.d}}`, and no node is called `c`");
    let edge = json!([{ "from": "a", "to": "b" }]);
    refused(
        json!([node("a", json!({}))]),
        edge,
        "plan.reference",
        "an edge names `b`, and no node is called that",
    );
    refused(
        json!([node("a", json!({})), node("a", json!({}))]),
        json!([]),
        "plan.reference",
        "two nodes are called `a`",
    );
}

#[test]
fn a_plan_has_fifty_nodes_at_most() {
    let nodes = |count: usize| (0..count).map(|it| node(&it.to_string(), json!({}))).collect::<Value>();
    assert!(graph(nodes(50), json!([])).order().is_ok());
    assert!(graph(nodes(51), json!([])).order().is_err());
}

#[test]
fn a_reference_alone_keeps_its_type() {
    let a = Given { text: "hello".into(), structured: Some(json!({ "n": 3, "list": [{ "k": true }] })) };
    let b = Given { text: r#"{"n":1}"#.into(), structured: None };
    let given = HashMap::from([("a", &a), ("b", &b)]);
    let fill = |value: Value| filled(&value, &given);
    assert_eq!(fill(json!("{{a}}")).unwrap(), json!("hello"));
    assert_eq!(
        fill(json!({ "x": "{{a.n}}", "y": "n={{a.n}}", "z": "{{a.list.0.k}}" })).unwrap(),
        json!({ "x": 3, "y": "n=3", "z": true })
    );
    assert_eq!(fill(json!("{{b.n}}")).unwrap(), json!(1));
    assert_eq!(fill(json!([1, "{{open"])).unwrap(), json!([1, "{{open"]));
    assert_eq!(
        fill(json!("{{a.m}}")).unwrap_err().to_string(),
        "`{{a.m}}` cannot be filled in: the result has no `m` there"
    );
}
