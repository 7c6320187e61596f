//! Names with values in them, and what is left of a name without its values (`docs/definitions/real-traces.md` section 5).

use super::tags::MAX_VALUE_BYTES;
use super::{Symbol, TraceSet};
use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Digits that are a value also within a word: `order12345`, not `v1`.
const LEAST_DIGITS: usize = 4;
/// The shortest hexadecimal number that is distinguished from a word.
const LEAST_HEX: usize = 8;
/// First words of statements, in lower case.
const STATEMENTS: [&str; 10] =
    ["select", "insert", "update", "delete", "with", "merge", "replace", "call", "exec", "upsert"];

/// Bytes of the longest name in which values are looked for: the search takes time by the square of a hostile name.
const LONGEST: usize = 4096;

/// Returns the name with its values replaced: `{uuid}`, `{email}`, `{ip}`, `{hex}`, `{n}`; in SQL also literals, and lists
/// of them as `({n}..)`. The name itself if it has none, if nothing with a letter would be left, or if it is longer than
/// 4 KiB.
pub fn template(name: &str) -> Cow<'_, str> {
    if name.len() > LONGEST || !name.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'@' | b'\''))
    {
        return Cow::Borrowed(name);
    }
    let is_sql = is_statement(name);
    let mut scan = Scan { name, at: 0, out: String::with_capacity(name.len()), has_letters: is_sql };
    while let Some(&byte) = name.as_bytes().get(scan.at) {
        if is_sql && byte == b'\'' {
            let end = end_of_literal(name.as_bytes(), scan.at);
            scan.put("{n}", end);
        } else if is_word(byte) {
            scan.word();
        } else {
            scan.copy(scan.at + 1);
        }
    }
    let Scan { mut out, has_letters, .. } = scan;
    if !has_letters {
        return Cow::Borrowed(name);
    }
    if is_sql {
        out = fold_lists(&out);
    }
    if out == name { Cow::Borrowed(name) } else { Cow::Owned(out) }
}

/// Returns the template of the path of an address, without host and query; a template is its own. A long one is cut after
/// a slash, as a stored value is after 256 bytes, and ends in an ellipsis.
pub fn address_template(address: &str) -> Cow<'_, str> {
    let whole = template(path_of(address));
    if whole.len() <= MAX_VALUE_BYTES {
        return whole;
    }
    let kept = &whole[..whole.floor_char_boundary(MAX_VALUE_BYTES)];
    // A word that is cut may look like a value.
    let end = kept.rfind('/').map_or(kept.len(), |at| at + 1);
    Cow::Owned(format!("{}…", &kept[..end]))
}

fn path_of(address: &str) -> &str {
    let is_scheme =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    let after = match address.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => rest.find('/').map_or("/", |at| &rest[at..]),
        _ => address,
    };
    after.split(['?', '#']).next().unwrap_or("")
}

/// Operations of one template that a set keeps as they were recorded.
pub(super) const MOST_RECORDED: u32 = 1 << 14;

impl TraceSet {
    /// Returns the symbol of an operation's name. Of names that differ in their values alone a set keeps 16,384; what comes
    /// after these is kept as the template, so that ids in names do not fill the memory while traces are read.
    pub fn operation(&mut self, name: &str) -> Symbol {
        if let Some(known) = self.names.find(name) {
            return known;
        }
        if let Cow::Owned(template) = template(name) {
            let template = self.names.intern(&template);
            let recorded = self.templates.entry(template).or_default();
            if *recorded == MOST_RECORDED {
                return template;
            }
            *recorded += 1;
        }
        self.names.intern(name)
    }

    /// Returns whether an operation is a template that stands for names which were not kept.
    pub(super) fn is_full_template(&self, operation: Symbol) -> bool {
        self.templates.get(&operation).is_some_and(|&recorded| recorded == MOST_RECORDED)
    }
}

struct Scan<'a> {
    name: &'a str,
    at: usize,
    out: String,
    /// Something with a letter stays.
    has_letters: bool,
}

