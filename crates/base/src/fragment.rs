//! The form of a fragment: pairs of keys and values, percent-encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Returns keys and values, decoded; later ones of a key that may stand once are the reader's business.
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

    /// Returns what was written.
    pub fn finish(self) -> String {
        self.0
    }
}

/// Characters to encode: all but letters, digits and the signs that may stand in a fragment or query and separate no
/// pairs.
const CODED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b',')
    .remove(b'!')
    .remove(b'$')
    .remove(b'*');

/// Encodes by percent signs all that may not stand in a fragment or query, or that separates pairs.
pub fn encode(text: &str, out: &mut String) {
    out.extend(utf8_percent_encode(text, &CODED));
}

/// Undoes [`encode`]; `+` is a space, as forms write it. A `%` that begins no code stands for itself.
fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
