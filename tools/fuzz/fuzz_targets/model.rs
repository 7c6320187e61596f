//! Begins with the seeds of `model`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("model"), |bytes: &[u8]| pathlight_fuzz::check_stored("model", bytes));