/// Returns the bytes of words; those of a character beyond ASCII count as letters.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.name.as_bytes()[self.at..]
    }

    /// Writes a placeholder for what ends at `end`.
    fn put(&mut self, placeholder: &str, end: usize) {
        self.out.push_str(placeholder);
        self.at = end;
    }

    fn copy(&mut self, end: usize) {
        self.out.push_str(&self.name[self.at..end]);
        self.at = end;
    }

    /// Returns the length of the run of bytes from here on that `is_part` accepts.
    fn run(&self, is_part: impl Fn(u8) -> bool) -> usize {
        self.rest().iter().take_while(|&&byte| is_part(byte)).count()
    }

    /// Goes past the word that begins here, or past a value that begins with it.
    fn word(&mut self) {
        let values = [("{uuid}", self.uuid()), ("{email}", self.email()), ("{ip}", self.ip())];
        if let Some((placeholder, length)) =
            values.into_iter().find_map(|(name, length)| Some((name, length?)))
        {
            return self.put(placeholder, self.at + length);
        }
        let end = self.at + self.run(is_word);
        let word = &self.name[self.at..end];
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        if digits == word.len() {
            return self.put("{n}", end + self.decimals(end));
        }
        if word.len() >= LEAST_HEX && digits > 0 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return self.put("{hex}", end);
        }
        self.has_letters = true;
        while self.at < end {
            let digits = self.run(|byte| byte.is_ascii_digit());
            match digits {
                0 => self.copy(self.at + self.run(|byte| is_word(byte) && !byte.is_ascii_digit())),
                1..LEAST_DIGITS => self.copy(self.at + digits),
                _ => self.put("{n}", self.at + digits),
            }
        }
    }

    /// Returns the length of a UUID that begins here.
    fn uuid(&self) -> Option<usize> {
        let text = self.rest().get(..36)?;
        let is_uuid = text.iter().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
        (is_uuid && !self.rest().get(36).is_some_and(|&byte| is_word(byte))).then_some(36)
    }

    /// Returns the length of an e-mail address that begins here.
    fn email(&self) -> Option<usize> {
        let is_local = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-');
        let local = self.run(is_local);
        if self.rest().get(local) != Some(&b'@') {
            return None;
        }
        let domain = &self.rest()[local + 1..];
        let length = domain.iter().take_while(|&&byte| is_word(byte) || matches!(byte, b'.' | b'-')).count();
        let domain = domain[..length].trim_ascii_end();
        let dot = domain.iter().rposition(|&byte| byte == b'.')?;
        let top = &domain[dot + 1..];
        (dot > 0 && top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic)).then_some(local + 1 + length)
    }

    /// Returns the length of an IP address that begins here.
    fn ip(&self) -> Option<usize> {
        let of = |is_part: fn(u8) -> bool| {
            let length = self.run(is_part);
            let text = self.name.get(self.at..self.at + length)?.trim_end_matches(['.', ':']);
            let ends = !self.rest().get(text.len()).is_some_and(|&byte| is_word(byte));
            (ends && text.bytes().any(|byte| byte.is_ascii_digit())).then_some(text)
        };
        let four = of(|byte| byte.is_ascii_digit() || byte == b'.');
        if let Some(text) = four.filter(|text| text.parse::<Ipv4Addr>().is_ok()) {
            return Some(text.len());
        }
        let six = of(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'));
        six.filter(|text| text.contains(':') && text.parse::<Ipv6Addr>().is_ok()).map(str::len)
    }

    /// Returns the length of the decimals that follow a number which ends at `end`, with their point.
    fn decimals(&self, end: usize) -> usize {
        let rest = &self.name.as_bytes()[end..];
        let digits = rest.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
        let is_number = rest.first() == Some(&b'.') && digits > 0;
        if is_number && !rest.get(1 + digits).is_some_and(|&byte| is_word(byte)) { 1 + digits } else { 0 }
    }
}

fn is_statement(name: &str) -> bool {
    let mut words = name.split_ascii_whitespace();
    let first = words.next().unwrap_or_default().to_ascii_lowercase();
    STATEMENTS.contains(&first.as_str()) && words.next().is_some()
}

