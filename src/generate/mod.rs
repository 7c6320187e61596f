//! Synthetic Jaeger traces of any size.
