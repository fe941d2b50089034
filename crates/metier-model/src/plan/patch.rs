//! A patch of a plan: the operations of RFC 6902 on the plan as JSON.
//!
//! A model names a step by its id where it cannot count, so a segment after `/steps/` that is no
//! number is an id. The operations are done one after the other on a copy, for each may move what
//! an id or an index means.

use json_patch::PatchOperation;
use metier_skill::text::{quoted, short_line};
use serde_json::{Map, Value};

use super::Plan;

/// Operations of one patch.
const MAX_OPERATIONS: usize = 200;
/// A plan is three deep. `copy` could double the depth and the size with every operation.
const MAX_DEPTH: usize = 8;
/// Values in a plan while it is patched: far more than a plan that is kept has.
const MAX_VALUES: usize = 2_000;

/// The plan after all operations, or what is wrong with the first that fails.
pub(super) fn patched(plan: &Plan, operations: &[Value]) -> Result<Plan, String> {
    if operations.len() > MAX_OPERATIONS {
        return Err(format!(
            "the patch has {} operations, at most {MAX_OPERATIONS} are done; replace the plan",
            operations.len()
        ));
    }
    let mut document = serde_json::to_value(plan).map_err(|error| error.to_string())?;
    for (i, operation) in operations.iter().enumerate() {
        one(&mut document, operation)
            .map_err(|words| format!("patch[{i}]: {words}; the patch was not applied"))?;
    }
    let plan = crate::read::plan(document, "plan");
    plan.map_err(|fault| {
        format!("the patched plan is not valid: {fault}; the patch was not applied")
    })
}

fn one(document: &mut Value, operation: &Value) -> Result<(), String> {
    let operation = plain(document, operation)?;
    let named = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
    let described = format!("{} {}", short_line(named("op"), 20), short_line(named("path"), 100));
    let operation: PatchOperation = serde_json::from_value(Value::Object(operation.clone()))
        .map_err(|error| format!("{described}: {}", short_line(&error.to_string(), 200)))?;
    json_patch::patch(document, &[operation])
        .map_err(|error| format!("{described}: {}", short_line(&error.kind.to_string(), 200)))?;
    let mut left = MAX_VALUES;
    if fits(document, MAX_DEPTH, &mut left) {
        Ok(())
    } else {
        Err(format!("{described}: the plan becomes too large"))
    }
}

/// The operation with the keys that it needs, and with indices for ids.
fn plain(document: &Value, operation: &Value) -> Result<Map<String, Value>, String> {
    let get = |key: &str| operation.get(key).filter(|value| !value.is_null());
    let op = get("op").and_then(Value::as_str).ok_or("`op` is missing")?;
    let mut plain = Map::new();
    plain.insert("op".to_owned(), op.into());
    for key in ["path", "from"] {
        if key == "from" && !matches!(op, "move" | "copy") {
            continue;
        }
        let path = get(key).and_then(Value::as_str).ok_or(format!("`{key}` is missing"))?;
        plain.insert(key.to_owned(), by_index(document, path)?.into());
    }
    if matches!(op, "add" | "replace" | "test") {
        plain.insert("value".to_owned(), operation.get("value").cloned().unwrap_or_default());
    }
    Ok(plain)
}

/// `/steps/s2/status` to `/steps/1/status`.
fn by_index(document: &Value, path: &str) -> Result<String, String> {
    let Some(rest) = path.strip_prefix("/steps/") else { return Ok(path.to_owned()) };
    let (segment, tail) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    if segment == "-" || segment.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(path.to_owned());
    }
    let id = segment.replace("~1", "/").replace("~0", "~");
    let steps = document.get("steps").and_then(Value::as_array);
    let ids: Vec<&str> =
        steps.into_iter().flatten().filter_map(|step| step["id"].as_str()).collect();
    let Some(index) = ids.iter().position(|known| *known == id) else {
        let ids = ids.join(", ");
        let ids = short_line(&ids, 300);
        return Err(format!("no step has the id {} (there are: {ids})", quoted(&id, 60)));
    };
    Ok(format!("/steps/{index}{tail}"))
}

fn fits(value: &Value, depth: usize, left: &mut usize) -> bool {
    let Some(less) = left.checked_sub(1) else { return false };
    *left = less;
    match (value, depth.checked_sub(1)) {
        (Value::Array(items), Some(depth)) => items.iter().all(|item| fits(item, depth, left)),
        (Value::Object(map), Some(depth)) => map.values().all(|value| fits(value, depth, left)),
        (Value::Array(_) | Value::Object(_), None) => false,
        _ => true,
    }
}
