//! What converters of texts write: strings of JSON, and what they have to say at the end.

/// What a converter has to say about a text at its end.
#[derive(Default)]
pub(crate) struct Leftovers {
    /// Rows that are none, and the place of the first in what was written.
    pub bad: u64,
    /// Whether the text ends within a row.
    pub is_cut: bool,
}

/// Appends a text as a string of JSON.
pub(crate) fn push_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    text.iter().for_each(|&byte| push_byte(byte, out));
    out.push(b'"');
}

/// Appends a byte of a text inside a string of JSON.
pub(crate) fn push_byte(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' | b'\\' => out.extend([b'\\', byte]),
        0..0x20 => out.extend(format!("\\u{byte:04x}").bytes()),
        _ => out.push(byte),
    }
}
