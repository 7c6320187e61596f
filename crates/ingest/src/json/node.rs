//! One JSON value as text, taken apart on demand: the reference way of reading.
//!
//! What is asked for is checked and decoded by serde_json; what is passed over is only balanced, so both ways of reading
//! accept the same texts. Nothing here recurses.

use std::borrow::Cow;

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bad {
    /// Whether it is JSON at all.
    pub is_syntax: bool,
    /// Byte offset.
    pub at: u64,
    /// What is wrong, ready for a sentence.
    pub what: String,
}

impl Bad {
    pub fn syntax(at: u64, what: impl Into<String>) -> Bad {
        Bad { is_syntax: true, at, what: what.into() }
    }

    pub fn wrong_type(at: u64, what: impl Into<String>) -> Bad {
        Bad { is_syntax: false, at, what: what.into() }
    }
}

/// A JSON value: its text without space around it, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    pub text: &'a [u8],
    /// Byte offset of the first byte.
    pub at: u64,
}

/// A number as formats need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer that fits.
    Whole(u64),
    /// Below zero.
    Negative,
    /// 2^64 or more, or not a number at all.
    Huge,
    /// With a fraction or an exponent, not negative, below 2^64.
    Float(f64),
}

impl Number {
    /// Rounds to the nearest integer, halves away from zero.
    pub fn rounded(self) -> Number {
        match self {
            Number::Float(x) if x.round() < 18_446_744_073_709_551_616.0 => Number::Whole(x.round() as u64),
            Number::Float(_) => Number::Huge,
            other => other,
        }
    }

    /// Returns the number times ten to a power; an integer stays one. A fraction counts to six digits: where there are
    /// seconds before it, a double holds no more.
    pub fn times_ten_to(self, power: i32) -> Number {
        let factor = 10u64.pow(power.unsigned_abs());
        match self {
            Number::Whole(number) if power < 0 => Number::Whole(number / factor),
            Number::Whole(number) => number.checked_mul(factor).map_or(Number::Huge, Number::Whole),
            Number::Float(number) if power > 0 => {
                let digits = power.min(6);
                let fraction = (number.fract() * 10f64.powi(digits)).round() as u64;
                let fraction = fraction * 10u64.pow((power - digits).unsigned_abs());
                let whole = (number.trunc() as u64).checked_mul(factor);
                whole.and_then(|whole| whole.checked_add(fraction)).map_or(Number::Huge, Number::Whole)
            }
            Number::Float(number) => Number::Float(number * 10f64.powi(power)),
            other => other,
        }
    }
}

/// A decoded string.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    pub text: Cow<'a, str>,
    /// Whether bytes that are no UTF-8 were replaced.
    pub is_lossy: bool,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Returns the first place from `at` on that is no space.
fn skip_space(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&b| is_space(b)) {
        at += 1;
    }
    at
}

/// Returns one past the value that begins at `from`; `None` if it does not end.
pub(crate) fn value_end(text: &[u8], from: usize) -> Option<usize> {
    skip_value(text, from).ok()
}

/// Returns one past the value that begins at `from`, or where it cannot go on.
fn skip_value(text: &[u8], from: usize) -> Result<usize, usize> {
    let mut depth = 0usize;
    let mut at = from;
    loop {
        match text.get(at) {
            None => return Err(at),
            Some(b'"') => at = skip_string(text, at)?,
            Some(b'{' | b'[') => {
                depth += 1;
                at += 1;
            }
            Some(b'}' | b']') if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            Some(_) if depth > 0 => {
                at += 1;
                continue;
            }
            Some(_) => {
                while let Some(&byte) = text.get(at) {
                    match byte {
                        b',' | b']' | b'}' => break,
                        _ if is_space(byte) => break,
                        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'+' | b'.' => at += 1,
                        _ => return Err(at),
                    }
                }
                return if at == from { Err(at) } else { Ok(at) };
            }
        }
        if depth == 0 {
            return Ok(at);
        }
    }
}

fn skip_string(text: &[u8], from: usize) -> Result<usize, usize> {
    let mut at = from + 1;
    loop {
        match text.get(at) {
            None => return Err(at),
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// Decodes a JSON string, quotes included; `None` if its escapes are wrong. Shared by both ways of reading.
pub(crate) fn decode(quoted: &[u8]) -> Option<Text<'_>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        if inner.iter().any(|&b| b < 0x20) {
            return None;
        }
        let text = String::from_utf8_lossy(inner);
        let is_lossy = matches!(text, Cow::Owned(_));
        return Some(Text { text, is_lossy });
    }
    if let Ok(text) = serde_json::from_slice::<String>(quoted) {
        return Some(Text { text: text.into(), is_lossy: false });
    }
    // Bytes that are no UTF-8, or half a surrogate pair: as bytes serde_json takes both.
    let bytes = serde_json::from_slice::<Bytes>(quoted).ok()?.0;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(Text { text: text.into(), is_lossy: true })
}

