//! `cargo xtask build`: `dist/`, a folder for any static host, `dist/pathlight.html`, the same page in one file, and
//! `dist/npm/`, the library for JavaScript ([`crate::library`]).
//!
//! `index.html` names every file the page needs, by its path in the repository (`www/boot.js`) or, for what is
//! generated, as `pathlight.js` (wasm-bindgen's glue, target no-modules), `worker.js` (the worker's glue with
//! `worker/worker.js` behind it), `pathlight.wasm` and `worker.wasm` (the two modules), and each of them once more with
//! `.js` behind it (as a script, for frames that may not fetch).
//! What it names, directly or through a style sheet or script, gets a hash of its content into its name, so that a host
//! may cache it for ever; the rest of `www/` is copied under its own name. How the single file comes about is in
//! [`crate::single`], how the guide comes into the page in [`crate::guide`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::args::Arguments;
use crate::files::{Files, gzip, read_folder};
use crate::{Outcome, about, guide, html, library, sh, single, tools};

pub const USAGE: &str =
    "[--fast]  build dist/, dist/pathlight.html and the package dist/npm/; --fast leaves out wasm-opt";

pub fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, &["--fast"], &[])?;
    build(arguments.flag("--fast"), Parts::All)
}

/// What is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// The page alone: what waits for it does not wait for the library too.
    Page,
    /// The page and the library for JavaScript.
    All,
}

/// Returns the folder with the finished page.
pub fn dist() -> PathBuf {
    sh::root().join("dist")
}

/// Builds `dist/` and prints the sizes.
pub fn build(fast: bool, parts: Parts) -> Outcome {
    let mut files = Files::new();
    let package = compile(fast, parts, &mut files)?;
    read_folder(&sh::root().join("www"), "www", &mut files)?;
    let index = sh::root().join("index.html");
    if !index.is_file() {
        return Err("there is no index.html".to_owned());
    }
    let index = about::fill(&guide::fill(&sh::on(&index, fs::read_to_string(&index))?)?)?;

    let mut sizes = Vec::new();
    let page = single::page(&index, &files)?.into_bytes();
    // It keeps its name, so its hash stands behind it.
    let index = html::refer(&index, single::NAME, &format!("{}?{}", single::NAME, hash(&page)));
    let _ = fs::remove_dir_all(dist());
    for (name, bytes) in assemble(&index, &files)? {
        write(&dist().join(&name), &bytes)?;
        sizes.push((name, bytes));
    }
    write(&dist().join(single::NAME), &page)?;
    sizes.push((single::NAME.to_owned(), page));
    for (name, bytes) in package {
        let name = format!("{}/{name}", library::FOLDER);
        write(&dist().join(&name), &bytes)?;
        sizes.push((name, bytes));
    }
    println!("{:<34} {:>11} {:>11}", "dist/", "bytes", "gz");
    for (name, bytes) in &sizes {
        println!("{name:<34} {:>11} {:>11}", bytes.len(), gzip(bytes)?.len());
    }
    Ok(())
}

/// Builds the native binary, for tests. Not a release build.
pub fn native() -> Outcome<PathBuf> {
    sh::run(sh::cargo().args(["build", "--package", "pathlight", "--bin", "pathlight"]))?;
    Ok(sh::target().join("debug").join(format!("pathlight{}", std::env::consts::EXE_SUFFIX)))
}

/// The packages that are built as modules, the names of their files, and what `www/boot.js` calls them.
const MODULES: [(&str, &str, &str); 2] =
    [("pathlight", "pathlight", "wasm"), ("pathlight-worker", "worker", "worker-wasm")];

/// Builds the modules and their glue and adds those of the page to `files`, each module as it is and as a script; returns the
/// files of the library's package, if that is built too.
fn compile(fast: bool, parts: Parts, files: &mut Files) -> Outcome<Files> {
    tools::wasm_target()?;
    // On a fresh machine both take minutes, and each module ends with one long link on one core.
    let (bindgen, built) = std::thread::scope(|scope| {
        let bindgen = scope.spawn(tools::wasm_bindgen);
        let mut build = sh::cargo();
        // Only libraries: the binary of a package would collide with its module.
        build.args(["build", "--lib", "--profile", "page", "--target", tools::WASM]);
        let library = (parts == Parts::All).then_some(library::PACKAGE);
        let packages = MODULES.map(|(package, ..)| package).into_iter().chain(library);
        let built = sh::run(build.args(packages.map(|package| format!("--package={package}"))));
        (
            bindgen.join().unwrap_or_else(|_| Err("the installation of wasm-bindgen broke off".to_owned())),
            built,
        )
    });
    built?;
    let bindgen = bindgen?.join("wasm-bindgen");
    let wasm_opt = if fast { None } else { tools::wasm_opt() };
    let folder = sh::target().join("page");
    for (package, name, called) in MODULES {
        glue(&bindgen, package, ("no-modules", name))?;
        let file = folder.join(format!("{name}.js"));
        files.insert(format!("{name}.js"), anywhere(&sh::on(&file, fs::read_to_string(&file))?)?);
        let module = optimised(&folder.join(format!("{name}_bg.wasm")), wasm_opt.as_deref())?;
        let script = format!(
            "(self.pathlightModules ??= {{}})[\"{called}\"] = \"{}\";\n",
            single::base64(&gzip(&module)?)
        );
        files.insert(format!("{name}.wasm.js"), script.into_bytes());
        files.insert(format!("{name}.wasm"), module);
    }
    let script = sh::root().join("worker/worker.js");
    let script = sh::on(&script, fs::read(&script))?;
    files.entry("worker.js".to_owned()).or_default().extend(script);

    if parts == Parts::Page {
        return Ok(Files::new());
    }
    let (script, module) = library::MODULE;
    glue(&bindgen, library::PACKAGE, ("web", script.trim_end_matches(".js")))?;
    let mut package = library::files()?;
    let file = folder.join(script);
    package.insert(script.to_owned(), sh::on(&file, fs::read(&file))?);
    package.insert(module.to_owned(), optimised(&folder.join(module), wasm_opt.as_deref())?);
    Ok(package)
}

