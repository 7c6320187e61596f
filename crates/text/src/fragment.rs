//! The form of a fragment: pairs of keys and values, percent-encoded.

use std::fmt::Write as _;

/// Keys and values, decoded; later ones of a key that may stand once are the reader's business.
pub fn pairs(fragment: &str) -> Vec<(String, String)> {
    let parts = fragment.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(key), decode(value))
        })
        .collect()
}

/// Writes keys and values.
pub struct Writer(String);

impl Writer {
    /// Begins with a text that is written as it is.
    pub fn new(text: String) -> Writer {
        Writer(text)
    }

    /// Adds a pair.
    pub fn put(&mut self, key: &str, value: &str) {
        self.0.push('&');
        encode(key, &mut self.0);
        self.0.push('=');
        encode(value, &mut self.0);
    }

    /// What was written.
    pub fn finish(self) -> String {
        self.0
    }
}

/// Percent-encodes all that may not stand in a fragment or query, or that separates pairs.
pub fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'@' | b',' | b'!' | b'$' | b'*' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// Undoes [`encode`]; `+` is a space, as forms write it. A `%` that begins no code stands for itself.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |n: usize| bytes.get(at + n).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[at], hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
                continue;
            }
            (b'+', ..) => out.push(b' '),
            (byte, ..) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}
