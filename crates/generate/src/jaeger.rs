//! Jaeger JSON, written span by span.

use super::plan::Plan;
use super::{
    GenerateOptions, Generated, GeneratedSpan, GeneratedTag, GeneratedTrace, Generator, Kept, Sampler,
};
use std::io::{self, Write};

/// Bytes gathered before they are written.
const BUFFER: usize = 256 * 1024;

/// Writes all traces of `options` as one Jaeger API response, `{"data":[...]}`. Needs the memory of one trace.
///
/// # Errors
/// Of kind `InvalidInput` if the options cannot be used; else those of `out`.
pub fn write_jaeger(options: &GenerateOptions, out: &mut dyn Write) -> io::Result<Generated> {
    let generator = Generator::new(options).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let mut json = Json::new(Some(out));
    let mut summary = Generated::default();
    let mut plan = Plan::default();
    json.text("{\"data\":[");
    let sampler = options.sample.as_ref().map(|sample| Sampler::of(&generator, sample));
    for index in 0..options.traces {
        let mut trace = generator.trace_with(index, &mut plan);
        if sampler.as_ref().is_some_and(|sampler| !sampler.keeps(index, &mut trace)) {
            continue;
        }
        if summary.traces > 0 {
            json.text(",");
        }
        json.trace(&trace)?;
        summary.traces += 1;
        summary.spans += trace.spans.len() as u64;
    }
    json.text("],\"total\":0,\"limit\":0,\"offset\":0,\"errors\":null}\n");
    json.flush()?;
    summary.bytes = json.written;
    Ok(summary)
}

/// Returns one trace as the JSON object `{"traceID", "spans", "processes"}`.
pub fn trace_json(trace: &GeneratedTrace) -> String {
    let mut json = Json::new(None);
    // Without an output there is nothing that can fail.
    let _ = json.trace(trace);
    String::from_utf8(json.buffer).unwrap_or_default()
}

struct Json<'a> {
    out: Option<&'a mut dyn Write>,
    buffer: Vec<u8>,
    scratch: String,
    written: u64,
}

