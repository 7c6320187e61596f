//! Begins with the seeds of `otel-rust`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("otel-rust"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