/// Writes the glue of a package's module for a target of wasm-bindgen, under a name.
fn glue(bindgen: &Path, package: &str, (target, name): (&str, &str)) -> Outcome {
    let compiled = sh::target().join(tools::WASM).join("page").join(package.replace('-', "_") + ".wasm");
    sh::run(
        sh::command(bindgen)
            .args(["--target", target, "--no-typescript", "--out-name", name, "--out-dir"])
            .arg(sh::target().join("page"))
            .arg(compiled),
    )
}

/// Returns the glue so that it also runs where the page has no address to resolve others by, as in the frame of a preview: it
/// asks for the place of its own file, of which there is none in the page in one file, and which `www/boot.js` never needs.
fn anywhere(glue: &str) -> Outcome<Vec<u8>> {
    let (asked, named) = ("document.currentScript !== null", "document.currentScript?.src");
    match glue.matches(asked).count() {
        1 => Ok(glue.replace(asked, named).into_bytes()),
        times => Err(format!("the glue asks {times} times where it is, and not once")),
    }
}

/// Returns the module of a file after wasm-opt, or as it is where that is not to be had. The compiler has optimised already:
/// wasm-opt's own levels take a minute and make what gzip leaves a tenth larger. Functions by name, like beside like, make it
/// a tenth smaller (docs/dependencies.md).
fn optimised(module: &Path, wasm_opt: Option<&Path>) -> Outcome<Vec<u8>> {
    let Some(wasm_opt) = wasm_opt else { return sh::on(module, fs::read(module)) };
    let mut wasm_opt = sh::command(wasm_opt);
    wasm_opt.args(["--remove-unused-module-elements", "--duplicate-function-elimination"]);
    wasm_opt.args(["--reorder-functions-by-name", "--strip-debug", "--strip-producers"]);
    // Each by name: `-all` emits what browsers reject.
    for feature in [
        "bulk-memory",
        "multivalue",
        "mutable-globals",
        "nontrapping-float-to-int",
        "reference-types",
        "sign-ext",
        "simd",
    ] {
        wasm_opt.arg(format!("--enable-{feature}"));
    }
    let optimised = module.with_extension("optimised.wasm");
    match sh::run(wasm_opt.arg(module).arg("-o").arg(&optimised)) {
        Ok(()) => sh::on(&optimised, fs::read(&optimised)),
        Err(error) => {
            eprintln!("{error}: the wasm stays as the compiler left it, and larger.");
            sh::on(module, fs::read(module))
        }
    }
}

/// Returns the first ten hex digits of the SHA-256: two versions of a file never meet under one name.
fn hash(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in &Sha256::digest(bytes)[..5] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    if let Some(folder) = path.parent() {
        sh::on(folder, fs::create_dir_all(folder))?;
    }
    sh::on(path, fs::write(path, bytes))
}

/// Returns whether a file may name others.
fn is_text(name: &str) -> bool {
    name.ends_with(".css") || name.ends_with(".js")
}

/// Returns the hashed name of a file: `style-1a2b3c.css` for `www/style.css`; only the last extension counts, but
/// `.json.gz` stays together.
fn hashed_name(name: &str, bytes: &[u8]) -> String {
    let file = name.rsplit('/').next().unwrap_or(name);
    let dot = file.find(".json.").or_else(|| file.rfind('.')).unwrap_or(file.len());
    format!("{}-{}{}", &file[..dot], hash(bytes), &file[dot..])
}

