//! Values as a program prints them for people: objects of JavaScript (`util.inspect`) or Python, made JSON.

use super::written::{Leftovers, push_byte};

/// Longest word that is no text.
const MAX_WORD: usize = 4096;

/// A text being read.
#[derive(Default)]
pub(crate) struct Script {
    state: State,
    /// Open brackets.
    depth: u32,
    word: Vec<u8>,
    has_comma: bool,
    /// Hexadecimal digits of an escape that are yet to come.
    digits: u32,
    code: u32,
    /// Whether something else than an object stands on the line.
    is_other: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Between,
    /// In a text that began with this quote.
    Text(u8),
    /// After a backslash in it.
    Escape(u8),
    /// In an escape `\xNN`.
    Code(u8),
    /// After a text, which goes on if a plus follows.
    Ended,
    /// After the plus.
    Plus,
}

impl Script {
    /// Returns whether a text begins as such an object does, and not as JSON: a key without quotes, or with single ones.
    pub fn begins(head: &[u8]) -> bool {
        let line = |line: &[u8]| matches!(line.trim_ascii(), b"{" | b"[");
        // Lines of a log may come before.
        let starts = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', head).map(|place| place + 1))
            .filter(|&at| at == 0 || head[at..].split(|&byte| byte == b'\n').next().is_some_and(line));
        let is_script = |text: &[u8]| {
            let inner = text.trim_ascii_start();
            let Some(inner) = inner.strip_prefix(b"{").or(inner.strip_prefix(b"[")) else { return false };
            let inner = inner.trim_ascii_start();
            let inner = inner.strip_prefix(b"{").map_or(inner, <[u8]>::trim_ascii_start);
            if inner.first() == Some(&b'\'') {
                return true;
            }
            let end = inner.iter().position(|byte| !is_word(*byte)).unwrap_or(inner.len());
            end > 0 && !inner[0].is_ascii_digit() && inner[0] != b'-' && inner[end..].first() == Some(&b':')
        };
        starts.take(100).any(|at| is_script(&head[at..]))
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        bytes.iter().for_each(|&byte| self.take(byte, out));
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.state {
            State::Text(quote) if byte == quote => self.state = State::Ended,
            State::Text(quote) if byte == b'\\' => self.state = State::Escape(quote),
            State::Text(_) => push_byte(byte, out),
            State::Escape(quote) => {
                self.state = State::Text(quote);
                match byte {
                    b'n' | b't' | b'r' | b'b' | b'f' | b'u' | b'\\' | b'"' => out.extend([b'\\', byte]),
                    b'x' => (self.state, self.digits, self.code) = (State::Code(quote), 2, 0),
                    _ => push_byte(byte, out),
                }
            }
            State::Code(quote) => match (byte as char).to_digit(16) {
                Some(digit) => {
                    (self.digits, self.code) = (self.digits - 1, self.code << 4 | digit);
                    if self.digits == 0 {
                        out.extend(format!("\\u{:04x}", self.code).bytes());
                        self.state = State::Text(quote);
                    }
                }
                None => {
                    self.state = State::Text(quote);
                    self.take(byte, out);
                }
            },
            State::Ended if byte.is_ascii_whitespace() => {}
            State::Ended if byte == b'+' => self.state = State::Plus,
            State::Plus if byte.is_ascii_whitespace() => {}
            State::Plus if is_quote(byte) => self.state = State::Text(byte),
            State::Ended | State::Plus => {
                out.push(b'"');
                self.state = State::Between;
                self.between(byte, out);
            }
            State::Between => self.between(byte, out),
        }
    }

    fn between(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.depth == 0 && !matches!(byte, b'{' | b'[') || self.is_other {
            // A line of something else.
            self.is_other = byte != b'\n' && (self.is_other || !byte.is_ascii_whitespace());
            return;
        }
        if is_word(byte) {
            if self.word.len() < MAX_WORD {
                self.word.push(byte);
            }
            return;
        }
        self.end_word(out);
        match byte {
            b'{' | b'[' => {
                self.comma(out);
                out.push(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                // A comma before a bracket is one too many.
                self.has_comma = false;
                out.push(byte);
                self.depth -= 1;
                if self.depth == 0 {
                    out.push(b'\n');
                }
            }
            b',' => {
                self.comma(out);
                self.has_comma = true;
            }
            _ if is_quote(byte) => {
                self.comma(out);
                out.push(b'"');
                self.state = State::Text(byte);
            }
            _ if byte.is_ascii_whitespace() => out.push(b' '),
            _ => out.push(byte),
        }
    }

    fn comma(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.has_comma) {
            out.push(b',');
        }
    }

    fn end_word(&mut self, out: &mut Vec<u8>) {
        if self.word.is_empty() {
            return;
        }
        self.comma(out);
        let word = std::mem::take(&mut self.word);
        match &*word {
            b"undefined" | b"None" | b"null" => out.extend(b"null"),
            b"true" | b"True" => out.extend(b"true"),
            b"false" | b"False" => out.extend(b"false"),
            _ => {
                // A large whole number ends with `n`.
                let number = word.strip_suffix(b"n").unwrap_or(&word);
                match crate::json::node::parse_number(number) {
                    Some(_) => out.extend(number),
                    None => super::written::push_string(&word, out),
                }
            }
        }
    }

    /// Ends the text. What it leaves open shows in what was written.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Leftovers {
        if matches!(self.state, State::Ended | State::Plus) {
            out.push(b'"');
        }
        Leftovers::default()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'-' | b'+') || byte >= 0x80
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'`')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let (mut script, mut out) = (Script::default(), Vec::new());
        script.feed(text.as_bytes(), &mut out);
        script.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_programs_print_becomes_json() {
        for (text, json) in [
            (
                "{ a: 1, 'b-c': undefined, d: [ 'x', true, 5n, ], }",
                r#"{ "a": 1, "b-c": null, "d": [ "x", true, 5 ] }"#,
            ),
            (
                r#"{ a: 'it\'s "so"', b: "it's\x1b", c: `t` }"#,
                r#"{ "a": "it's \"so\"", "b": "it's\u001b","c": "t"}"#,
            ),
            ("{ a: 'one ' +\n    'two' }", r#"{ "a": "one two"}"#),
            ("listening on 'x' {\n{ a: [Object] }\ndone", r#"{ "a": ["Object"] }"#),
            ("{'a': None, 'b': True, 'c': -1.5e3}", r#"{"a": null, "b": true, "c": -1.5e3}"#),
        ] {
            let read: serde_json::Value = serde_json::from_str(&read(text)).unwrap();
            assert_eq!(read, serde_json::from_str::<serde_json::Value>(json).unwrap(), "{text}");
        }
    }

    #[test]
    fn json_is_none() {
        for text in ["{\n  resource: {", "[\n  {\n    traceId: 'a'", "{'a': 1}", "log line\n{\n  a: 1\n}"] {
            assert!(Script::begins(text.as_bytes()), "{text}");
        }
        for text in ["{\"a\": 1}", "[1, 2]", "[true]", "{}", "hello: x", "[-1:"] {
            assert!(!Script::begins(text.as_bytes()), "{text}");
        }
    }
}
