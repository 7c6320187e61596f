//! Files that are being written: removed when the program is asked to end (SIGINT, SIGTERM), as they are when it fails.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError, mpsc};

static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Notes a file before it is made.
pub fn begin(file: &Path) {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    FILES.lock().unwrap_or_else(PoisonError::into_inner).insert(file.to_owned());
}

/// Forgets a file that is whole or gone.
pub fn end(file: &Path) {
    FILES.lock().unwrap_or_else(PoisonError::into_inner).remove(file);
}

/// Ends the program; what it has begun to write is removed.
fn leave(status: i32) -> ! {
    // Nobody begins another one from here on.
    let files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    for file in files.iter() {
        // If it cannot be removed, nothing is lost.
        let _ = std::fs::remove_file(file);
    }
    std::process::exit(status)
}

/// Waits for signals on a thread of its own, from before it returns. Where that cannot be done, the program ends as ever.
fn watch() {
    let (ready, is_ready) = mpsc::channel();
    let wait = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(told_to_end(ready));
        }
    };
    if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_ok() {
        // An error is as good: there is nobody who waits.
        let _ = is_ready.recv();
    }
}

#[cfg(unix)]
async fn told_to_end(ready: mpsc::Sender<()>) {
    use std::future::poll_fn;
    use std::task::Poll;
    use tokio::signal::unix::{SignalKind, signal};
    // What whoever started the program lets it ignore, as a shell does with work in the background, stays ignored.
    let ignored = ignored();
    let listen = |kind: SignalKind| {
        let number = kind.as_raw_value();
        let is_ignored = ignored >> (number - 1) & 1 == 1;
        if is_ignored { None } else { Some((signal(kind).ok()?, number)) }
    };
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let mut signals: Vec<_> = kinds.into_iter().filter_map(listen).collect();
    drop(ready);
    let number = poll_fn(|context| {
        for (signal, number) in &mut signals {
            if signal.poll_recv(context).is_ready() {
                return Poll::Ready(*number);
            }
        }
        Poll::Pending
    });
    // The status by which shells know the signal.
    leave(128 + number.await)
}

/// Returns the signals that this process ignores, the first in the lowest bit; none where the system does not say.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(not(unix))]
async fn told_to_end(ready: mpsc::Sender<()>) {
    let asked = tokio::signal::ctrl_c();
    drop(ready);
    if asked.await.is_ok() {
        leave(130);
    }
}
