//! Begins with the seeds of `address`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("address"), |bytes: &[u8]| pathlight_fuzz::check_stored("address", bytes));