impl<'a> Json<'a> {
    fn new(out: Option<&'a mut dyn Write>) -> Json<'a> {
        Json { out, buffer: Vec::with_capacity(BUFFER + 8192), scratch: String::new(), written: 0 }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(out) = &mut self.out {
            out.write_all(&self.buffer)?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, n: u64) {
        number(&mut self.buffer, n);
    }

    fn trace(&mut self, trace: &GeneratedTrace) -> io::Result<()> {
        let mut trace_id = Vec::with_capacity(16);
        hex(&mut trace_id, trace.trace_id);
        self.text("{\"traceID\":\"");
        self.buffer.extend_from_slice(&trace_id);
        self.text("\",\"spans\":[");
        // Storages return spans in no useful order; a stride without a common factor visits each once.
        let n = trace.spans.len();
        let stride = stride(n);
        let mut at = n / 2;
        for i in 0..n {
            if i > 0 {
                self.text(",");
            }
            self.span(&trace_id, &trace.spans[at], trace.kept.filter(|_| at == 0));
            at = (at + stride) % n;
            if self.buffer.len() >= BUFFER {
                self.flush()?;
            }
        }
        self.text("],\"processes\":{");
        for (i, process) in trace.processes.iter().enumerate() {
            self.text(if i > 0 { ",\"p" } else { "\"p" });
            self.number(i as u64 + 1);
            self.text("\":{\"serviceName\":\"");
            escaped(&mut self.buffer, process.service);
            self.text("\",\"tags\":[");
            let Json { buffer, .. } = self;
            let mut first = true;
            process.visit_tags(|key, value| tag(buffer, &mut first, key, value));
            self.text("]}");
        }
        self.text("},\"warnings\":null}");
        Ok(())
    }

    fn span(&mut self, trace_id: &[u8], span: &GeneratedSpan, kept: Option<Kept>) {
        let Json { buffer, scratch, .. } = self;
        let text = |buffer: &mut Vec<u8>, s: &str| buffer.extend_from_slice(s.as_bytes());
        text(buffer, "{\"traceID\":\"");
        buffer.extend_from_slice(trace_id);
        text(buffer, "\",\"spanID\":\"");
        hex(buffer, span.span_id);
        text(buffer, "\",\"flags\":1,\"operationName\":\"");
        escaped(buffer, &span.name());
        text(buffer, "\",\"references\":[");
        if let Some(parent) = span.parent {
            text(buffer, "{\"refType\":\"");
            text(buffer, if parent.follows_from { "FOLLOWS_FROM" } else { "CHILD_OF" });
            text(buffer, "\",\"traceID\":\"");
            buffer.extend_from_slice(trace_id);
            text(buffer, "\",\"spanID\":\"");
            hex(buffer, parent.span_id);
            text(buffer, "\"}");
        }
        for (at, &(trace, to)) in span.links.iter().enumerate() {
            let is_first = at == 0 && span.parent.is_none();
            text(buffer, if is_first { "" } else { "," });
            text(buffer, "{\"refType\":\"FOLLOWS_FROM\",\"traceID\":\"");
            hex(buffer, trace);
            text(buffer, "\",\"spanID\":\"");
            hex(buffer, to);
            text(buffer, "\"}");
        }
        text(buffer, "],\"startTime\":");
        number(buffer, span.start_us);
        text(buffer, ",\"duration\":");
        number(buffer, span.duration_us);
        text(buffer, ",\"tags\":[");
        let mut first = true;
        span.visit_tags(scratch, |key, value| {
            // Of a trace that was sampled its own sampler says so.
            if kept.is_none() || !key.starts_with("sampler.") {
                tag(buffer, &mut first, key, value);
            }
        });
        if let Some(kept) = kept {
            kept.visit_tags(|key, value| tag(buffer, &mut first, key, value));
        }
        text(buffer, "],\"logs\":[");
        let mut first_log = true;
        span.visit_logs(|at_us, fields| {
            text(buffer, if first_log { "{\"timestamp\":" } else { ",{\"timestamp\":" });
            first_log = false;
            number(buffer, at_us);
            text(buffer, ",\"fields\":[");
            let mut first = true;
            for &(key, value) in fields {
                tag(buffer, &mut first, key, value);
            }
            text(buffer, "]}");
        });
        text(buffer, "],\"processID\":\"p");
        // A process that is missing has a name all the same.
        number(buffer, span.process.map_or(9999, |p| u64::from(p) + 1));
        text(buffer, "\",\"warnings\":");
        match span.warning() {
            Some(warning) => {
                text(buffer, "[\"");
                escaped(buffer, warning);
                text(buffer, "\"]}");
            }
            None => text(buffer, "null}"),
        }
    }
}

/// Returns a step that visits all of `n` places of a ring before it comes back.
fn stride(n: usize) -> usize {
    let mut stride = (n / 8 * 5).max(1) | 1;
    while common_factor(stride, n) > 1 {
        stride += 2;
    }
    stride
}

fn common_factor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn tag(buffer: &mut Vec<u8>, first: &mut bool, key: &str, value: GeneratedTag<'_>) {
    let open: &[u8] = if *first { b"{\"key\":\"" } else { b",{\"key\":\"" };
    *first = false;
    buffer.extend_from_slice(open);
    escaped(buffer, key);
    match value {
        GeneratedTag::Text(text) => {
            buffer.extend_from_slice(b"\",\"type\":\"string\",\"value\":\"");
            escaped(buffer, text);
            buffer.extend_from_slice(b"\"}");
        }
        GeneratedTag::Int(n) => {
            buffer.extend_from_slice(b"\",\"type\":\"int64\",\"value\":");
            if n < 0 {
                buffer.push(b'-');
            }
            number(buffer, n.unsigned_abs());
            buffer.push(b'}');
        }
        GeneratedTag::Float(x) => {
            buffer.extend_from_slice(b"\",\"type\":\"float64\",\"value\":");
            // Writing to a Vec cannot fail.
            let _ = write!(buffer, "{x}}}");
        }
        GeneratedTag::Bool(yes) => {
            buffer.extend_from_slice(b"\",\"type\":\"bool\",\"value\":");
            buffer.extend_from_slice(if yes { b"true}" } else { b"false}" });
        }
    }
}

fn escaped(buffer: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\') {
        buffer.extend_from_slice(text.as_bytes());
        return;
    }
    for byte in text.bytes() {
        match byte {
            b'"' => buffer.extend_from_slice(b"\\\""),
            b'\\' => buffer.extend_from_slice(b"\\\\"),
            b'\n' => buffer.extend_from_slice(b"\\n"),
            b'\t' => buffer.extend_from_slice(b"\\t"),
            0..0x20 => {
                buffer.extend_from_slice(b"\\u00");
                buffer.push(HEX[byte as usize >> 4]);
                buffer.push(HEX[byte as usize & 15]);
            }
            _ => buffer.push(byte),
        }
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn hex(buffer: &mut Vec<u8>, n: u64) {
    let mut digits = [0; 16];
    for (i, digit) in digits.iter_mut().enumerate() {
        *digit = HEX[(n >> (60 - 4 * i)) as usize & 15];
    }
    buffer.extend_from_slice(&digits);
}

fn number(buffer: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stride_visits_every_span_once() {
        for n in 1..300 {
            let (stride, mut at, mut seen) = (stride(n), n / 2, vec![false; n]);
            for _ in 0..n {
                seen[at] = true;
                at = (at + stride) % n;
            }
            assert!(seen.iter().all(|&s| s), "{n}");
        }
    }

    #[test]
    fn texts_and_numbers_are_read_back() {
        let mut buffer = Vec::new();
        let mut first = true;
        let hard = "a\"b\\c\nd\te\u{1}f ü 京";
        tag(&mut buffer, &mut first, "k", GeneratedTag::Text(hard));
        tag(&mut buffer, &mut first, "i", GeneratedTag::Int(i64::MIN));
        tag(&mut buffer, &mut first, "f", GeneratedTag::Float(0.125));
        let text = format!("[{}]", String::from_utf8(buffer).unwrap());
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read[0]["value"], hard);
        assert_eq!(read[1]["value"].as_i64(), Some(i64::MIN));
        assert_eq!(read[2]["value"], 0.125);
        let mut buffer = Vec::new();
        number(&mut buffer, u64::MAX);
        hex(&mut buffer, 0xab);
        assert_eq!(buffer, b"1844674407370955161500000000000000ab");
    }
}
