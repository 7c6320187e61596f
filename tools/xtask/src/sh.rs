//! Running other programs, and where things are.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Outcome;

/// Returns the folder of the workspace. Asked at run time, so that a moved checkout goes on working.
pub fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or(env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.ancestors().nth(2).map_or(manifest.clone(), PathBuf::from)
}

/// Returns Cargo's target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Returns the cargo that runs us.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or("cargo".into()))
}

/// Returns a command that runs in the workspace. What cargo told us of our own package is taken out, so that the
/// commands see the environment of the shell and cargo finds nothing changed.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command
}

/// Returns the command as one would type it.
pub fn spell(command: &Command) -> String {
    let name = PathBuf::from(command.get_program());
    let mut line = name.file_name().unwrap_or(name.as_os_str()).to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// Runs a command with its output going to the terminal.
///
/// # Errors
/// The command cannot be started, or ends with another status than 0.
pub fn run(command: &mut Command) -> Outcome {
    eprintln!("  $ {}", spell(command));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` ended with {status}", spell(command))),
        Err(error) => Err(format!("cannot start `{}`: {error}", spell(command))),
    }
}

/// Returns the standard output of a command that ends well; `None` if it cannot be started or fails.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns where on the path a program is.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|file| file.is_file())
}

/// Puts the name of a file into the error of an operation on it.
pub fn on<T>(path: &std::path::Path, result: std::io::Result<T>) -> Outcome<T> {
    result.map_err(|error| format!("{}: {error}", path.strip_prefix(root()).unwrap_or(path).display()))
}
