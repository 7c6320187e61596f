//! Begins with the seeds of `jaeger-ui`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("jaeger-ui"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
