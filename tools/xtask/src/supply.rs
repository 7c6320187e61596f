//! The packages of the project: `cargo xtask sbom` writes it down (CycloneDX, JSON), and lints hold it to `deny.toml` and to
//! `docs/dependencies.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::args::Arguments;
use crate::{Outcome, sh};

pub const USAGE: &str = "[FILE]  write what program and page are made of (CycloneDX JSON)";

pub fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, &[], &[])?;
    let text = format!("{:#}\n", bill_of_materials()?);
    match arguments.rest.as_slice() {
        [] => print!("{text}"),
        [file] => sh::on(file.as_ref(), std::fs::write(file, text))?,
        _ => return Err("one file at most".to_owned()),
    }
    Ok(())
}

/// Returns what cargo knows of all packages.
pub fn metadata(manifest: &str, more: &[&str]) -> Outcome<Value> {
    let mut cargo = sh::cargo();
    cargo.args(["metadata", "--format-version", "1", "--manifest-path", manifest]).args(more);
    let text = sh::output(&mut cargo).ok_or("cargo metadata fails")?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// Returns by name and version the SHA-256 of each package as the registry has it.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let mut sums = BTreeMap::new();
    for block in lock.split("[[package]]") {
        let get = |key: &str| {
            block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        if let (Some(name), Some(version), Some(sum)) = (get("name"), get("version"), get("checksum")) {
            sums.insert((name, version), sum);
        }
    }
    sums
}

/// What a package needs, and what that needs.
struct Built<'a> {
    /// Every package by its id.
    packages: BTreeMap<&'a str, &'a Value>,
    /// By id: what it is built with, but not what it is only tested with.
    uses: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// The id of package pathlight.
    root: &'a str,
    /// Ids of all that is built into it or runs while it is built.
    reached: BTreeSet<&'a str>,
}

fn reach(metadata: &Value) -> Outcome<Built<'_>> {
    let packages: BTreeMap<&str, &Value> =
        list(metadata, "packages").iter().map(|package| (text(package, "id"), package)).collect();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for node in list(&metadata["resolve"], "nodes") {
        let is_built_in = |dependency: &&Value| {
            list(dependency, "dep_kinds").iter().any(|kind| kind["kind"].is_null() || kind["kind"] == "build")
        };
        let of = list(node, "deps").iter().filter(is_built_in).map(|dependency| text(dependency, "pkg"));
        uses.insert(text(node, "id"), of.collect());
    }
    let root =
        *packages.iter().find(|(_, of)| text(of, "name") == "pathlight").ok_or("no package pathlight")?.0;
    let (mut reached, mut next) = (BTreeSet::new(), vec![root]);
    while let Some(id) = next.pop() {
        if reached.insert(id) {
            next.extend(uses.get(id).into_iter().flatten());
        }
    }
    Ok(Built { packages, uses, root, reached })
}

/// Returns the packages that are built into package pathlight or run while it is built, itself too, by name and
/// version.
pub fn built_in(metadata: &Value) -> Outcome<Vec<&Value>> {
    let Built { packages, reached, .. } = reach(metadata)?;
    let mut found: Vec<&Value> = reached.iter().filter_map(|id| packages.get(id).copied()).collect();
    found.sort_by_key(|package| (text(package, "name"), text(package, "version")));
    Ok(found)
}

