//! Begins with the seeds of `embedding`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("embedding"), |bytes: &[u8]| pathlight_fuzz::check_stored("embedding", bytes));
