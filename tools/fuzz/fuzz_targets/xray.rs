//! Begins with the seeds of `xray`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("xray"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
