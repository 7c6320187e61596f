//! Begins with the seeds of `langsmith`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("langsmith"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
