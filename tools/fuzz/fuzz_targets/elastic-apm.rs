//! Begins with the seeds of `elastic-apm`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("elastic-apm"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
