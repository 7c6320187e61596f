//! Begins with the seeds of `otel-stdout`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("otel-stdout"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
