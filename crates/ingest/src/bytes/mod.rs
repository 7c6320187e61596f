//! Input as bytes: archives and encodings unpacked, and the part of a text that is held.

pub(crate) mod masks;
pub(crate) mod protobuf;
pub(crate) mod sniff;
pub(crate) mod source;
mod utf16;
pub(crate) mod window;
pub(crate) mod zip;

pub use masks::Masks;
pub use protobuf::otlp_json;
