//! Begins with the seeds of `lines`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("lines"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
