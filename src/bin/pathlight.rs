//! The native binary: every analysis without a browser. All it does is in [`pathlight::cli`].

/// Sums of many root endpoints are many small pieces from several threads, of which glibc's allocator keeps twice the memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    pathlight::cli::run()
}
