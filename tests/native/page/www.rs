//! The files in `www/` for other pages agree with the contract and with where they are put.

use pathlight::view::contract::{Code, Envelope, Outgoing};
use pathlight::view::views::View;
use std::path::{Path, PathBuf};

fn file(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Returns one of each kind.
fn outgoing() -> Vec<Outgoing> {
    let error = |code| Outgoing::Error { code, message: String::new() };
    vec![
        Outgoing::Ready,
        Outgoing::Pong,
        Outgoing::Loaded { traces: 0, spans: 0, warnings: Vec::new() },
        Outgoing::Select { trace_id: String::new(), span_id: None },
        Outgoing::Escape,
        error(Code::Version),
        error(Code::BadMessage),
        error(Code::Refused),
        error(Code::NoTraces),
    ]
}

#[test]
fn types_and_documentation_know_every_message_field_code_and_view() {
    let (types, docs) = (file("www/pathlight.d.ts"), file("docs/embedding.md"));
    for message in outgoing() {
        let json = serde_json::to_value(message.message()).unwrap();
        for (key, value) in json.as_object().unwrap() {
            assert!(types.contains(&format!("{key}: ")), "no field {key}");
            if let ("type" | "code", Some(name)) = (key.as_str(), value.as_str()) {
                assert!(
                    types.contains(&format!("\"{name}\"")) && docs.contains(&format!("`{name}`")),
                    "{name}"
                );
            }
        }
    }
    for view in View::ALL {
        assert!(types.contains(&format!("\"{}\"", view.key())), "no view {}", view.key());
    }
    for kind in ["ping", "traces", "query", "theme", "view"] {
        assert!(
            types.contains(&format!("type: \"{kind}\"")) && docs.contains(&format!("| `{kind}` |")),
            "{kind}"
        );
    }
}

#[test]
fn the_example_and_the_plugin_send_what_is_understood() {
    let sent = messages(&(file("www/examples/host.js") + &file("www/jaeger-plugin.js")));
    assert!(sent.len() >= 4, "{sent:?}");
    for kind in sent {
        let message = serde_json::json!({
            "pathlight": 1, "type": kind, "query": "", "theme": "dark", "view": "flame",
        });
        assert!(serde_json::from_value::<Envelope>(message).unwrap().read().is_ok(), "{kind}");
    }
}

/// Adds the pages below a folder to `all`.
fn pages(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, all);
        } else if path.extension().is_some_and(|end| end == "html") {
            all.push(path);
        }
    }
}

#[test]
fn every_page_that_is_shipped_begins_with_a_policy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = vec![root.join("index.html")];
    pages(&root.join("www"), &mut all);
    assert!(all.len() > 1, "{all:?}");
    for page in all {
        let (text, name) = (std::fs::read_to_string(&page).unwrap(), page.display());
        let (before, after) =
            text.split_once("<meta http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
        // It does not hold for what stands before it.
        assert!(["<script", "<link", "<style", "<body"].iter().all(|tag| !before.contains(tag)), "{name}");
        let policy = after.split('"').next().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{name}: {policy}");
        assert!(!policy.contains("'unsafe-"), "{name}: {policy}");
    }
    // What a host may send is no wider than what the page has by itself, or the page would not do what the host allows.
    let own = file("index.html");
    let own = own.split_once("content=\"default-src").unwrap().1.split('"').next().unwrap();
    let own: Vec<Vec<&str>> =
        own.split(';').map(|directive| directive.split_whitespace().collect()).collect();
    let hosts = file("docs/hosting.md");
    let hosts =
        hosts.lines().find_map(|line| line.strip_prefix("Content-Security-Policy: default-src")).unwrap();
    for directive in hosts.split(';') {
        let mut words = directive.split_whitespace();
        let name = words.next().unwrap();
        let of_page = own.iter().find(|words| words[0] == name).unwrap();
        assert!(words.all(|source| of_page.contains(&source)), "{directive}");
    }
}

/// Returns every `X` of `send({ type: "X"`.
fn messages(text: &str) -> Vec<String> {
    let pieces = text.split("send({ type: \"").skip(1);
    pieces.filter_map(|piece| piece.split('"').next()).map(str::to_owned).collect()
}

#[test]
fn jaegers_server_finds_nothing_to_replace() {
    for name in ["www/jaeger-ui.config.json", "www/jaeger-ui.config.js", "www/jaeger-plugin.js"] {
        assert!(!file(name).contains('$'), "{name} has a dollar sign");
    }
    let config: serde_json::Value = serde_json::from_str(&file("www/jaeger-ui.config.json")).unwrap();
    assert!(config["menu"][0]["url"].as_str().unwrap().contains("api=/"), "the menu entry names no Jaeger");
    let link = config["linkPatterns"][0]["url"].as_str().unwrap();
    assert!(link.contains("view=trace&traceID=#{traceID}"), "{link}");
    // Jaeger's server looks for the head of the function, and the rest is that of the other file.
    let script = file("www/jaeger-ui.config.js");
    let body = script.split_once("function UIConfig() {\n  const config = ").unwrap().1;
    let same: serde_json::Value = serde_json::from_str(body.split_once(";\n  const").unwrap().0).unwrap();
    assert_eq!(same, config);
}