/// Returns the bill of materials of program and page: every crate that is built into one of them or runs while it is
/// built, on any system. The same lock file gives the same bytes.
fn bill_of_materials() -> Outcome<Value> {
    let metadata = metadata("Cargo.toml", &[])?;
    let lock = sh::root().join("Cargo.lock");
    let lock = sh::on(&lock, std::fs::read_to_string(&lock))?;
    let sums = checksums(&lock);
    let Built { packages, uses, root, reached } = reach(&metadata)?;
    let purl = |id: &str| {
        let (name, version) = packages.get(id).map_or(("", ""), |of| (text(of, "name"), text(of, "version")));
        format!("pkg:cargo/{name}@{version}")
    };
    let component = |id: &str, kind: &str| {
        let package = packages.get(id).copied().unwrap_or(&Value::Null);
        let (name, version) = (text(package, "name"), text(package, "version"));
        let mut out =
            json!({ "type": kind, "bom-ref": purl(id), "name": name, "version": version, "purl": purl(id) });
        if let Some(licence) = package["license"].as_str() {
            // A stroke between two was how crates wrote "or" once.
            out["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if let Some(sum) = sums.get(&(name, version)) {
            out["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        if let Some(repository) = package["repository"].as_str() {
            out["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
        }
        out
    };
    let mut components: Vec<Value> =
        reached.iter().filter(|id| **id != root).map(|id| component(id, "library")).collect();
    components.sort_by_key(|component| text(component, "bom-ref").to_owned());
    let mut dependencies: Vec<Value> = reached
        .iter()
        .map(|id| {
            let on: BTreeSet<String> = uses.get(id).into_iter().flatten().map(|id| purl(id)).collect();
            json!({ "ref": purl(id), "dependsOn": on })
        })
        .collect();
    dependencies.sort_by_key(|dependency| text(dependency, "ref").to_owned());
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(root, "application") },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Checks that every crate that is named in a `Cargo.toml` has its reason in `docs/dependencies.md`, and that no reason is
/// left of a crate that nobody names.
pub fn check_reasons() -> Outcome {
    let file = sh::root().join("docs/dependencies.md");
    let page = sh::on(&file, std::fs::read_to_string(&file))?;
    let mut named = BTreeSet::new();
    for manifest in ["Cargo.toml", "tools/fuzz/Cargo.toml"] {
        let metadata = metadata(manifest, &[])?;
        let members: BTreeSet<&str> =
            list(&metadata, "workspace_members").iter().filter_map(Value::as_str).collect();
        for package in list(&metadata, "packages").iter().filter(|of| members.contains(text(of, "id"))) {
            // Those of the project have a path and no source.
            let foreign = list(package, "dependencies").iter().filter(|of| of["source"].is_string());
            named.extend(foreign.map(|of| text(of, "name").to_owned()));
        }
    }
    compare_reasons(&page, &named)
}

fn compare_reasons(page: &str, named: &BTreeSet<String>) -> Outcome {
    let rows = page.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let mut reasons = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if cells.get(2).is_none_or(|reason| reason.is_empty()) {
            return Err(format!("docs/dependencies.md has a row without a reason: {row}"));
        }
        reasons.extend(cells[1].split(',').map(|name| name.trim().to_owned()));
    }
    let without: Vec<&str> = named.difference(&reasons).map(String::as_str).collect();
    let gone: Vec<&str> = reasons.difference(named).map(String::as_str).collect();
    match (without.as_slice(), gone.as_slice()) {
        ([], []) => Ok(()),
        ([], gone) => {
            Err(format!("docs/dependencies.md has reasons of crates nobody names: {}", gone.join(", ")))
        }
        (without, _) => Err(format!("docs/dependencies.md has no reason for {}", without.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_what_the_schema_of_cyclonedx_requires() {
        let bill = bill_of_materials().unwrap();
        assert_eq!((text(&bill, "bomFormat"), text(&bill, "specVersion")), ("CycloneDX", "1.5"));
        assert!(bill["version"].as_u64().is_some_and(|version| version >= 1));
        assert_eq!(text(&bill["metadata"]["component"], "name"), "pathlight");
        let components = list(&bill, "components");
        assert!(components.len() > 60, "{} components", components.len());
        let mut refs = BTreeSet::from([text(&bill["metadata"]["component"], "bom-ref")]);
        for component in components {
            assert_eq!(text(component, "type"), "library");
            assert!(!text(component, "name").is_empty() && !text(component, "version").is_empty());
            assert!(refs.insert(text(component, "bom-ref")), "{component} comes twice");
            let licence = text(&component["licenses"][0], "expression");
            assert!(!licence.is_empty() && !licence.contains('/'), "{component}");
            let is_own = text(component, "name").starts_with("pathlight-");
            let hash = text(&component["hashes"][0], "content");
            assert!(is_own || hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{component}");
        }
        for dependency in list(&bill, "dependencies") {
            let on = list(dependency, "dependsOn").iter().filter_map(Value::as_str);
            let all = on.chain([text(dependency, "ref")]);
            all.for_each(|name| assert!(refs.contains(name), "{name} is no component"));
        }
        // What is only tested with is not shipped.
        assert!(!refs.iter().any(|name| name.starts_with("pkg:cargo/proptest@")));
        assert_eq!(bill, bill_of_materials().unwrap());
    }

    #[test]
    fn every_crate_has_its_reason() {
        assert_eq!(check_reasons(), Ok(()));
        let page = "x\n| crate | reason | size |\n|---|---|---|\n| a, b | for it | |\n\n| c | no | |\n";
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(compare_reasons(page, &named(&["a", "b"])), Ok(()));
        assert!(compare_reasons(page, &named(&["a", "b", "c"])).unwrap_err().contains("no reason for c"));
        assert!(compare_reasons(page, &named(&["a"])).unwrap_err().contains("nobody names: b"));
        let empty = page.replace("for it", "");
        assert!(compare_reasons(&empty, &named(&["a", "b"])).unwrap_err().contains("without a reason"));
    }

    #[test]
    fn ci_installs_the_version_of_cargo_deny_that_is_pinned() {
        let file = sh::root().join(".github/workflows/ci.yml");
        let ci = std::fs::read_to_string(file).unwrap();
        assert!(ci.contains(&format!("cargo-deny --version {} ", crate::tools::CARGO_DENY)));
    }
}
