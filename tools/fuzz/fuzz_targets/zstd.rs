//! Begins with the seeds of `zstd`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("zstd"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
