//! Builds, serves, tests and measures Pathlight.
fn main() {}
