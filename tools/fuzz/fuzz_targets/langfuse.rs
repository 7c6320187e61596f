//! Begins with the seeds of `langfuse`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("langfuse"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
