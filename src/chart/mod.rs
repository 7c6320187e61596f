//! Data to boxes to pixels: layouts are plain values.
