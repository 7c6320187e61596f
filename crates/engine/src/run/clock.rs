//! The clock, for the durations that some reports give. Nothing else depends on it.

use std::sync::OnceLock;

static CLOCK: OnceLock<fn() -> f64> = OnceLock::new();

/// Sets the clock, once: milliseconds since any moment.
pub fn set(clock: fn() -> f64) {
    let _ = CLOCK.set(clock);
}

/// Returns the milliseconds since any moment; `None` without a clock.
#[cfg(target_arch = "wasm32")]
pub fn now_ms() -> Option<f64> {
    CLOCK.get().map(|clock| clock())
}

/// Returns the milliseconds since any moment; natively there is always a clock.
#[cfg(not(target_arch = "wasm32"))]
pub fn now_ms() -> Option<f64> {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    Some(CLOCK.get().map_or_else(
        || START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64() * 1e3,
        |clock| clock(),
    ))
}

/// Returns the milliseconds since `from`, if both have a clock.
pub fn since(from: Option<f64>) -> Option<f64> {
    Some(now_ms()? - from?)
}
