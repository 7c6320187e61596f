//! Text of traces never becomes markup, script or an address: nothing of the page uses what would make it so.

use std::path::{Path, PathBuf};

/// What makes markup or script of text, as Rust and JavaScript spell it.
const SINKS: [&str; 21] = [
    "inner_html",
    "innerHTML",
    "set_outer_html",
    "outerHTML =",
    "insert_adjacent_html",
    "insertAdjacentHTML",
    "set_html_unsafe",
    "setHTML",
    "srcdoc",
    "document.write",
    "create_contextual_fragment",
    "createContextualFragment",
    "DomParser",
    "DOMParser",
    "parse_from_string",
    "eval(",
    "new Function(",
    "Function::new",
    "attr(\"on",
    "setAttribute(\"on",
    "javascript:",
];

/// What makes an address of text, and where that is done: of an address that was checked, a Blob, or the page's own files.
const ADDRESSES: [(&str, &[&str]); 16] = [
    ("importScripts(", &["www/boot.js", "www/worker.js"]),
    ("attr(\"href\"", &["src/shell/fetch_row.rs", "src/widgets/export.rs", "src/widgets/links.rs"]),
    (".set(\"href\"", &[]),
    ("set_attribute(\"href\"", &[]),
    ("setAttribute(\"href\"", &[]),
    ("set_href(", &[]),
    (".href = ", &["www/jaeger-plugin.js"]),
    ("attr(\"src\"", &[]),
    (".set(\"src\"", &[]),
    ("set_attribute(\"src\"", &[]),
    ("setAttribute(\"src\"", &[]),
    ("set_src(", &["src/canvas/png.rs"]),
    (
        ".src = ",
        &[
            "www/boot.js",
            "www/examples/host.js",
            "www/examples/library.js",
            "www/jaeger-plugin.js",
            "www/jaeger-ui.config.js",
        ],
    ),
    ("attr(\"action\"", &[]),
    ("attr(\"formaction\"", &[]),
    ("attr(\"style\"", &[]),
];

/// Adds every file of the page that runs to `all`.
fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "js") {
            all.push(path);
        }
    }
}

#[test]
fn nothing_makes_markup_script_or_addresses_of_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "www", "library"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 100, "{}", files.len());
    for path in files {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&path).unwrap();
        // Comments may name what is not done.
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        for sink in SINKS {
            assert!(!code.contains(sink), "{name} uses {sink}");
        }
        for (address, places) in ADDRESSES {
            assert!(!code.contains(address) || places.contains(&name.as_str()), "{name} uses {address}");
        }
    }
    // The page has no script, style or handler within its markup either.
    let page = std::fs::read_to_string(root.join("index.html")).unwrap();
    assert!(!page.contains(" onload=") && !page.contains(" onerror=") && !page.contains(" onclick="));
}
