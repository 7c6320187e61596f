//! Bytes to spans.
