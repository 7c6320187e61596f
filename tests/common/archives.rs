//! Archives written in every way that is read.

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use std::io::Write as _;

/// Packs bytes as a gzip file.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

/// How a member is written.
#[derive(Clone, Copy, Default)]
pub struct Way {
    pub deflated: bool,
    pub zip64: bool,
    /// Lengths after the data, with a signature or without.
    pub descriptor: Option<bool>,
    pub flags: u16,
    pub method: Option<u16>,
}

/// Packs members as a zip archive, as a stream writes it.
pub fn zip(members: &[(&str, &[u8], Way)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes, way) in members {
        let data = if way.deflated { deflate(bytes) } else { bytes.to_vec() };
        let mut crc = Crc::new();
        crc.update(bytes);
        let flags = way.flags | if way.descriptor.is_some() { 8 } else { 0 };
        let method = way.method.unwrap_or(if way.deflated { 8 } else { 0 });
        out.extend(b"PK\x03\x04");
        out.extend(45u16.to_le_bytes());
        out.extend(flags.to_le_bytes());
        out.extend(method.to_le_bytes());
        out.extend([0; 4]);
        let known = way.descriptor.is_none();
        out.extend(if known { crc.sum() } else { 0 }.to_le_bytes());
        let short = |n: usize| {
            if way.zip64 {
                u32::MAX
            } else if known {
                n as u32
            } else {
                0
            }
        };
        out.extend(short(data.len()).to_le_bytes());
        out.extend(short(bytes.len()).to_le_bytes());
        out.extend((name.len() as u16).to_le_bytes());
        let mut extra = vec![0x55, 0x54, 5, 0, 1, 0, 0, 0, 0];
        if way.zip64 {
            extra.extend([1, 0, 16, 0]);
            extra.extend(if known { bytes.len() as u64 } else { 0 }.to_le_bytes());
            extra.extend(if known { data.len() as u64 } else { 0 }.to_le_bytes());
        }
        out.extend((extra.len() as u16).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(extra);
        out.extend(&data);
        if let Some(has_signature) = way.descriptor {
            if has_signature {
                out.extend(b"PK\x07\x08");
            }
            out.extend(crc.sum().to_le_bytes());
            for n in [data.len(), bytes.len()] {
                match way.zip64 {
                    true => out.extend((n as u64).to_le_bytes()),
                    false => out.extend((n as u32).to_le_bytes()),
                }
            }
        }
    }
    // A directory follows; it is not looked at.
    out.extend(b"PK\x01\x02");
    out.extend([0; 42]);
    out.extend(b"PK\x05\x06");
    out.extend([0; 18]);
    out
}

/// A member that is stored, not deflated.
pub const STORED: Way = Way { deflated: false, zip64: false, descriptor: None, flags: 0, method: None };
/// Packed.
pub const DEFLATED: Way = Way { deflated: true, ..STORED };
