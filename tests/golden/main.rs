//! Golden cases: what Pathlight makes of a stored input, compared with stored outputs, byte for byte.
//!
//! A case is a folder `tests/golden/SUITE/CASE`. `PATHLIGHT_BLESS=1 cargo test --test golden` accepts the outputs of
//! today; look at what git says has changed before you commit it.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, reason = "the lint sees only functions marked as tests, not their helpers")]

mod charts;
#[path = "../common/mod.rs"]
mod common;
mod crisp;
mod readme;
mod upgrade;

use similar::TextDiff;
use std::fs;

/// Outputs compared so far.
#[derive(Default)]
struct Golden {
    /// What differs, as unified diffs.
    differences: String,
}

impl Golden {
    /// Compares an output with the stored file of this path below `tests/golden`, or replaces the file if asked to.
    fn compare(&mut self, path: &str, found: &str) {
        let file = common::golden_folder().join(path);
        let stored = fs::read_to_string(&file).unwrap_or_default();
        if stored == found {
            return;
        }
        if std::env::var_os("PATHLIGHT_BLESS").is_some_and(|value| value == "1") {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            return fs::write(&file, found).unwrap();
        }
        let diff = TextDiff::from_lines(stored.as_str(), found);
        self.differences += &diff.unified_diff().header(path, "found").to_string();
    }

    /// Fails if any output differs from its file.
    fn finish(self) {
        let differences = self.differences;
        assert!(
            differences.is_empty(),
            "outputs differ; PATHLIGHT_BLESS=1 accepts what was found\n{differences}"
        );
    }
}
