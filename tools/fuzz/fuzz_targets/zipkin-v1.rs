//! Begins with the seeds of `zipkin-v1`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("zipkin-v1"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