/// Returns the files of `dist/`: hashed names for what is referred to, and every reference following.
fn assemble(index: &str, files: &Files) -> Outcome<Files> {
    let mut used: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut texts = vec![index.to_owned()];
    while let Some(text) = texts.pop() {
        for (name, bytes) in files {
            if !used.contains_key(name.as_str()) && html::refers(&text, name) {
                used.insert(name, bytes.clone());
                if is_text(name) {
                    texts.push(String::from_utf8_lossy(bytes).into_owned());
                }
            }
        }
    }
    let mut done = Files::new();
    for (name, bytes) in files {
        if let Some(own) = name.strip_prefix("www/")
            && !used.contains_key(name.as_str())
        {
            done.insert(own.to_owned(), bytes.clone());
        }
    }
    let mut index = index.to_owned();
    while !used.is_empty() {
        // A file can be named once it names no file that is still without a name.
        let ready = used.iter().find(|(name, bytes)| {
            let text = if is_text(name) { String::from_utf8_lossy(bytes) } else { "".into() };
            used.keys().all(|other| other == *name || !html::refers(&text, other))
        });
        let Some(name) = ready.map(|(name, _)| *name) else {
            let names: Vec<&str> = used.keys().copied().collect();
            return Err(format!("these files name each other in a circle: {}", names.join(", ")));
        };
        let bytes = used.remove(name).unwrap_or_default();
        let hashed = hashed_name(name, &bytes);
        index = html::refer(&index, name, &hashed);
        for (other, bytes) in &mut used {
            if is_text(other) {
                *bytes = html::refer(&String::from_utf8_lossy(bytes), name, &hashed).into_bytes();
            }
        }
        done.insert(hashed, bytes);
    }
    done.insert("index.html".to_owned(), index.into_bytes());
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Files {
        list.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_owned())).collect()
    }

    #[test]
    fn a_change_in_a_file_renames_it_and_every_file_on_the_way_to_it() {
        let index = "<script src=\"www/boot.js\"></script>";
        let build = |worker: &str| {
            let list = [("www/boot.js", "new Worker('www/worker.js')"), ("www/worker.js", worker)];
            assemble(index, &files(&list)).unwrap()
        };
        let (one, two) = (build("1"), build("2"));
        assert_eq!(one.len(), 3);
        for name in one.keys().filter(|name| *name != "index.html") {
            assert!(!two.contains_key(name), "{name} kept its name");
        }
        let boot = one.keys().find(|name| name.starts_with("boot-")).unwrap();
        let worker = one.keys().find(|name| name.starts_with("worker-")).unwrap();
        assert!(String::from_utf8_lossy(&one["index.html"]).contains(boot));
        assert!(String::from_utf8_lossy(&one[boot]).contains(worker));
    }

    #[test]
    fn what_nothing_names_keeps_its_own_name_and_a_missing_file_its_reference() {
        let built = assemble("'traces.json.gz'", &files(&[("www/plugin.js", "x")])).unwrap();
        assert_eq!(built.keys().collect::<Vec<_>>(), ["index.html", "plugin.js"]);
        assert_eq!(built["index.html"], b"'traces.json.gz'");
    }

    #[test]
    fn files_that_name_each_other_are_an_error_not_an_endless_loop() {
        let list = [("www/a.js", "'www/b.js'"), ("www/b.js", "'www/a.js'")];
        assert!(assemble("'www/a.js'", &files(&list)).unwrap_err().contains("www/a.js, www/b.js"));
    }

    #[test]
    fn hashed_names_keep_the_extension_a_server_goes_by() {
        assert!(hashed_name("traces.json.gz", b"").ends_with(".json.gz"));
        assert!(hashed_name("www/a.min.js", b"").starts_with("a.min-"));
    }

    /// The worker takes an answer for the page by the names in it.
    #[test]
    fn the_service_worker_knows_the_page_by_what_the_build_makes_of_it() {
        let worker = include_str!("../../../www/service-worker.js");
        assert!(
            worker.contains("/(?:-|\\.html\\?)([0-9a-f]{10})(?:\\.[^/]+)?$/"),
            "the form of hashed names"
        );
        assert_eq!(hash(b"").len(), 10);
        assert!(hash(b"").starts_with("e3b0c442"), "SHA-256, as the worker computes it");
        let index = include_str!("../../../index.html");
        let ids = worker.split_once("return ['").unwrap().1.split_once("].every").unwrap().0;
        for id in ids.trim_end_matches('\'').split("', '") {
            assert!(index.contains(id), "{id}");
        }
        assert!(index.trim_end().ends_with("</html>"));
        // Every file of its own has a hash in its name, since the build knows all of them.
        for element in html::elements(index) {
            let named = element.get("href").or(element.get("src")).unwrap();
            let known = ["pathlight.", "worker."].iter().any(|start| named.starts_with(start));
            assert!(known || sh::root().join(named).is_file(), "{named}");
        }
    }

    #[test]
    fn the_service_worker_leaves_out_the_modules_as_scripts_and_nothing_else() {
        let worker = include_str!("../../../www/service-worker.js");
        let mark = worker.split_once("!address.includes(\"").unwrap().1.split_once('"').unwrap().0;
        for script in ["pathlight.wasm.js", "worker.wasm.js"] {
            assert!(hashed_name(script, b"").contains(mark), "{script}");
        }
        for kept in [
            "pathlight.wasm",
            "worker.wasm",
            "pathlight.js",
            "worker.js",
            "www/boot.js",
            "www/style.css",
            "www/icon.svg",
        ] {
            assert!(!hashed_name(kept, b"").contains(mark), "{kept}");
        }
    }
}
