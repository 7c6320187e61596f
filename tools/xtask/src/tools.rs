//! The tools a build needs and how they come onto a fresh machine. None of them is installed outside `target/tools`
//! but the compiler's wasm target and, for tests, Chromium and Firefox.

use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, sh};

/// The wasm target of everything here.
pub const WASM: &str = "wasm32-unknown-unknown";

/// The version of cargo-deny that `deny.toml` is written for; it is used where it is installed.
pub const CARGO_DENY: &str = "0.20.2";

/// Returns the program cargo-deny, in `target/tools` or on the path, where it is installed.
pub fn cargo_deny() -> Option<PathBuf> {
    let own = sh::target().join("tools/bin/cargo-deny");
    if own.is_file() { Some(own) } else { sh::find("cargo-deny") }
}

/// The npm package that wasm-opt comes from.
const BINARYEN: Npm = Npm {
    name: "binaryen",
    version: "132.0.0",
    integrity: "sha512-4Usg7yEvwO3FMso3Oov6qkOOHSod1IEv+boKkh77kTljM+eNBouqCTbqWswGzbG+vDNO/b/v2C4gfEh1WgB9Lg==",
};

/// The npm package whose rules of accessibility the end-to-end tests apply.
const AXE: Npm = Npm {
    name: "axe-core",
    version: "4.14.1",
    integrity: "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
};

/// The npm package whose compiler checks the types of the library: the last one that needs nothing but node.
const TYPESCRIPT: Npm = Npm {
    name: "typescript",
    version: "5.9.3",
    integrity: "sha512-jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw==",
};

/// The npm package with the program Deno, for the platform of the tests.
const DENO: Npm = Npm {
    name: "@deno/linux-x64-glibc",
    version: "2.9.6",
    integrity: "sha512-3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==",
};

/// A package of npm.
struct Npm {
    name: &'static str,
    version: &'static str,
    /// The checksum of the archive, as npm writes it; whatever else the registry gives is not used.
    integrity: &'static str,
}

/// The PyPI package that the job for Apache Spark runs on; it needs Java 17 or newer.
const PYSPARK: &str = "4.3.0";

/// Adds the wasm target to the toolchain if it is missing.
pub fn wasm_target() -> Outcome {
    let sysroot = sh::output(sh::command("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    if PathBuf::from(sysroot.trim()).join("lib/rustlib").join(WASM).is_dir() {
        return Ok(());
    }
    sh::run(sh::command("rustup").args(["target", "add", WASM]))
        .map_err(|error| format!("the compiler has no {WASM} target: {error}"))
}

/// Returns the version of a package in `Cargo.lock`.
fn locked(lock: &str, package: &str) -> Option<String> {
    let mut lines = lock.lines();
    lines.find(|line| *line == format!("name = \"{package}\""))?;
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"').map(str::to_owned)
}

/// Returns the folder of wasm-bindgen and wasm-bindgen-test-runner, in the very version the crate uses: the two speak a
/// private format. Installs them on first use, which takes some minutes.
pub fn wasm_bindgen() -> Outcome<PathBuf> {
    programs("wasm-bindgen", "wasm-bindgen-cli", &["wasm-bindgen", "wasm-bindgen-test-runner"])
}

/// Returns the folder of gungraun-runner, which `benches/count.rs` asks to start valgrind, in the very version of
/// gungraun. Installs it on first use, and valgrind from Debian's packages where that is possible.
pub fn gungraun_runner() -> Outcome<PathBuf> {
    // The runner knows this variable too.
    let (variable, needed) =
        ("GUNGRAUN_VALGRIND_BIN", "install valgrind, or name it in GUNGRAUN_VALGRIND_BIN");
    installed(variable, "valgrind", "valgrind", needed)?;
    programs("gungraun", "gungraun-runner", &["gungraun-runner"])
}

/// Returns the folder of a package's programs, in the version in which `Cargo.lock` has the crate that they belong to.
/// Installs them on first use.
fn programs(of: &str, package: &str, names: &[&str]) -> Outcome<PathBuf> {
    let lock = sh::root().join("Cargo.lock");
    let text = sh::on(&lock, std::fs::read_to_string(&lock))?;
    let version = &locked(&text, of).ok_or(format!("Cargo.lock names no {of}"))?;
    let tools = sh::target().join("tools");
    let bin = tools.join("bin");
    let present = sh::output(sh::command(bin.join(names[0])).arg("--version"));
    if present.is_some_and(|found| found.split_whitespace().nth(1) == Some(version))
        && names.iter().all(|name| bin.join(name).is_file())
    {
        return Ok(bin);
    }
    eprintln!("Installing {package} {version} into target/tools; once, a few minutes.");
    let install = |locked: bool| {
        let mut cargo = sh::cargo();
        cargo.args(["install", package, "--force", "--version", version, "--root"]).arg(&tools);
        // It runs for seconds and is compiled for minutes, so it is compiled quickly.
        cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
        cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "64").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
        if locked {
            cargo.arg("--locked");
        }
        sh::run(&mut cargo)
    };
    // The versions it was tested with; a lock file has named withdrawn packages before, so there is a second try.
    install(true).or_else(|error| {
        eprintln!(
            "{error}: {package} {version} cannot be built as its own lock file says, so cargo picks newer versions of \
             what it is made of, which nobody has compared with anything."
        );
        install(false)
    })?;
    Ok(bin)
}

