//! Begins with the seeds of `grafana`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("grafana"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
