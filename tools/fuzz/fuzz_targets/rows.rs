//! Begins with the seeds of `rows`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("rows"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
