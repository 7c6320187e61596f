//! Begins with the seeds of `gzip`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("gzip"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
