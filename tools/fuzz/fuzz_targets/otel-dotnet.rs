//! Begins with the seeds of `otel-dotnet`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: pathlight_fuzz::sow("otel-dotnet"), |bytes: &[u8]| pathlight_fuzz::check(bytes));
