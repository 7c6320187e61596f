//! Begins with the seeds of `data-prepper`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("data-prepper"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
