//! Begins with the seeds of `otel-js`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("otel-js"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