struct Bytes(Vec<u8>);

impl<'de> serde::Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

impl<'a> Node<'a> {
    fn first(self) -> u8 {
        self.text.first().copied().unwrap_or(0)
    }

    pub fn is_object(self) -> bool {
        self.first() == b'{'
    }

    pub fn is_array(self) -> bool {
        self.first() == b'['
    }

    pub fn is_string(self) -> bool {
        self.first() == b'"'
    }

    pub fn is_null(self) -> bool {
        self.text == b"null"
    }

    /// Returns what the value is, for a sentence.
    pub fn describe(self) -> String {
        let shown = || String::from_utf8_lossy(&self.text[..self.text.len().min(40)]).into_owned();
        match self.first() {
            b'{' => "an object".into(),
            b'[' => "an array".into(),
            b'"' => format!("the text {}", shown()),
            _ => shown(),
        }
    }

    /// Returns an error that names what stands here and what should.
    pub fn wrong(self, name: &str, wanted: &str) -> Bad {
        Bad::wrong_type(self.at, format!("{name} is {}, not {wanted}", self.describe()))
    }

    /// Returns keys and values of an object; nothing of any other value.
    pub fn members(self) -> Members<'a> {
        Members { node: self, at: usize::from(self.is_object()), done: !self.is_object() }
    }

    /// Returns the values of an array; nothing of any other value.
    pub fn elements(self) -> Elements<'a> {
        Elements { node: self, at: usize::from(self.is_array()), done: !self.is_array() }
    }

    /// Returns the values of these members; null counts as missing, and of a repeated one the last is taken.
    pub fn pick<const N: usize>(self, names: [&str; N]) -> Result<[Option<Node<'a>>; N], Bad> {
        let mut picked = [None; N];
        for member in self.members() {
            let (key, value) = member?;
            if let Some(place) = names.iter().position(|&name| name == key) {
                picked[place] = Some(value).filter(|v| !v.is_null());
            }
        }
        Ok(picked)
    }

    fn sub(self, start: usize, end: usize) -> Node<'a> {
        Node { text: &self.text[start..end], at: self.at + start as u64 }
    }

    /// Returns the string, decoded; `None` if the value is no string.
    pub fn string(self) -> Result<Option<Text<'a>>, Bad> {
        if !self.is_string() {
            return Ok(None);
        }
        match decode(self.text) {
            Some(text) => Ok(Some(text)),
            None => Err(Bad::syntax(self.at, format!("{} is no JSON string", self.describe()))),
        }
    }

    /// Returns the number; `None` if the value is no number.
    pub fn number(self) -> Result<Option<Number>, Bad> {
        if !matches!(self.first(), b'-' | b'+' | b'.' | b'0'..=b'9') {
            return match self.text {
                [b'{' | b'[' | b'"', ..] | b"true" | b"false" | b"null" => Ok(None),
                // Python writes these.
                b"NaN" | b"Infinity" => Ok(Some(Number::Huge)),
                _ => Err(Bad::syntax(self.at, format!("{} is no JSON value", self.describe()))),
            };
        }
        match parse_number(self.text) {
            Some(number) => Ok(Some(number)),
            None => Err(Bad::syntax(self.at, format!("{} is no JSON number", self.describe()))),
        }
    }

    /// Returns a decoded scalar as tags show it: strings as they are, numbers and booleans as written, null empty, the
    /// rest as JSON text.
    pub fn plain(self) -> Result<Text<'a>, Bad> {
        if let Some(text) = self.string()? {
            return Ok(text);
        }
        let shown = if self.is_null() { &b""[..] } else { self.text };
        if !self.is_object()
            && !self.is_array()
            && !self.is_null()
            && !matches!(self.text, b"true" | b"false")
        {
            self.number()?;
        }
        let text = String::from_utf8_lossy(shown);
        let is_lossy = matches!(text, Cow::Owned(_));
        Ok(Text { text, is_lossy })
    }
}

/// Returns the number a JSON text says.
pub(crate) fn parse_number(text: &[u8]) -> Option<Number> {
    match serde_json::from_slice::<serde_json::Number>(text) {
        Ok(number) => Some(match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Number::Whole(whole),
            (None, Some(x)) if x < 0.0 => Number::Negative,
            (None, Some(x)) if x < 18_446_744_073_709_551_616.0 => Number::Float(x),
            _ => Number::Huge,
        }),
        // Out of range is the only complaint about texts that are numbers: they end in a digit and begin as one.
        Err(error) if error.to_string().starts_with("number out of range") => {
            Some(if text.first() == Some(&b'-') { Number::Negative } else { Number::Huge })
        }
        Err(_) => None,
    }
}

/// See [`Node::members`].
pub(crate) struct Members<'a> {
    node: Node<'a>,
    at: usize,
    done: bool,
}

