//! Begins with the seeds of `jaeger-cassandra`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("jaeger-cassandra"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
