//! The structure of the code, as the lints hold it: which crate may use which, and no circles of files that import each
//! other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::files::{self, Files};
use crate::{Outcome, sh};

/// Each crate with the crates that it may use, lowest first.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("trace", &["base"]),
    ("ingest", &["base", "trace"]),
    ("engine", &["base", "trace", "ingest"]),
    ("backend", &["base", "trace", "engine"]),
    ("view", &["base", "trace", "ingest", "engine", "backend"]),
    ("generate", &["base", "trace"]),
    ("serve", &[]),
    ("wire", &["base"]),
    ("mcp", &["base", "trace", "ingest", "engine", "view", "serve"]),
    ("cli", &["base", "trace", "ingest", "engine", "backend", "view", "generate", "serve", "mcp"]),
];

/// Most files of a circle.
const CIRCLE: usize = 3;
/// Where larger circles are left, and how large they are: a number here may only become less.
const LARGER: &[(&str, usize)] = &[("crates/trace/src", 4)];

/// Checks layers and circles; the error names each mistake.
pub fn check() -> Outcome {
    let mut mistakes = Vec::new();
    for (name, may_use) in LAYERS {
        let manifest = sh::root().join(format!("crates/{name}/Cargo.toml"));
        let text = sh::on(&manifest, std::fs::read_to_string(&manifest))?;
        let wrong = uses(&text).into_iter().filter(|used| !may_use.contains(&used.as_str()));
        mistakes.extend(wrong.map(|used| format!("crate {name} uses crate {used}, which is not below it")));
    }
    let crates = LAYERS.iter().map(|(name, _)| format!("crates/{name}/src"));
    for root in crates.chain(["src", "worker/src", "library/src"].map(str::to_owned)) {
        let sources = read(&sh::root().join(&root))?;
        let most = LARGER.iter().find(|(of, _)| *of == root).map_or(CIRCLE, |(_, most)| *most);
        for circle in circles(&imports(&sources)).into_iter().filter(|circle| circle.len() > most) {
            let names = circle.join(", ");
            mistakes.push(format!("{} files of {root} import each other, {most} may: {names}", circle.len()));
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ")) }
}

/// Returns the crates of this project that a manifest names outside its tests.
fn uses(manifest: &str) -> BTreeSet<String> {
    let mut is_of_tests = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_of_tests = line.contains("dev-dependencies");
        }
        let name = line.strip_prefix("pathlight-").and_then(|rest| rest.split(['.', ' ', '=']).next());
        found.extend(name.filter(|_| !is_of_tests).map(str::to_owned));
    }
    found
}

/// Source texts by module, such as `run::plan`.
type Sources = BTreeMap<String, String>;

fn read(root: &Path) -> Outcome<Sources> {
    let mut sources = Sources::new();
    let mut files = Files::new();
    files::read_folder(root, "", &mut files)?;
    for (path, bytes) in files {
        let Some(path) = path.strip_suffix(".rs") else { continue };
        let mut parts: Vec<&str> = path.split('/').skip(1).collect();
        parts.pop_if(|last| matches!(*last, "mod" | "lib"));
        let is_test = parts.iter().any(|part| part.ends_with("tests"));
        if !is_test && parts != ["main"] {
            sources.insert(parts.join("::"), String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(sources)
}

/// Returns which modules each module imports.
fn imports(sources: &Sources) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all = BTreeMap::new();
    for (module, text) in sources {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.split("#[cfg(all(test").next().unwrap_or_default();
        let code: String =
            code.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
        let mut paths = Vec::new();
        for at in ["crate::", "super::"].iter().flat_map(|word| code.match_indices(word)).map(|(at, _)| at) {
            let is_whole =
                !code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$'));
            if is_whole {
                expand(&code[at..], &[], &mut paths);
            }
        }
        let known = paths.iter().filter_map(|path| {
            let mut absolute: Vec<&str> =
                if path[0] == "crate" { vec![] } else { module.split("::").collect() };
            for part in path {
                match part.as_str() {
                    "crate" => {}
                    "super" => drop(absolute.pop()),
                    name => absolute.push(name),
                }
            }
            // What follows the module is an item in it.
            (0..=absolute.len()).rev().find_map(|until| sources.get_key_value(&absolute[..until].join("::")))
        });
        let known = known.map(|(name, _)| name.as_str()).filter(|name| name != module).collect();
        all.insert(module.as_str(), known);
    }
    all
}

/// Reads a path such as `crate::a::{b, c::d}` at the beginning of a text, as all the paths that it stands for.
fn expand(text: &str, before: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(inside) = rest.strip_prefix('{') {
            let (mut depth, mut from) = (0, 0);
            for (at, c) in inside.char_indices() {
                match c {
                    '{' => depth += 1,
                    ',' if depth == 0 => {
                        expand(&inside[from..at], &path, paths);
                        from = at + 1;
                    }
                    '}' if depth == 0 => return expand(&inside[from..at], &path, paths),
                    '}' => depth -= 1,
                    _ => {}
                }
            }
            return;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end > 0 && &rest[..end] != "self" {
            path.push(rest[..end].to_owned());
        }
        match rest[end..].strip_prefix("::") {
            Some(more) => rest = more.trim_start(),
            None => break,
        }
    }
    if !path.is_empty() {
        paths.push(path);
    }
}

/// Returns the groups of modules of which each reaches every other.
fn circles(imports: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Vec<String>> {
    let reached_from = |module: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![module.to_owned()]);
        while let Some(module) = open.pop() {
            for next in imports.get(module.as_str()).into_iter().flatten() {
                if seen.insert((*next).to_owned()) {
                    open.push((*next).to_owned());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<String>> =
        imports.keys().map(|module| (*module, reached_from(module))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, reaches) in &reached {
        let circle: Vec<String> =
            reaches.iter().filter(|other| reached[other.as_str()].contains(*module)).cloned().collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources = sources.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        circles(&imports(&sources))
    }

    #[test]
    fn the_project_keeps_its_layers() {
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let plan = ("run::plan", "use super::{workers::Workers, session};\n");
        let workers = ("run::workers", "fn f() { crate::run::cuts::keep() }\n");
        let session = ("run::session", "// use super::plan;\n#[cfg(test)]\nmod tests { use super::plan; }\n");
        let cuts = |text| found(&[plan, workers, session, ("run", "mod plan;"), ("run::cuts", text)]);
        assert_eq!(cuts("use std::fmt;"), Vec::<Vec<String>>::new());
        assert_eq!(
            cuts("use crate::run::{\n    plan::{self, Plan},\n};"),
            [["run::cuts", "run::plan", "run::workers"]]
        );
    }

    #[test]
    fn a_manifest_names_the_crates_that_it_uses() {
        let manifest = "[dependencies]\npathlight-base.workspace = true\nserde = \"1\"\n[dev-dependencies]\npathlight-view = {}\n";
        assert_eq!(uses(manifest), BTreeSet::from(["base".to_owned()]));
    }
}
