//! The library for JavaScript: the package of `dist/npm/`, and its tests in Node, in Deno and by the compiler of TypeScript.
//!
//! The module is built together with those of the page, in one call of cargo: what all of them are made of is compiled once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{Files, read_folder};
use crate::{Outcome, about, build, sh, tools};

/// The crate.
pub const PACKAGE: &str = "pathlight-library";
/// Its folder in `dist/`.
pub const FOLDER: &str = "npm";
/// The module's script, as wasm-bindgen writes it, and the module.
pub const MODULE: (&str, &str) = ("module.js", "module_bg.wasm");

/// Returns the files of the package but for the module.
pub fn files() -> Outcome<Files> {
    let mut files = Files::new();
    read_folder(&sh::root().join("library/npm"), "", &mut files)?;
    let mut files: Files =
        files.into_iter().map(|(name, bytes)| (name.trim_start_matches('/').to_owned(), bytes)).collect();
    let manifest = files.get("package.json").map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let manifest = manifest.unwrap_or_default();
    let unset = "\"version\": \"0.0.0\"";
    if !manifest.contains(unset) {
        return Err(format!("library/npm/package.json has no {unset}, in whose place the version comes"));
    }
    let manifest = manifest.replace(unset, &format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION")));
    files.insert("package.json".to_owned(), manifest.into_bytes());
    let licence = sh::root().join("LICENSE");
    files.insert("LICENSE".to_owned(), sh::on(&licence, fs::read(&licence))?);
    files.insert("NOTICES".to_owned(), about::notices()?.into_bytes());
    Ok(files)
}

/// Packs the package and installs it into an empty project, as whoever uses it does; returns the project.
pub fn project() -> Outcome<PathBuf> {
    let folder = sh::target().join("library");
    let _ = fs::remove_dir_all(&folder);
    sh::on(&folder, fs::create_dir_all(&folder))?;
    let npm = |line: &str| {
        let mut npm = sh::command("npm");
        npm.current_dir(&folder).args(line.split(' '));
        npm
    };
    sh::run(npm("pack --silent --pack-destination .").arg(build::dist().join(FOLDER)))?;
    let packed = format!("./pathlight-{}.tgz", env!("CARGO_PKG_VERSION"));
    let manifest = folder.join("package.json");
    sh::on(&manifest, fs::write(&manifest, "{ \"private\": true, \"type\": \"module\" }\n"))?;
    // It has no dependencies, so nothing is asked of a registry.
    sh::run(npm("install --offline --no-audit --no-fund --loglevel=error").arg(packed))?;
    for name in ["library/tests/checks.mjs", "library/tests/types.ts", "www/examples/library.mjs"] {
        let from = sh::root().join(name);
        let to = folder.join(Path::new(name).file_name().unwrap_or_default());
        sh::on(&from, fs::copy(&from, to))?;
    }
    Ok(folder)
}

/// Returns the command that checks in a runtime what programs do with the package.
pub fn checks(runtime: &Path, options: &[&str], project: &Path, binary: &Path) -> Command {
    let mut command = sh::command(runtime);
    command.current_dir(project).args(options).arg("checks.mjs").arg(binary);
    command
}

/// Returns the command that checks the types as a program that uses them meets them.
///
/// # Errors
/// The compiler cannot be had.
pub fn types(project: &Path) -> Outcome<Command> {
    let mut command = sh::command(tools::typescript()?);
    command.current_dir(project);
    // Without `skipLibCheck`: the declarations themselves are checked.
    let line = "--noEmit --strict --exactOptionalPropertyTypes --target es2022 --lib es2022,esnext.disposable,dom --module nodenext";
    command.args(line.split(' ')).arg("types.ts");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_has_the_version_of_everything_and_every_script_that_is_imported() {
        let files = files().unwrap();
        let text = |name: &str| String::from_utf8_lossy(&files[name]).into_owned();
        let manifest: serde_json::Value = serde_json::from_str(&text("package.json")).unwrap();
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
        let named = |name: &str| files.contains_key(name) || [MODULE.0, MODULE.1].contains(&name);
        for (of, exported) in manifest["exports"].as_object().unwrap() {
            let exported = [&exported["types"], &exported["default"], exported];
            for name in exported.into_iter().filter_map(serde_json::Value::as_str) {
                assert!(named(name.trim_start_matches("./")), "{of}: there is no {name}");
            }
        }
        let mut imports = 0;
        for name in files.keys().filter(|name| name.ends_with(".js")) {
            for other in text(name).split("\"./").skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(named(other), "{name} names {other}, which is not there");
                imports += 1;
            }
        }
        assert!(imports > 8, "{imports}");
    }
}