/// Returns the command that runs tests of the page's crate in headless Chromium, for at most so many seconds in all; which
/// tests is to be added.
pub fn wasm_runner(most_seconds: &str) -> Outcome<Command> {
    wasm_target()?;
    let (runner, driver) = (wasm_bindgen()?.join("wasm-bindgen-test-runner"), chromedriver()?);
    let mut tests = sh::cargo();
    // In the page's profile: what page and tests both need is then built once. Not quietly: cargo would hand that word on
    // to the runner, which does not know it.
    tests
        .args(["test", "-p", "pathlight", "--target", WASM, "--profile", "page", "--no-default-features"])
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner)
        .env("CHROMEDRIVER", driver)
        .env("WASM_BINDGEN_TEST_TIMEOUT", most_seconds);
    Ok(tests)
}

/// Returns wasm-opt, if this machine has node: it makes the page smaller and faster, but nothing depends on it.
pub fn wasm_opt() -> Option<PathBuf> {
    match npm("npm", &BINARYEN) {
        Ok(modules) => Some(modules.join(".bin/wasm-opt")),
        Err(error) => {
            eprintln!("{error}: the wasm stays as the compiler left it, and larger.");
            None
        }
    }
}

/// Brings axe-core, where the end-to-end tests look for it; without node they skip what needs it.
pub fn axe() {
    if let Err(error) = npm("axe", &AXE) {
        eprintln!("{error}: the rules of accessibility are not applied.");
    }
}

/// Returns the compiler of TypeScript.
pub fn typescript() -> Outcome<PathBuf> {
    Ok(npm("typescript", &TYPESCRIPT)?.join(".bin/tsc"))
}

/// Returns Deno: what is on the path, else the one of npm.
pub fn deno() -> Outcome<PathBuf> {
    if let Some(found) = sh::find("deno") {
        return Ok(found);
    }
    Ok(npm("deno", &DENO)?.join(DENO.name).join("deno"))
}

/// Returns the folder `node_modules` with this version of a package; each has a folder of its own below `target/tools`,
/// since npm takes away what it was not asked for.
fn npm(folder: &str, package: &Npm) -> Outcome<PathBuf> {
    let Npm { name, version, integrity } = package;
    let folder = sh::target().join("tools").join(folder);
    let modules = folder.join("node_modules");
    let manifest = modules.join(name).join("package.json");
    let present = std::fs::read_to_string(&manifest).unwrap_or_default();
    if !present.contains(&format!("\"version\": \"{version}\"")) {
        if sh::find("node").is_none() || sh::find("npm").is_none() {
            return Err("No node and npm here".to_owned());
        }
        sh::on(&folder, std::fs::create_dir_all(&folder))?;
        let install = ["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--prefix"];
        sh::run(sh::command("npm").args(install).arg(&folder).arg(format!("{name}@{version}")))?;
    }
    // Written by npm, which has compared it with the archive.
    let lock = std::fs::read_to_string(modules.join(".package-lock.json")).unwrap_or_default();
    if !lock.contains(integrity) {
        return Err(format!("{name} {version} is not the archive that was pinned"));
    }
    Ok(modules)
}

/// Returns a chromedriver beside a Chromium. Installs both from Debian's packages where that is possible.
pub fn chromedriver() -> Outcome<PathBuf> {
    let needed = "install Chromium and its chromedriver, or name the latter in CHROMEDRIVER";
    installed("CHROMEDRIVER", "chromedriver", "chromium chromium-driver", needed)
}

