//! Times, ids and words, in all the ways rows write them.

use super::table::{Table, Word};
use crate::clock::{Clock, halves};
use crate::formats::jaeger::text;
use crate::formats::otlp::canonical;
use crate::formats::stdout::nanoseconds;
use crate::json::node::{Bad, Node, Number, parse_number};
use crate::sink::Sink;
use pathlight_trace::{SpanId, SpanKind, TraceId, TraceSet};

/// A time as it was written: to the nanosecond, or in microseconds, perhaps with a fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stamp {
    Ns(Number),
    Us(Number),
}

impl Stamp {
    /// Returns the time in microseconds.
    pub fn us(self) -> Number {
        match self {
            Stamp::Ns(Number::Whole(ns)) => Number::Whole(ns / 1000),
            Stamp::Ns(other) | Stamp::Us(other) => other,
        }
    }

    fn ns(self) -> Number {
        match self {
            Stamp::Ns(ns) => ns,
            Stamp::Us(us) => us.times_ten_to(3).rounded(),
        }
    }

    /// Returns the microseconds from one time to another.
    pub fn until(self, end: Stamp) -> Number {
        match (self.ns(), end.ns()) {
            (Number::Whole(start), Number::Whole(end)) => {
                end.checked_sub(start).map_or(Number::Negative, |ns| Number::Whole(ns / 1000))
            }
            (_, Number::Whole(_)) => Number::Huge,
            (_, other) => other,
        }
    }
}

/// Returns the time at a field of a table; a number is in the table's unit, a text says its unit itself.
pub(super) fn stamp(
    sink: &Sink,
    table: &Table,
    word: Word,
    node: Option<Node<'_>>,
) -> Result<Option<Stamp>, Bad> {
    let Some(node) = node else { return Ok(None) };
    let unit = table.unit(word);
    let power = sink.power_of(Clock::Rows(table.unit(Word::Start) as i8));
    let wrong = || node.wrong(node_name(word), "a time");
    let number = |number: Number| in_unit(number, unit + power);
    if let Some(given) = node.string()? {
        let given = given.text.trim();
        if given.is_empty() {
            return Ok(None);
        }
        return of_text(given, unit + power).map(Some).ok_or_else(wrong);
    }
    if node.is_array() {
        let mut parts = node.elements();
        let mut part = || parts.next().transpose()?.map_or(Ok(None), Node::number);
        return match (part()?, part()?) {
            (Some(seconds), Some(ns)) => Ok(Some(Stamp::Ns(sum(seconds.times_ten_to(9), ns)))),
            _ => Err(wrong()),
        };
    }
    if node.is_object() {
        return halves(node)?.map(|whole| Some(number(whole))).ok_or_else(wrong);
    }
    Ok(Some(number(node.number()?.ok_or_else(wrong)?)))
}

/// Returns the time that a text says; a number is in the unit that a power of ten makes seconds of.
pub(crate) fn of_text(given: &str, power: i32) -> Option<Stamp> {
    match parse_number(given.as_bytes()) {
        Some(plain) => Some(in_unit(plain, power)),
        None => said(given).map(Stamp::Ns),
    }
}

fn node_name(word: Word) -> &'static str {
    match word {
        Word::Start => "the start",
        Word::End => "the end",
        _ => "the duration",
    }
}

fn sum(a: Number, b: Number) -> Number {
    match (a.rounded(), b.rounded()) {
        (Number::Whole(a), Number::Whole(b)) => a.checked_add(b).map_or(Number::Huge, Number::Whole),
        (Number::Whole(_), other) | (other, _) => other,
    }
}

/// Returns a number times ten to a power as seconds.
fn in_unit(number: Number, power: i32) -> Stamp {
    match power {
        -9 => Stamp::Ns(number.rounded()),
        _ => Stamp::Us(number.times_ten_to(power + 6)),
    }
}

