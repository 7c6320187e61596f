//! Begins with the seeds of `elasticsearch`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("elasticsearch"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
