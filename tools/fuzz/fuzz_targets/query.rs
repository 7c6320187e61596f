//! Begins with the seeds of `query`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("query"), |bytes: &[u8]| pathlight_fuzz::check_stored("query", bytes));
