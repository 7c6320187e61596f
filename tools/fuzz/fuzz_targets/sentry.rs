//! Begins with the seeds of `sentry`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("sentry"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
