//! What the documentation says of tests is so.

use std::path::Path;

/// Every Rust file of a folder, as one text.
fn code(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            code(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            *all += &std::fs::read_to_string(&path).unwrap();
        }
    }
}

#[test]
fn every_row_of_reliability_names_a_test_that_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = String::new();
    for folder in ["crates", "src", "tests", "tools"] {
        code(&root.join(folder), &mut all);
    }
    let table = std::fs::read_to_string(root.join("docs/reliability.md")).unwrap();
    let mut rows = 0;
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let last = line.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        if last == "test" || line.starts_with("|---") {
            continue;
        }
        rows += 1;
        let names: Vec<&str> =
            last.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect();
        assert!(!names.is_empty() || last.contains("`cargo xtask test lint`"), "no test: {line}");
        for name in names {
            let name = name.rsplit("::").next().unwrap();
            let function = match name.strip_suffix('\u{2026}') {
                Some(begin) => format!("fn {begin}"),
                None => format!("fn {name}("),
            };
            assert!(all.contains(&function), "there is no {function}, of {line}");
        }
    }
    assert!(rows > 50, "{rows} rows");
}
