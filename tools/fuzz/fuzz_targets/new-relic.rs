//! Begins with the seeds of `new-relic`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("new-relic"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
