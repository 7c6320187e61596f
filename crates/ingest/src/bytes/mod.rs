//! Input as bytes: archives and encodings unpacked, and the part of a text that is held.

mod blocks;
mod converted;
mod csv;
mod gzip;
pub(crate) mod masks;
pub(crate) mod nested;
pub(crate) mod protobuf;
pub(crate) mod records;
mod script;
pub(crate) mod share;
pub(crate) mod sniff;
pub(crate) mod source;
pub(crate) mod trial;
mod utf16;
pub(crate) mod window;
mod written;
pub(crate) mod zip;
mod zstd;

pub use masks::Masks;
pub use protobuf::otlp_json;
