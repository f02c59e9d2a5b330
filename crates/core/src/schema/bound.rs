//! How much work a schema can make. Servers write schemas, and a short one may ask for endless checking: a chain of
//! definitions that each use the next one twice, or a definition that uses itself twice.
//!
//! References are followed on paper, each target once. What cannot be followed on paper is refused.

use std::collections::HashMap;

use serde_json::Value;

/// Nesting, references included: what compiles and checks recursively must not run out of stack.
const DEPTH_MAX: usize = 100;
/// Parts of the schema as written, and with every reference replaced by what it names.
const PARTS_MAX: usize = 20_000;
const EXPANDED_MAX: u64 = 1_000_000;
/// Parts of the schema times parts of the arguments.
const WORK_MAX: u64 = 100_000_000;

/// The size of a schema once its references are followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    expanded: u64,
    /// References that lead back to where they are used.
    loops: u64,
}

impl Bound {
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        if measure(schema, PARTS_MAX).is_none() {
            return Err("the schema is too large to check against".into());
        }
        let old_id = schema.get("$schema").and_then(Value::as_str).is_some_and(|it| it.contains("draft-04"));
        let bound = Walk { root: schema, known: HashMap::new(), old_id }.value(schema, 1)?;
        if bound.expanded > EXPANDED_MAX {
            return Err("the schema takes too much work to check against".into());
        }
        Ok(bound)
    }

    /// Whether checking these arguments ends in good time, at worst.
    pub(super) fn allows(self, args: &Value) -> bool {
        let Some((parts, depth)) = measure(args, usize::MAX) else { return false };
        let again = if self.loops > 1 { self.loops.saturating_pow(depth) } else { 1 };
        self.expanded.saturating_mul(parts).saturating_mul(again) <= WORK_MAX
    }
}

struct Walk<'a> {
    root: &'a Value,
    /// Targets by pointer; one without a bound is being walked right now.
    known: HashMap<&'a str, Option<Bound>>,
    /// Draft-04 writes `$id` as `id`.
    old_id: bool,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &'a Value, depth: usize) -> Result<Bound, String> {
        if depth > DEPTH_MAX {
            return Err("the schema is nested too deeply to check against".into());
        }
        let mut sum = Bound { expanded: 1, loops: 0 };
        let mut add = |it: Bound| {
            sum.expanded = sum.expanded.saturating_add(it.expanded);
            sum.loops = sum.loops.saturating_add(it.loops);
        };
        match value {
            Value::Array(items) => {
                for item in items {
                    add(self.value(item, depth + 1)?);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    add(match (key.as_str(), member.as_str()) {
                        ("$ref", Some(target)) => self.target(target, depth + 1)?,
                        ("$dynamicRef" | "$recursiveRef", Some(_)) => return Err(not_followed(key)),
                        ("$id", Some(_)) if depth > 1 => return Err(not_followed(key)),
                        ("id", Some(_)) if depth > 1 && self.old_id => return Err(not_followed(key)),
                        _ => self.value(member, depth + 1)?,
                    });
                }
            }
            _ => {}
        }
        Ok(sum)
    }

    fn target(&mut self, reference: &'a str, depth: usize) -> Result<Bound, String> {
        let pointer = reference.strip_prefix('#').filter(|it| it.is_empty() || it.starts_with('/'));
        // An escaped pointer is rare, and reading it as the compiler does is not worth the code.
        let pointer = pointer.filter(|it| !it.contains('%')).ok_or_else(|| not_followed(reference))?;
        match self.known.get(pointer) {
            Some(Some(bound)) => return Ok(*bound),
            Some(None) => return Ok(Bound { expanded: 1, loops: 1 }),
            None => {}
        }
        let target = self.root.pointer(pointer).ok_or_else(|| not_followed(reference))?;
        self.known.insert(pointer, None);
        let bound = self.value(target, depth)?;
        self.known.insert(pointer, Some(bound));
        Ok(bound)
    }
}

fn not_followed(reference: &str) -> String {
    format!("the schema refers to `{reference}`, which is not followed")
}

/// Parts and nesting of a JSON value, unless it has too many parts.
fn measure(value: &Value, parts_max: usize) -> Option<(u64, u32)> {
    let (mut parts, mut deepest) = (0_usize, 0);
    let mut waiting = vec![(value, 0)];
    while let Some((value, depth)) = waiting.pop() {
        parts += 1;
        deepest = deepest.max(depth);
        if parts > parts_max {
            return None;
        }
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|it| (it, depth + 1))),
            Value::Object(members) => waiting.extend(members.values().map(|it| (it, depth + 1))),
            _ => {}
        }
    }
    Some((parts as u64, deepest))
}
