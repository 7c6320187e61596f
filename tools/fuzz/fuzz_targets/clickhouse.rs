//! Begins with the seeds of `clickhouse`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("clickhouse"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
