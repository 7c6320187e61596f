//! The little of HTML that the packaging needs: start tags with their attributes, and references between files.

/// A start tag and, for a script, what stands up to its end tag.
#[derive(Debug, PartialEq)]
pub struct Element<'a> {
    /// `link`, `script` or `img`.
    pub name: &'a str,
    /// Name and value as written, in order.
    pub attributes: Vec<(&'a str, &'a str)>,
    /// Place in the text, end tag of a script included.
    pub range: std::ops::Range<usize>,
}

impl<'a> Element<'a> {
    /// Returns the value of an attribute.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// Returns every `link`, `script` and `img` element of a page, in order. Comments are skipped.
pub fn elements(page: &str) -> Vec<Element<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = page[at..].find('<').map(|offset| at + offset) {
        let rest = &page[start..];
        if rest.starts_with("<!--") {
            at = rest.find("-->").map_or(page.len(), |end| start + end + 3);
            continue;
        }
        at = start + 1;
        for name in ["link", "script", "img"] {
            let Some(tail) = rest[1..].strip_prefix(name) else { continue };
            if !tail.starts_with(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/') {
                continue;
            }
            let (attributes, used) = attributes(tail);
            let mut end = start + 1 + name.len() + used;
            if name == "script"
                && let Some(close) = page[end..].find("</script>")
            {
                end += close + "</script>".len();
            }
            found.push(Element { name, attributes, range: start..end });
            at = end;
        }
    }
    found
}

/// Returns the attributes of a start tag and the bytes up to and including its `>`.
fn attributes(tail: &str) -> (Vec<(&str, &str)>, usize) {
    let bytes = tail.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'>' {
        if bytes[at].is_ascii_whitespace() || bytes[at] == b'/' {
            at += 1;
            continue;
        }
        let name_end =
            bytes[at..].iter().position(|b| b"=> \t\r\n/".contains(b)).map_or(bytes.len(), |n| at + n);
        let name = &tail[at..name_end.max(at + 1)];
        at = name_end.max(at + 1);
        let mut value = "";
        if bytes.get(at) == Some(&b'=') {
            at += 1;
            let end_of = |stop: &[u8], from: usize| {
                bytes[from..].iter().position(|b| stop.contains(b)).map_or(bytes.len(), |n| from + n)
            };
            match bytes.get(at) {
                Some(&quote @ (b'"' | b'\'')) => {
                    let end = end_of(&[quote], at + 1);
                    value = &tail[at + 1..end];
                    at = (end + 1).min(bytes.len());
                }
                _ => {
                    let end = end_of(b"> \t\r\n", at);
                    value = &tail[at..end];
                    at = end;
                }
            }
        }
        found.push((name, value));
    }
    (found, (at + 1).min(bytes.len()))
}

/// Returns whether `text` refers to the file `name`: in quotes or in a `url(...)`, alone.
pub fn refers(text: &str, name: &str) -> bool {
    places(text, name).next().is_some()
}

/// Returns `text` with every reference to `from` replaced by one to `to`.
pub fn refer(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for place in places(text, from) {
        out.push_str(&text[at..place]);
        out.push_str(to);
        at = place + from.len();
    }
    out.push_str(&text[at..]);
    out
}

fn places<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(name).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].strip_suffix("./").unwrap_or(&text[..at]);
        let opened = before.ends_with(['"', '\'', '(', '`']);
        opened && text[at + name.len()..].starts_with(['"', '\'', ')', '`'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_scripts_are_found_with_their_attributes_and_comments_are_not() {
        let page = "<!-- <script src=no></script> --><link rel=stylesheet href='a.css'/><linked>\n\
                    <script defer src=\"b.js\" data-x=\"1 > 0\"></script><p>";
        let found = elements(page);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].get("rel"), found[0].get("href")), (Some("stylesheet"), Some("a.css")));
        assert_eq!((found[1].get("defer"), found[1].get("data-x")), (Some(""), Some("1 > 0")));
        assert!(page[found[1].range.clone()].ends_with("</script>"));
    }

    #[test]
    fn a_reference_is_the_whole_quoted_name() {
        let text = "href=\"www/a.js\" './www/a.js' url(www/a.js) \"www/a.json\" \"x/www/a.js\" www/a.js";
        assert_eq!(
            refer(text, "www/a.js", "a-1.js"),
            "href=\"a-1.js\" './a-1.js' url(a-1.js) \"www/a.json\" \"x/www/a.js\" www/a.js"
        );
        assert!(!refers("www/a.js", "www/a.js"));
    }
}