/// Returns where the literal ends whose quote is at `start`; a doubled quote is part of it.
fn end_of_literal(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Replaces lists of placeholders by `({n}..)`, and several of these after each other by one.
fn fold_lists(statement: &str) -> String {
    const LIST: &str = "({n}..)";
    let is_item = |item: &str| item == "?" || item.starts_with('{') && item.ends_with('}');
    let mut out = String::with_capacity(statement.len());
    let mut rest = statement;
    while let Some(open) = rest.find('(') {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let close =
            from.find(')').filter(|&close| from[1..close].split(',').all(|item| is_item(item.trim())));
        match close {
            Some(close) => {
                let text = out.trim_end();
                if text.strip_suffix(',').is_some_and(|text| text.ends_with(LIST)) {
                    out.truncate(text.len() - 1);
                } else {
                    out.push_str(LIST);
                }
                rest = &from[close + 1..];
            }
            None => {
                out.push('(');
                rest = &from[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_names_with_values_a_set_keeps_some_thousand() {
        let mut set = TraceSet::new();
        let name = |number: u32| format!("GET /user/{}", 1000 + number);
        for number in 0..2 * MOST_RECORDED {
            let symbol = set.operation(&name(number));
            let kept = if number < MOST_RECORDED { &name(number) } else { "GET /user/{n}" };
            assert_eq!(set.names.get(symbol), kept);
        }
        assert_eq!(set.names.len() as u32, MOST_RECORDED + 1);
        // One that is known stays itself, and so do other templates and names without values.
        for name in [name(7).as_str(), "GET /cart/1234", "GET /user"] {
            let symbol = set.operation(name);
            assert_eq!(set.names.get(symbol), name);
            assert!(!set.is_full_template(symbol));
        }
    }

    #[test]
    fn a_name_that_is_very_long_stays_as_it_is() {
        let long = "1.a".repeat(400_000);
        assert_eq!(template(&long), long);
    }

    #[test]
    fn values_become_placeholders() {
        for (name, expected) in [
            ("GET /user/8123", "GET /user/{n}"),
            ("GET /api/v1/users", "GET /api/v1/users"),
            ("GET /api/v1/users/7/cart", "GET /api/v1/users/{n}/cart"),
            ("order12345 done", "order{n} done"),
            ("topic-6f1c0f0e-58a5-4a5e-9d2d-0c3f3d1a2b4c.retry", "topic-{uuid}.retry"),
            ("GET /by/joe.doe+1@mail.example.com/x", "GET /by/{email}/x"),
            ("connect 10.0.0.12:5432", "connect {ip}:{n}"),
            ("connect fe80::1ff:fe23:4567:890a", "connect {ip}"),
            ("db::add", "db::add"),
            ("job 9f86d081884c7d65", "job {hex}"),
            ("deadbeef effaced", "deadbeef effaced"),
            ("job 12345678", "job {n}"),
            ("wait 2.5 s", "wait {n} s"),
            ("HTTP GET", "HTTP GET"),
            // Nothing with a letter would be left.
            ("8123", "8123"),
            ("/42/17", "/42/17"),
            ("über 99", "über {n}"),
            ("日本 2024年", "日本 {n}年"),
        ] {
            assert_eq!(template(name), expected);
        }
    }

    #[test]
    fn literals_and_lists_of_statements_become_placeholders() {
        for (name, expected) in [
            ("SELECT * FROM t WHERE id = 42", "SELECT * FROM t WHERE id = {n}"),
            ("select a from t where b = 'it''s' and c < 1.5", "select a from t where b = {n} and c < {n}"),
            ("SELECT a FROM t WHERE id IN (1, 2,3)", "SELECT a FROM t WHERE id IN ({n}..)"),
            ("SELECT a FROM t WHERE id IN (?)", "SELECT a FROM t WHERE id IN (?)"),
            ("SELECT a FROM t WHERE id IN (?, 3)", "SELECT a FROM t WHERE id IN ({n}..)"),
            ("INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')", "INSERT INTO t (a, b) VALUES ({n}..)"),
            ("select 'open", "select {n}"),
            ("don't fold", "don't fold"),
        ] {
            assert_eq!(template(name), expected);
        }
    }

    #[test]
    fn the_template_of_an_address_is_that_of_its_path() {
        for (address, expected) in [
            ("http://shop:80/cart/17?page=2#top", "/cart/{n}"),
            ("https://shop.example", "/"),
            ("/cart/17?to=http://a/b", "/cart/{n}"),
            ("/a://b/17", "/a://b/{n}"),
            ("https://a/x://b/c", "/x://b/c"),
            ("?q=1", ""),
        ] {
            assert_eq!(address_template(address), expected);
            assert_eq!(address_template(expected), expected);
        }
        let numbers: String = (0..120).map(|i| format!("{i},")).collect();
        for long in [format!("/batch/{numbers}/x/y"), format!("/{}/é", "deadbeefdeadbeefz/1/".repeat(40))] {
            let template = address_template(&long);
            assert!(template.len() <= MAX_VALUE_BYTES + 3 && template.ends_with('…'), "{template}");
            assert_eq!(address_template(&template), template);
        }
    }

    #[test]
    fn a_template_is_its_own_template() {
        for name in ["GET /{n}/x", "a {uuid} b12", "SELECT a FROM t WHERE id IN ({n}..)", "x'y", "'"] {
            assert_eq!(template(name), name);
        }
    }
}