/// Returns a Firefox. Installs Debian's where that is possible. The tests speak its own protocol, so it needs no
/// geckodriver.
pub fn firefox() -> Outcome<PathBuf> {
    installed("FIREFOX", "firefox-esr", "firefox-esr", "install Firefox and name it in FIREFOX")
}

/// Returns the driver of WebKitGTK, with a display for it; without it the tests skip what needs it.
pub fn webkit() -> Option<PathBuf> {
    let needed = "install WebKitGTK's driver and Xvfb, or name the former in WEBKIT_DRIVER";
    let found = installed("WEBKIT_DRIVER", "WebKitWebDriver", "webkit2gtk-driver xvfb", needed);
    found.map_err(|error| eprintln!("{error}: nothing is tried in WebKit.")).ok()
}

/// Looks for a Java on the path, or a folder of one in JAVA_HOME. Installs Debian's where that is possible and asked
/// for.
pub fn java(may_install: bool) -> Outcome {
    let needed = "no java here";
    if !may_install && std::env::var_os("JAVA_HOME").is_none() && sh::find("java").is_none() {
        return Err(needed.to_owned());
    }
    installed("JAVA_HOME", "java", "default-jre-headless", needed).map(|_| ())
}

/// Returns a Python with pyspark: the one that PATHLIGHT_PYTHON names, or one in a folder of its own, made on first
/// use.
pub fn pyspark() -> Outcome<PathBuf> {
    if let Some(given) = std::env::var_os("PATHLIGHT_PYTHON") {
        return Ok(given.into());
    }
    let folder = sh::target().join("tools/pyspark");
    let python = folder.join("bin/python3");
    let has_it = || {
        let import = format!("import pyspark; assert pyspark.__version__ == '{PYSPARK}'");
        sh::output(sh::command(&python).args(["-c", &import])).is_some()
    };
    if !has_it() {
        eprintln!("Installing pyspark {PYSPARK} into target/tools; once, 450 MB.");
        sh::run(sh::command("python3").args(["-m", "venv"]).arg(&folder))?;
        // Nothing is installed whose checksum does not stand in the project, nor what builds it.
        for (file, more) in
            [("build-requirements.txt", &[][..]), ("requirements.txt", &["--no-build-isolation"][..])]
        {
            let list = sh::root().join("scale/spark").join(file);
            let install = ["-m", "pip", "install", "--quiet", "--require-hashes"];
            sh::run(sh::command(&python).args(install).args(more).arg("-r").arg(list))?;
        }
    }
    if has_it() { Ok(python) } else { Err("pyspark cannot be imported".to_owned()) }
}

/// Returns the program that a variable names, or the one on the path; comes with these packages if there is none.
fn installed(variable: &str, program: &str, packages: &str, needed: &str) -> Outcome<PathBuf> {
    if let Some(given) = std::env::var_os(variable) {
        return Ok(given.into());
    }
    if sh::find(program).is_none() {
        if sh::find("apt-get").is_none() {
            return Err(needed.to_owned());
        }
        let root = sh::output(sh::command("id").arg("-u")).is_some_and(|user| user.trim() == "0");
        let apt = |line: &str| {
            let mut words: Vec<&str> = line.split(' ').collect();
            if !root {
                words.splice(0..0, ["sudo", "-n"]);
            }
            sh::run(sh::command(words[0]).args(&words[1..]).env("DEBIAN_FRONTEND", "noninteractive"))
        };
        apt("apt-get update -qq")?;
        apt(&format!("apt-get install -y -qq --no-install-recommends {packages}"))?;
    }
    sh::find(program).ok_or(format!("there is no {program} on the path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_for_spark_is_the_version_that_is_looked_for() {
        let list = std::fs::read_to_string(sh::root().join("scale/spark/requirements.txt")).unwrap();
        assert!(list.contains(&format!("pyspark=={PYSPARK} --hash=sha256:")), "{list}");
    }

    #[test]
    fn the_version_in_the_lock_is_that_of_the_package_of_exactly_this_name() {
        let lock = "[[package]]\nname = \"wasm-bindgen-test\"\nversion = \"0.3.1\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\nsource = \"x\"\n";
        assert_eq!(locked(lock, "wasm-bindgen").as_deref(), Some("0.2.130"));
        assert_eq!(locked(lock, "wasm"), None);
    }
}