/// Returns the nanoseconds that a text says: a date with a time, seconds with their unit (`0.012s`), or hours, minutes and
/// seconds (`00:00:00.1000000`).
pub(crate) fn said(text: &str) -> Option<Number> {
    if let Some(ns) = nanoseconds(text) {
        return Some(ns);
    }
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let ns = match text.strip_suffix('s') {
        Some(seconds) => parse_seconds(seconds)?,
        None => {
            let mut parts = text.rsplitn(3, ':');
            let (seconds, minutes, hours) = (parts.next()?, parts.next()?, parts.next()?);
            // Days stand before a dot.
            let (days, hours) = hours.split_once('.').unwrap_or(("0", hours));
            let [days, hours, minutes] = [days, hours, minutes].map(|part| part.parse::<u32>().ok());
            let whole = u64::from(days?) * 86_400 + u64::from(hours?) * 3600 + u64::from(minutes?) * 60;
            sum(Number::Whole(whole).times_ten_to(9), parse_seconds(seconds)?)
        }
    };
    Some(if is_negative { Number::Negative } else { ns })
}

/// Returns the nanoseconds of decimal seconds.
fn parse_seconds(text: &str) -> Option<Number> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || part.len() > 9 || !part.bytes().chain(whole.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ns = whole.parse::<u64>().ok().and_then(|s| s.checked_mul(1_000_000_000));
    let part = format!("{part:0<9}").parse::<u64>().ok();
    Some(ns.zip(part).and_then(|(s, ns)| s.checked_add(ns)).map_or(Number::Huge, Number::Whole))
}

/// Returns the text of an id; a number as its digits.
pub(super) fn id_text<'a>(
    sink: &mut Sink,
    node: Node<'a>,
    name: &str,
) -> Result<std::borrow::Cow<'a, str>, Bad> {
    if node.is_string() {
        return Ok(text(sink, Some(node), name)?.map_or("".into(), |text| text.text));
    }
    match node.number()? {
        Some(_) => Ok(node.plain()?.text),
        None => Err(node.wrong(name, "an id")),
    }
}

/// Returns the id of a trace.
pub(super) fn trace_id(
    sink: &mut Sink,
    set: &mut TraceSet,
    table: &Table,
    node: Option<Node<'_>>,
) -> Result<TraceId, Bad> {
    let Some(node) = node else { return Ok(TraceId::NONE) };
    let given = id_text(sink, node, "the trace id")?;
    let is_decimal = table.has_decimal_traces || !node.is_string();
    if is_decimal && let Some(bits) = decimal(node, &given, 32) {
        return Ok(TraceId::hex(bits.into()));
    }
    let given = given.strip_prefix("0x").unwrap_or(&given);
    // X-Ray writes `1-5f29ab21-d4ebf299219a65bd5c31d6da`, others UUIDs: 32 digits with dashes.
    let digits = given.strip_prefix("1-").filter(|_| given.len() == 35).unwrap_or(given);
    if given.contains('-') && digits.bytes().filter(u8::is_ascii_hexdigit).count() == 32 && digits.len() <= 36
    {
        return Ok(TraceId::parse(&digits.replace('-', ""), &mut set.id_texts));
    }
    let is_base64 = !table.has_decimal_traces && !table.has_decimal_spans;
    let id = if is_base64 { canonical(given, 16) } else { given.to_owned() };
    Ok(TraceId::parse(&id, &mut set.id_texts))
}

/// Returns the id of a span; with a prefix it is a text, `prefix.id`.
pub(super) fn span_id(
    sink: &mut Sink,
    set: &mut TraceSet,
    table: &Table,
    node: Option<Node<'_>>,
    prefix: Option<&str>,
) -> Result<SpanId, Bad> {
    let Some(node) = node else { return Ok(SpanId::NONE) };
    let given = id_text(sink, node, "the span id")?;
    if let Some(prefix) = prefix {
        // A parent of -1 is none.
        let is_none = given.is_empty() || given.starts_with('-');
        return Ok(match is_none {
            true => SpanId::NONE,
            false => SpanId::parse(&format!("{prefix}.{given}"), &mut set.id_texts),
        });
    }
    let is_decimal = table.has_decimal_spans || !node.is_string();
    if is_decimal && let Some(bits) = decimal(node, &given, 16) {
        return Ok(SpanId::hex(bits));
    }
    let given = given.strip_prefix("0x").unwrap_or(&given);
    let id = if table.has_decimal_spans { given.to_owned() } else { canonical(given, 8) };
    Ok(SpanId::parse(&id, &mut set.id_texts))
}

