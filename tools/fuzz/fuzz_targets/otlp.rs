//! Begins with the seeds of `otlp`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("otlp"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
