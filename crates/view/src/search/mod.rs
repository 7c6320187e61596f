//! The search field: what the workers found, and help while one types.

pub mod finder;
pub mod help;
