//! Begins with the seeds of `app-insights`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("app-insights"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
