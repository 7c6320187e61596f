//! Begins with the seeds of `signoz`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("signoz"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
