//! Begins with the seeds of `next-trace`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("next-trace"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
