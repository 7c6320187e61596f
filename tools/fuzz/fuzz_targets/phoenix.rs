//! Begins with the seeds of `phoenix`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("phoenix"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
