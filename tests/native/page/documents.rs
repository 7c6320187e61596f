//! The documentation agrees with the tests and files it names.

use std::path::Path;

/// Adds every Rust file of a folder to one text.
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

/// Adds the paths of all files and folders below `folder`, relative to the root.
fn paths(root: &Path, folder: &str, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if entry.path().is_dir() && !["target", ".git"].contains(&name.as_str()) {
            paths(root, &path, all);
        }
        all.push(path);
    }
}

/// Returns the folder that a path such as `crates/view/src/<view>.rs` or `crates/serve/src/lib.rs` stands for.
fn folder_of(path: &str) -> &str {
    let path = path.split('<').next().unwrap_or_default().trim_end_matches('/');
    let is_file = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    if is_file { path.rsplit_once('/').map_or("", |(folder, _)| folder) } else { path }
}

#[test]
fn every_path_of_architecture_and_contributing_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    paths(root, "", &mut all);
    let has = |path: &str| all.iter().any(|known| known == path);
    let is_from_root = |path: &str| path.split_once('/').is_some_and(|(first, _)| has(first));
    let ends = [".rs", ".md", ".js", ".css", ".py", ".html", ".toml"];
    let mut checked = 0;
    for file in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        for line in text.lines().filter(|line| !line.starts_with("```")) {
            let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            let named = line.split('`').skip(1).step_by(2).chain(links);
            let named: Vec<&str> = named
                .filter(|path| path.contains('/') || ends.iter().any(|end| path.ends_with(end)))
                // What is no path: a command, an address, data outside the repository, any name in capitals.
                .filter(|path| !path.contains([' ', ':']) && !path.starts_with(".."))
                .filter(|path| !path.contains("/SUITE/") && !path.contains("/TARGET/"))
                .collect();
            // Other paths of the line are short: they lie in these folders.
            let folders: Vec<&str> =
                named.iter().filter(|path| is_from_root(path)).map(|path| folder_of(path)).collect();
            for path in named {
                let whole = if path.contains('<') { folder_of(path) } else { path.trim_end_matches('/') };
                let is_near = |known: &&String| {
                    folders.is_empty() || folders.iter().any(|folder| known.starts_with(folder))
                };
                let ends_so = |known: &String| known.ends_with(&format!("/{whole}"));
                let of_crate = whole.split_once('/').map(|(name, rest)| format!("crates/{name}/src/{rest}"));
                let exists = has(whole)
                    || has(&format!("crates/{whole}"))
                    || has(&format!("src/{whole}"))
                    || of_crate.is_some_and(|path| has(&path))
                    || !is_from_root(path) && all.iter().filter(is_near).any(ends_so);
                assert!(exists, "{file}: there is no {path}, of: {line}");
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked} paths");
}

#[test]
fn the_start_page_before_wasm_says_what_the_start_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    // As it stands in a literal: without the breaks of lines.
    let source = read("src/shell/start.rs") + &read("src/shell/header.rs");
    let source: Vec<&str> = source.split("\\\n").map(str::trim_start).collect();
    let source = source.concat();
    let index = read("index.html");
    let (mut texts, mut buttons) = (0, 0);
    for (from, until) in [("<header ", "</header>"), ("<main ", "</main>")] {
        let part = index.split_once(from).unwrap().1.split_once(until).unwrap().0;
        // The page takes over the list of views as it stands, pictures and words.
        let part = part.split_once("<ol").map_or(part, |(before, _)| before);
        assert!(part.starts_with("class=\"") && part.split_once('>').unwrap().0.ends_with(" first\""));
        for piece in part.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').unwrap();
            // Nobody waits for them yet.
            assert!(!tag.starts_with("button") || tag.ends_with(" disabled"), "{tag}");
            buttons += usize::from(tag.starts_with("button"));
            let text = text.trim().replace("&hellip;", "\\u{2026}");
            texts += usize::from(!text.is_empty());
            assert!(source.contains(&format!("{text}\"")), "{text}");
        }
    }
    assert_eq!((texts, buttons), (1 + 2 + 2 + 5, 2 + 5));
}

/// Returns the texts of the files below a folder whose names end so, one after the other.
fn texts(folder: &str, ending: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    paths(&root.join(folder), "", &mut all);
    let read = |path: &String| std::fs::read_to_string(root.join(folder).join(path)).unwrap();
    all.iter().filter(|path| path.ends_with(ending)).map(read).collect()
}

#[test]
fn each_page_of_the_guide_has_a_picture_and_each_picture_its_use() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str| {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.collect::<Vec<String>>()
    };
    for page in files("docs/guide").iter().filter(|page| *page != "README.md") {
        let text = std::fs::read_to_string(root.join("docs/guide").join(page)).unwrap();
        let pictures: Vec<&str> =
            text.split("](../screens/").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert_eq!(pictures.len(), 1, "{page}");
        assert!(root.join("docs/screens").join(pictures[0]).is_file(), "{page}: {pictures:?}");
    }
    let documents = texts("docs", ".md") + &std::fs::read_to_string(root.join("README.md")).unwrap();
    let tests = texts("tools/e2e/src/tests", ".rs");
    for picture in files("docs/screens").iter().filter_map(|name| name.strip_suffix(".png")) {
        let name = ["-dark", "-narrow"].iter().find_map(|look| picture.strip_suffix(look)).unwrap_or(picture);
        // In whole, or as `task-{name}`.
        let is_made = tests.contains(&format!("\"{name}\""))
            || name.match_indices('-').any(|(at, _)| {
                let (before, after) = (&name[..at], &name[at + 1..]);
                tests.contains(&format!("\"{before}-{{")) && tests.contains(&format!("\"{after}\""))
            });
        assert!(
            is_made || documents.contains(&format!("{picture}.png")),
            "nothing makes or shows {picture}.png"
        );
    }
}

#[test]
fn every_benchmark_that_papers_names_is_a_row() {
    let read = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
    };
    let (papers, benchmarks) = (read("papers.md"), read("benchmarks.md"));
    // Each row below its heading.
    let (mut rows, mut heading) = (Vec::new(), "");
    for line in benchmarks.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = title;
        } else if let Some((what, _)) = line.strip_prefix("| ").and_then(|line| line.split_once(" |")) {
            rows.push((heading, what));
        }
    }
    let mut named = 0;
    let before: Vec<&str> = papers.split("](benchmarks.md)").collect();
    for text in &before[..before.len() - 1] {
        let (_, link) = text.rsplit_once('[').unwrap();
        let Some((group, what)) = link.split_once(": ") else { continue };
        named += 1;
        let is_it = |row: &&(&str, &str)| row.0.starts_with(group) && row.1.starts_with(what);
        assert!(rows.iter().any(|row| is_it(&row)), "no row of docs/benchmarks.md: {link}");
    }
    assert!(named > 25, "{named}");
}
