//! Begins with the seeds of `columns`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("columns"), |bytes: &[u8]| pathlight_fuzz::check_stored("columns", bytes));
