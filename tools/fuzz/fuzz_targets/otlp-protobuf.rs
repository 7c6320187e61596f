//! Begins with the seeds of `otlp-protobuf`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("otlp-protobuf"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
