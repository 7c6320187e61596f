//! The commands of the native binary.

/// Runs the command line of this process.
pub fn run() -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
