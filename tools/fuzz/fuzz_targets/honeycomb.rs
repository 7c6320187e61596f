//! Begins with the seeds of `honeycomb`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("honeycomb"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
