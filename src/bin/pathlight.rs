//! The native binary: every analysis without a browser. All it does is in [`pathlight::cli`].
fn main() -> std::process::ExitCode {
    pathlight::cli::run()
}
