//! How traces were sampled, in words: their weights, and which numbers use them.

pub(crate) mod json;
pub mod words;
