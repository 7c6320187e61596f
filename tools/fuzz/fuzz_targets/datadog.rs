//! Begins with the seeds of `datadog`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("datadog"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
