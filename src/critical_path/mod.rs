//! Critical paths of many traces (CRISP).
