//! Begins with the seeds of `summary`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("summary"), |bytes: &[u8]| pathlight_fuzz::check_stored("summary", bytes));
