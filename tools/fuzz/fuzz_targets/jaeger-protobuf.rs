//! Begins with the seeds of `jaeger-protobuf`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("jaeger-protobuf"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
