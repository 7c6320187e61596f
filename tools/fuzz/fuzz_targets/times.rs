//! Begins with the seeds of `times`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("times"), |bytes: &[u8]| pathlight_fuzz::check_stored("times", bytes));
