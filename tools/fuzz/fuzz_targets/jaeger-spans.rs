//! Begins with the seeds of `jaeger-spans`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("jaeger-spans"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
