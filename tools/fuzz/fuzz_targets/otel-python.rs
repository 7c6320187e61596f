//! Begins with the seeds of `otel-python`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("otel-python"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
