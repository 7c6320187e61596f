//! Begins with the seeds of `saved-report`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("saved-report"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
