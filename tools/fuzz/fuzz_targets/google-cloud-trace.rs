//! Begins with the seeds of `google-cloud-trace`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("google-cloud-trace"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