impl<'a> Members<'a> {
    fn fail<T>(&mut self, at: usize, what: &str) -> Option<Result<T, Bad>> {
        self.done = true;
        Some(Err(Bad::syntax(self.node.at + at as u64, what)))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<(Cow<'a, str>, Node<'a>), Bad>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let text = self.node.text;
        let is_first = self.at == 1;
        let mut at = skip_space(text, self.at);
        match text.get(at) {
            Some(b'}') => {
                self.done = true;
                return None;
            }
            Some(b',') if !is_first => at = skip_space(text, at + 1),
            _ if is_first => {}
            _ => return self.fail(at, "a comma or a closing brace is missing"),
        }
        if text.get(at) != Some(&b'"') {
            return self.fail(at, "a key is missing");
        }
        let key_end = match skip_string(text, at) {
            Ok(end) => end,
            Err(at) => return self.fail(at, "a key does not end"),
        };
        let Some(key) = decode(&text[at..key_end]) else {
            return self.fail(at, "a key is no JSON string");
        };
        at = skip_space(text, key_end);
        if text.get(at) != Some(&b':') {
            return self.fail(at, "a colon is missing");
        }
        at = skip_space(text, at + 1);
        match skip_value(text, at) {
            Ok(end) => {
                self.at = end;
                Some(Ok((key.text, self.node.sub(at, end))))
            }
            Err(at) => self.fail(at, "a value is missing or broken"),
        }
    }
}

/// See [`Node::elements`].
pub(crate) struct Elements<'a> {
    node: Node<'a>,
    at: usize,
    done: bool,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Node<'a>, Bad>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let text = self.node.text;
        let is_first = self.at == 1;
        let mut at = skip_space(text, self.at);
        let broken = match text.get(at) {
            Some(b']') => {
                self.done = true;
                return None;
            }
            Some(b',') if !is_first => {
                at = skip_space(text, at + 1);
                None
            }
            _ if is_first => None,
            _ => Some("a comma or a closing bracket is missing"),
        };
        if let Some(what) = broken {
            self.done = true;
            return Some(Err(Bad::syntax(self.node.at + at as u64, what)));
        }
        match skip_value(text, at) {
            Ok(end) => {
                self.at = end;
                Some(Ok(self.node.sub(at, end)))
            }
            Err(at) => {
                self.done = true;
                Some(Err(Bad::syntax(self.node.at + at as u64, "a value is missing or broken")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> Node<'_> {
        Node { text: text.as_bytes(), at: 100 }
    }

    #[test]
    fn members_and_elements_are_found_and_broken_ones_are_placed() {
        let object = node(r#"{ "a" : [1,{"b":"}"}] , "c\u0064":null}"#);
        let members: Vec<_> =
            object.members().map(|m| m.map(|(k, n)| (k.into_owned(), n.text.len()))).collect();
        assert_eq!(members, [Ok(("a".into(), 13)), Ok(("cd".into(), 4))]);
        let elements: Vec<_> = node("[1 , \"x\",[]]").elements().map(|e| e.map(|n| n.at)).collect();
        assert_eq!(elements, [Ok(101), Ok(105), Ok(109)]);
        for (text, at) in
            [("{\"a\" 1}", 105), ("{,}", 101), ("{\"a\":1,}", 107), ("{\"a\":}", 105), ("{\"a\":1]", 106)]
        {
            let error = node(text).members().find_map(Result::err).map(|b| b.at);
            assert_eq!(error, Some(at), "{text}");
        }
        assert_eq!(node("[1 2]").elements().find_map(Result::err).map(|b| b.at), Some(103));
    }

    #[test]
    fn numbers_keep_every_digit_and_say_what_they_are() {
        let number = |text| node(text).number().ok().flatten();
        assert_eq!(number("18446744073709551615"), Some(Number::Whole(u64::MAX)));
        assert_eq!(number("18446744073709551616"), Some(Number::Huge));
        assert_eq!(number("1e999"), Some(Number::Huge));
        assert_eq!(number("-1e999"), Some(Number::Negative));
        assert_eq!(number("-5"), Some(Number::Negative));
        assert_eq!(number("2.5").map(Number::rounded), Some(Number::Whole(3)));
        assert_eq!(number("true"), None);
        assert!(node("012").number().is_err() && node("tru").number().is_err());
    }

    #[test]
    fn what_is_no_utf8_is_replaced_and_said() {
        let text = decode(b"\"a\xffb\"").map(|t| (t.text.into_owned(), t.is_lossy));
        assert_eq!(text, Some(("a\u{fffd}b".into(), true)));
        let text = decode(b"\"a\xff\\n\"").map(|t| (t.text.into_owned(), t.is_lossy));
        assert_eq!(text, Some(("a\u{fffd}\n".into(), true)));
        assert_eq!(
            decode(br#""\ud83d\ude00""#).map(|t| (t.text.into_owned(), t.is_lossy)),
            Some(("😀".into(), false))
        );
        assert!(decode(br#""\ud83d""#).is_some_and(|t| t.is_lossy));
        assert!(decode(br#""\q""#).is_none());
    }
}
