//! Begins with the seeds of `skywalking`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("skywalking"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
