//! A record of a table, whose members are looked up by paths.

use crate::json::node::{Bad, Node};
use std::borrow::Cow;

/// The members of a record, in order.
#[derive(Default)]
pub(crate) struct Record<'a> {
    pub members: Vec<(Cow<'a, str>, Node<'a>)>,
    /// Where it begins.
    pub at: u64,
}

impl<'a> Record<'a> {
    /// Returns the members of an object; none of any other value.
    pub fn of(node: Node<'a>) -> Result<Record<'a>, Bad> {
        Ok(Record { members: node.members().collect::<Result<_, _>>()?, at: node.at })
    }

    /// Returns the value at a path; null counts as missing, and of a repeated key the last is taken. A key that holds dots
    /// goes before keys within keys.
    pub fn get(&self, path: &str) -> Result<Option<Node<'a>>, Bad> {
        let found = self.members.iter().rev().find(|(key, _)| key == path);
        if let Some((_, value)) = found {
            return Ok(Some(*value).filter(|value| !value.is_null()));
        }
        if !path.contains('.') {
            return Ok(None);
        }
        let inner = self.members.iter().rev().find_map(|(key, value)| Some((*value, below(key, path)?)));
        let Some((mut node, mut path)) = inner else { return Ok(None) };
        // Every step makes the path shorter.
        loop {
            let (mut whole, mut deeper) = (None, None);
            for member in node.members() {
                let (key, value) = member?;
                if key == path {
                    whole = Some(value);
                } else if let Some(rest) = below(&key, path) {
                    deeper = Some((value, rest));
                }
            }
            match (whole, deeper) {
                (Some(value), _) => return Ok(Some(value).filter(|value| !value.is_null())),
                (None, Some((value, rest))) => (node, path) = (value, rest),
                (None, None) => return Ok(None),
            }
        }
    }
}

/// Returns what is left of a path below a key that it begins with.
fn below<'p>(key: &str, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(key)?.strip_prefix('.')
}

/// A record with what is around it.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s, 'a> {
    pub record: &'s Record<'a>,
    /// The span at the top of those it is nested in, the object that holds the list, and what is common to all.
    pub around: [Option<&'s Record<'a>>; 3],
}

impl<'s, 'a: 's> Scope<'s, 'a> {
    /// Returns the value at the first of these paths that has one.
    pub fn first(&self, paths: &'s [String]) -> Result<Option<Node<'s>>, Bad> {
        for path in paths {
            if let Some(found) = self.get(path)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the value at a path, in the record or, after `^`, around it; what stands after `=` is the value.
    pub fn get(&self, path: &'s str) -> Result<Option<Node<'s>>, Bad> {
        if let Some(value) = path.strip_prefix('=') {
            return Ok(Some(Node { text: value.as_bytes(), at: self.record.at }));
        }
        let Some(path) = path.strip_prefix('^') else { return self.record.get(path) };
        for around in self.around.into_iter().flatten() {
            if let Some(found) = around.get(path)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_key_or_keys_within_keys() {
        let text = br#"{"a.b":1,"a":{"b":2,"c.d":{"e":3},"n":null},"c":{"d":4},"c":{"d":5}}"#;
        let record = Record::of(Node { text, at: 0 }).unwrap();
        let at = |path: &str| {
            record.get(path).unwrap().map(|node| String::from_utf8_lossy(node.text).into_owned())
        };
        assert_eq!(at("a.b").as_deref(), Some("1"));
        assert_eq!(at("a.c.d.e").as_deref(), Some("3"));
        assert_eq!(at("c.d").as_deref(), Some("5"));
        for missing in ["a.n", "a.x", "x", "a.b.c", "a.", ""] {
            assert_eq!(at(missing), None, "{missing}");
        }
    }
}
