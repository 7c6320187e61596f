//! Begins with the seeds of `jaeger`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("jaeger"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
