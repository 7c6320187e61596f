//! The packages that the design of the project fixes are named by the workspace and used by the code that the page and its
//! workers are made of.

use std::path::Path;

/// The packages of the design.
const PACKAGES: [&str; 9] = [
    "wasm-bindgen",
    "web-sys",
    "js-sys",
    "serde",
    "serde-wasm-bindgen",
    "serde_json",
    "wasm-bindgen-futures",
    "plotters",
    "plotters-canvas",
];

/// Appends the text of every source file below a folder, without comments.
fn read_sources(folder: &Path, out: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            out.extend(text.lines().filter(|line| !line.trim_start().starts_with("//")));
        }
    }
}

#[test]
fn each_package_of_the_design_is_named_and_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, named) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let (named, _) = named.split_once("\n[").unwrap();
    let mut sources = String::new();
    ["src", "worker/src", "crates"].iter().for_each(|folder| read_sources(&root.join(folder), &mut sources));
    for package in PACKAGES {
        let is_named = named.lines().any(|line| line.starts_with(&format!("{package} = ")));
        assert!(is_named, "Cargo.toml does not name {package}");
        let path = package.replace('-', "_") + "::";
        let is_used = sources.match_indices(&path).any(|(at, _)| {
            // `plotters::` and not the end of another name.
            !sources[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
        });
        assert!(is_used, "nothing of {package} is used");
    }
}
