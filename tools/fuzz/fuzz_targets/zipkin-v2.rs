//! Begins with the seeds of `zipkin-v2`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("zipkin-v2"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
