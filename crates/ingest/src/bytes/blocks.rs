//! Blocks of lines that console exporters print, one a span: each becomes an object.

use super::written::{Leftovers, push_string};

/// Longest line that is read.
const MAX_LINE: usize = 1 << 20;

/// Whose blocks they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// `Activity.TraceId: ..`, `    key: value` below a name with nothing behind it.
    DotNet,
    /// `Span #0`, then lines after a tab; `->` before each tag.
    Rust,
}

/// Blocks being read.
pub(crate) struct Blocks {
    writer: Writer,
    line: Vec<u8>,
    /// Members of the block being read, and the number of the one that holds the lines below it.
    block: Vec<(Vec<u8>, Value)>,
    /// Tags of the resource above the blocks.
    resource: Vec<(Vec<u8>, Vec<u8>)>,
    is_in_resource: bool,
}

enum Value {
    Text(Vec<u8>),
    Below(Vec<(Vec<u8>, Vec<u8>)>),
}

/// What a block of .NET must have to be whole.
const LAST_OF_DOT_NET: &[u8] = b"Activity.Duration";
/// What a block of Rust must have to be whole.
const LAST_OF_RUST: &[u8] = b"End time";

impl Blocks {
    /// Returns the blocks that a text holds that begins so, perhaps among other lines.
    pub fn of(head: &[u8]) -> Option<Blocks> {
        let mut lines = head.split(|&byte| byte == b'\n').peekable();
        let writer = loop {
            let line = lines.next()?.trim_ascii_end();
            if line.starts_with(b"Activity.TraceId:") {
                break Writer::DotNet;
            }
            if line == b"Spans" && lines.peek().is_some_and(|next| next.trim_ascii_end() == b"Resource") {
                break Writer::Rust;
            }
        };
        let (line, block, resource) = (Vec::new(), Vec::new(), Vec::new());
        Some(Blocks { writer, line, block, resource, is_in_resource: false })
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.line.len() < MAX_LINE {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                match self.writer {
                    Writer::DotNet => self.line_of_dot_net(line.trim_ascii_end(), out),
                    Writer::Rust => self.line_of_rust(line.trim_ascii_end(), out),
                }
            }
        }
    }

    fn line_of_dot_net(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if line.starts_with(b"Activity.TraceId:") {
            self.end(out);
        } else if self.block.is_empty() {
            return;
        }
        let Some((key, value)) = split_once(line, b":") else { return };
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let value = if value.is_empty() { Value::Below(Vec::new()) } else { Value::Text(value.to_vec()) };
            self.block.push((key.to_vec(), value));
        } else if let Some((_, Value::Below(below))) = self.block.last_mut() {
            below.push((key.to_vec(), value.to_vec()));
        }
    }

    fn line_of_rust(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let inner = line.trim_ascii_start();
        if line.starts_with(b"Span #") {
            self.end(out);
            self.is_in_resource = false;
            let resource = Value::Below(self.resource.clone());
            self.block.push((b"Resource".to_vec(), resource));
        } else if line == b"Resource" {
            self.end(out);
            self.resource.clear();
            self.is_in_resource = true;
        } else if let Some(tag) = inner.strip_prefix(b"->") {
            let Some(at) = tag.iter().position(|byte| matches!(byte, b'=' | b':')) else { return };
            let pair = (tag[..at].trim_ascii().to_vec(), debugged(&tag[at + 1..]).to_vec());
            if self.is_in_resource {
                self.resource.push(pair);
            } else if let Some((_, Value::Below(below))) = self.block.last_mut() {
                below.push(pair);
            }
        } else if line.len() == inner.len() + 1 && !self.block.is_empty() {
            let (key, value) = split_once(line, b":").unwrap_or((inner, b""));
            let value = match value {
                b"" => Value::Below(Vec::new()),
                // The status of an error has a description in braces.
                _ if key == b"Status" => Value::Text(first_word(value).to_vec()),
                _ => Value::Text(value.to_vec()),
            };
            self.block.push((key.to_vec(), value));
        }
    }

    /// Writes the block, if it has what every whole one has; whether it does.
    fn end(&mut self, out: &mut Vec<u8>) -> bool {
        let last = if self.writer == Writer::DotNet { LAST_OF_DOT_NET } else { LAST_OF_RUST };
        let block = std::mem::take(&mut self.block);
        if !block.iter().any(|(key, _)| key == last) {
            return block.is_empty();
        }
        let member = |place: usize, key: &[u8], out: &mut Vec<u8>| {
            out.push(if place == 0 { b'{' } else { b',' });
            push_string(key, out);
            out.push(b':');
        };
        for (place, (key, value)) in block.iter().enumerate() {
            member(place, key, out);
            match value {
                Value::Text(text) => push_string(text, out),
                Value::Below(below) if below.is_empty() => out.extend(b"{}"),
                Value::Below(below) => {
                    for (place, (key, value)) in below.iter().enumerate() {
                        member(place, key, out);
                        push_string(value, out);
                    }
                    out.push(b'}');
                }
            }
        }
        out.extend(b"}\n");
        true
    }

    /// Ends the text.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Leftovers {
        let is_cut = !self.line.trim_ascii().is_empty();
        let is_whole = self.end(out);
        Leftovers { bad: 0, is_cut: is_cut || !is_whole }
    }
}

/// Returns key and value around a separator, without space around them.
fn split_once<'a>(line: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::find(line, separator)?;
    Some((line[..at].trim_ascii(), line[at + separator.len()..].trim_ascii()))
}

fn first_word(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    &text[..end]
}

/// Returns what is in a value as Rust prints it for people: `String(Owned("shop"))`, `I64(5)`.
fn debugged(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii();
    while let Some(open) = memchr::memchr(b'(', text)
        && text.ends_with(b")")
        && text[..open].iter().all(u8::is_ascii_alphanumeric)
    {
        text = &text[open + 1..text.len() - 1];
    }
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, bool) {
        let (mut blocks, mut out) = (Blocks::of(text.as_bytes()).unwrap(), Vec::new());
        text.as_bytes().chunks(5).for_each(|chunk| blocks.feed(chunk, &mut out));
        let left = blocks.finish(&mut out);
        (String::from_utf8(out).unwrap(), left.is_cut)
    }

    #[test]
    fn a_block_of_lines_becomes_an_object() {
        let text = "info: up\nActivity.TraceId:   a\nActivity.Tags:\n    http.route: /x: y\nActivity.Duration:  00:00:01\n\nActivity.TraceId: b\nActivity.Du";
        let first = "{\"Activity.TraceId\":\"a\",\"Activity.Tags\":{\"http.route\":\"/x: y\"},\"Activity.Duration\":\"00:00:01\"}\n";
        assert_eq!(read(text), (first.to_owned(), true));
        let text = "Spans\nResource\n\t ->  service.name=String(Owned(\"shop\"))\nSpan #0\n\tInstrumentation Scope\n\t\tName : \"x\"\n\tName        : GET\n\tEnd time: 2\n\tStatus  : Error { description: \"x\" }\n\tAttributes:\n\t\t ->  n: I64(5)\n";
        let first = "{\"Resource\":{\"service.name\":\"shop\"},\"Instrumentation Scope\":{},\"Name\":\"GET\",\"End time\":\"2\",\"Status\":\"Error\",\"Attributes\":{\"n\":\"5\"}}\n";
        assert_eq!(read(text), (first.to_owned(), false));
    }
}
