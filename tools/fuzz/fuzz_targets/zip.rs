//! Begins with the seeds of `zip`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("zip"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
