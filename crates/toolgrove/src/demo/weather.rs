//! Invented weather, the same every time: tools that read, with structured answers, prompts and resources.

use serde_json::{Value, json};

use super::peer::Fault;
use super::{failed, text, word};

const SKIES: [&str; 5] = ["sunny", "cloudy", "rain", "snow", "storm"];
const CITIES: [&str; 4] = ["Berlin", "Lagos", "Lima", "Osaka"];

pub(super) fn tools() -> Vec<Value> {
    let city =
        json!({ "type": "string", "description": "Name of a city", "minLength": 1, "examples": ["Berlin"] });
    let units = json!({ "type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius" });
    let reads = |title: &str| json!({ "title": title, "readOnlyHint": true, "openWorldHint": false });
    let day = json!({ "type": "object", "required": ["day", "sky", "high", "low"], "properties": {
        "day": { "type": "integer" }, "sky": { "type": "string", "enum": SKIES },
        "high": { "type": "number" }, "low": { "type": "number" } } });
    vec![
        json!({ "name": "current", "title": "Current weather", "description": "The weather in a city right now",
            "annotations": reads("Current weather"),
            "inputSchema": { "type": "object", "properties": { "city": city, "units": units },
                "required": ["city"] },
            "outputSchema": { "type": "object", "required": ["city", "sky", "temperature"], "properties": {
                "city": { "type": "string" }, "sky": { "type": "string", "enum": SKIES },
                "temperature": { "type": "number" } } } }),
        json!({ "name": "forecast", "title": "Forecast", "description": "The next days in a city",
            "annotations": reads("Forecast"),
            "inputSchema": { "type": "object", "properties": { "city": city,
                "days": { "type": "integer", "minimum": 1, "maximum": 7, "default": 3, "description": "How many days" },
                "units": units }, "required": ["city"] },
            "outputSchema": { "type": "object", "required": ["city", "days"], "properties": {
                "city": { "type": "string" }, "days": { "type": "array", "items": day } } } }),
        json!({ "name": "alerts", "title": "Alerts", "description": "Warnings in force, for one region or for all",
            "annotations": { "title": "Alerts", "readOnlyHint": true, "openWorldHint": true },
            "inputSchema": { "type": "object", "properties": {
                "region": { "type": ["string", "null"], "description": "Leave empty for all" } } } }),
    ]
}

pub(super) fn call(tool: &str, args: &Value) -> Result<Value, Fault> {
    let city = word(args, "city");
    let both = |value: Value| json!({ "content": [{ "type": "text", "text": value.to_string() }], "structuredContent": value });
    Ok(match tool {
        "current" if city.eq_ignore_ascii_case("atlantis") => {
            failed("Atlantis has no weather station any more")
        }
        "current" => {
            let (sky, high, _) = weather(city, 0);
            both(json!({ "city": city, "sky": sky, "temperature": in_units(high, args) }))
        }
        "forecast" => {
            let days = args.get("days").and_then(Value::as_u64).unwrap_or(3).clamp(1, 7);
            let day = |day| {
                let (sky, high, low) = weather(city, day);
                json!({ "day": day, "sky": sky, "high": in_units(high, args), "low": in_units(low, args) })
            };
            both(json!({ "city": city, "days": (1..=days).map(day).collect::<Vec<_>>() }))
        }
        "alerts" => match word(args, "region") {
            "" => text("Storm over Lima until tomorrow\nFrost in Berlin tonight"),
            region => text(format!("No warnings for {region}")),
        },
        other => return Err(Fault::unknown("tool", other)),
    })
}

pub(super) fn prompts() -> Vec<Value> {
    vec![json!({ "name": "packing_list", "title": "Packing list", "description": "What to take on a trip",
        "arguments": [
            { "name": "city", "description": "Where to", "required": true },
            { "name": "days", "description": "For how long", "required": false } ] })]
}

pub(super) fn prompt(name: &str, args: &Value) -> Result<Value, Fault> {
    if name != "packing_list" {
        return Err(Fault::unknown("prompt", name));
    }
    let days = word(args, "days");
    let days = if days.is_empty() { "3" } else { days };
    let ask =
        format!("What should I pack for {days} days in {}? Look at the forecast first.", word(args, "city"));
    Ok(json!({ "description": "What to take on a trip",
        "messages": [{ "role": "user", "content": { "type": "text", "text": ask } }] }))
}

pub(super) fn resources() -> Vec<Value> {
    vec![json!({ "uri": "weather://stations", "name": "stations", "title": "Stations",
        "description": "Every station there is", "mimeType": "application/json" })]
}

pub(super) fn templates() -> Vec<Value> {
    vec![json!({ "uriTemplate": "weather://city/{name}", "name": "city", "title": "A city's weather",
        "description": "What a station reports", "mimeType": "application/json" })]
}

pub(super) fn resource(uri: &str) -> Result<Value, Fault> {
    let value = if uri == "weather://stations" {
        json!(CITIES)
    } else if let Some(city) = uri.strip_prefix("weather://city/") {
        let (sky, high, low) = weather(city, 0);
        json!({ "city": city, "sky": sky, "high": high, "low": low })
    } else {
        return Err(Fault::unknown("resource", uri));
    };
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    Ok(json!({ "contents": [{ "uri": uri, "mimeType": "application/json", "text": text }] }))
}

/// Sky, high and low in degrees Celsius, made from the name.
fn weather(city: &str, day: u64) -> (&'static str, f64, f64) {
    let seed = city.bytes().fold(day.wrapping_mul(31), |seed, it| {
        seed.wrapping_mul(31).wrapping_add(it.to_ascii_lowercase().into())
    });
    let high = (seed % 350) as f64 / 10.0;
    (SKIES[(seed / 7 % 5) as usize], high, high - 8.5)
}

fn in_units(celsius: f64, args: &Value) -> f64 {
    let degrees = if word(args, "units") == "fahrenheit" { celsius * 1.8 + 32.0 } else { celsius };
    (degrees * 10.0).round() / 10.0
}