/// Returns an id of a span that is a decimal number, bare or in quotes.
pub(crate) fn decimal_id(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Option<Node<'_>>,
    name: &str,
) -> Result<SpanId, Bad> {
    let Some(node) = node else { return Ok(SpanId::NONE) };
    let given = id_text(sink, node, name)?;
    match decimal(node, &given, 16) {
        Some(bits) => Ok(SpanId::hex(bits)),
        None if node.is_string() => Ok(SpanId::parse(&given, &mut set.id_texts)),
        None => Err(node.wrong(name, "an id")),
    }
}

/// Returns an id that is written as a decimal number of 64 bits, perhaps negative, bare or in quotes; so many digits in
/// quotes are hexadecimal, of which some have no letter.
fn decimal(node: Node<'_>, given: &str, hex_digits: usize) -> Option<u64> {
    if node.is_string() && given.len() == hex_digits && given.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    given.parse::<i64>().map(|id| id as u64).or_else(|_| given.parse::<u64>()).ok()
}

/// Returns what a word, or what stands before its first dot, means by a list of `word=meaning`, else the word.
pub(super) fn meaning<'a>(word: &'a str, meanings: &'a [String]) -> &'a str {
    let find = |word: &str| {
        meanings.iter().find_map(|one| {
            let (known, meaning) = one.split_once('=')?;
            known.eq_ignore_ascii_case(word).then_some(meaning)
        })
    };
    find(word).or_else(|| find(word.split_once('.')?.0)).unwrap_or(word)
}

/// Returns the kind that a word or a number of OTLP names.
pub(super) fn kind(word: &str, meanings: &[String]) -> SpanKind {
    let word = meaning(word, meanings);
    match word {
        "1" => SpanKind::Internal,
        "2" => SpanKind::Server,
        "3" => SpanKind::Client,
        "4" => SpanKind::Producer,
        "5" => SpanKind::Consumer,
        _ => {
            let word = word.rsplit_once('.').map_or(word, |(_, word)| word);
            SpanKind::parse(word.strip_prefix("RPC_").unwrap_or(word)).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_their_unit_themselves() {
        let ns = |text: &str| said(text);
        assert_eq!(ns("0.012s"), Some(Number::Whole(12_000_000)));
        assert_eq!(ns("3s"), Some(Number::Whole(3_000_000_000)));
        assert_eq!(ns("0.000000999s"), Some(Number::Whole(999)));
        assert_eq!(ns("-1s"), Some(Number::Negative));
        assert_eq!(ns("99999999999999999999s"), Some(Number::Huge));
        assert_eq!(ns("00:00:00.1000000"), Some(Number::Whole(100_000_000)));
        assert_eq!(ns("1.02:03:04"), Some(Number::Whole(93_784_000_000_000)));
        assert_eq!(ns("1970-01-01 00:00:01.000000999"), Some(Number::Whole(1_000_000_999)));
        assert_eq!(ns("1970-01-01 00:00:01.5 +0000 UTC"), Some(Number::Whole(1_500_000_000)));
        for bad in ["12", "s", "1.s2", "1e3s", "true", "+1s", "1:2", "a:b:c", ""] {
            assert_eq!(ns(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_are_in_the_unit_of_their_table() {
        let us = |number, power| in_unit(number, power).us().rounded();
        assert_eq!(us(Number::Whole(1_999), -9), Number::Whole(1));
        assert_eq!(us(Number::Float(1.5), -3), Number::Whole(1_500));
        assert_eq!(us(Number::Float(1_767_607_200.01), 0), Number::Whole(1_767_607_200_010_000));
        assert_eq!(Stamp::Ns(Number::Whole(1_999)).until(Stamp::Ns(Number::Whole(4_998))), Number::Whole(2));
        assert_eq!(Stamp::Us(Number::Whole(5)).until(Stamp::Us(Number::Whole(4))), Number::Negative);
        let low_high = halves(Node { text: br#"{"low":443301888,"high":411553122}"#, at: 0 });
        assert_eq!(low_high, Ok(Some(Number::Whole(411_553_122 << 32 | 443_301_888))));
    }
}
