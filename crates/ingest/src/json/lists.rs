//! Beginnings of lists of tags met before, as a tree for each operation: its spans have the same tags in the same order, so
//! what comes next is guessed to be what came next the last time, and a list of known tags costs a comparison a tag.

use super::memo::Memo;
use super::view::{View, same};
use hashbrown::HashTable;
use pathlight_trace::{SpanFacts, TagSetId, TraceSet};

/// Most beginnings that are remembered.
const MAX_NODES: usize = 1 << 15;
/// Most tags without stored values that are remembered at one place.
const MAX_HEADS: usize = 8;
/// Their text in bytes, from which on it is time to forget all.
const MAX_HEAD_TEXT: usize = 1 << 22;
/// "No pair": of an empty list.
const NO_PAIR: u32 = u32::MAX;

/// A tag by its text.
#[derive(Clone, Copy)]
pub(crate) struct KnownTag {
    pub pair: u32,
    pub facts: Option<SpanFacts>,
    /// Where in its text the value begins, if nothing follows that; else 0.
    pub value_at: u32,
}

/// The trees; number 0 is the empty list of an operation that is not known yet. They refer to texts of the [`Memo`] of tags
/// and are cleared with it.
pub(crate) struct Lists {
    nodes: Vec<Node>,
    table: HashTable<u32>,
    /// Beginnings of tags up to their value, for keys whose values are not stored.
    heads: Vec<Head>,
    head_text: Vec<u8>,
    /// Nodes with hits.
    touched: Vec<u32>,
}

/// A list that ends with a certain tag.
#[derive(Clone, Copy)]
struct Node {
    /// Text of its last tag.
    text: (u32, u32),
    /// See [`KnownTag::value_at`].
    value_at: u32,
    /// The child met last; 0 is none.
    next: u32,
    /// One more than the number of the first of the tags without stored values that were met here; 0 is none.
    head: u32,
    parent: u32,
    tag: u32,
    pair: u32,
    /// The set of all its tags, if of this [generation](pathlight_trace::TagTable::generation).
    set: TagSetId,
    generation: Option<u32>,
    /// Spans with just this list whose keys are not counted yet.
    hits: u32,
    facts: SpanFacts,
}

impl Node {
    const EMPTY: Node = Node {
        text: (0, 0),
        value_at: 0,
        next: 0,
        head: 0,
        parent: 0,
        tag: u32::MAX,
        pair: NO_PAIR,
        set: TagSetId::EMPTY,
        generation: None,
        hits: 0,
        facts: SpanFacts::NONE,
    };
}

struct Head {
    text: (u32, u32),
    key: u32,
    /// One more than the number of the next at the same place; 0 is none.
    next: u32,
}

impl Default for Lists {
    fn default() -> Lists {
        Lists {
            nodes: vec![Node::EMPTY],
            table: HashTable::new(),
            heads: Vec::new(),
            head_text: Vec::new(),
            touched: Vec::new(),
        }
    }
}

/// Returns the place after a tag whose value begins at a place and is its last member.
#[inline]
fn end_of_tag(view: View<'_>, value: usize) -> Option<usize> {
    let end = match *view.text.get(value)? {
        b'"' => view.quote(value + 1)? + 1,
        _ => view.integer(value)?.1,
    };
    (*view.text.get(end)? == b'}').then_some(end + 1)
}

fn hash(parent: u32, tag: u32) -> u64 {
    (u64::from(parent) << 32 | u64::from(tag)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26)
}

impl Lists {
    /// Returns whether it is time to forget all.
    pub fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_NODES
            || self.heads.len() >= MAX_NODES
            || self.head_text.len() >= MAX_HEAD_TEXT
    }

    /// Returns the tags without stored values that were met at the end of a list, with their text.
    #[inline]
    fn heads_of(&self, list: u32) -> impl Iterator<Item = (&Head, &[u8])> {
        let head = |number: u32| self.heads.get(number.checked_sub(1)? as usize);
        let all = std::iter::successors(head(self.nodes[list as usize].head), move |one| head(one.next));
        all.map(|one| (one, &self.head_text[one.text.0 as usize..one.text.1 as usize]))
    }

    /// Returns the list with one more tag, if the text at a place is that of the tag that came next the last time; and
    /// the place after it.
    #[inline(always)]
    pub fn guess(&self, list: u32, tags: &Memo<KnownTag>, text: &[u8], at: usize) -> Option<(u32, usize)> {
        let next = self.nodes[list as usize].next;
        if next == 0 {
            return None;
        }
        let (start, end) = self.nodes[next as usize].text;
        let known = tags.all_text().get(start as usize..end as usize)?;
        let after = at + known.len();
        same(known, text.get(at..after)?).then_some((next, after))
    }

    /// Returns the key of the tag at a place, if it is one without stored values that stood here before; and the place
    /// after it.
    #[inline]
    pub fn guess_unstored(&self, list: u32, view: View<'_>, at: usize) -> Option<(u32, usize)> {
        let (head, value) = self.heads_of(list).find_map(|(head, known)| {
            let value = at + known.len();
            same(known, view.text.get(at..value)?).then_some((head, value))
        })?;
        let after = end_of_tag(view, value)?;
        // Escapes and other than ASCII are looked at closely elsewhere.
        let is_plain = view.text[value..after].iter().all(|&byte| byte < 0x80 && byte != b'\\');
        is_plain.then_some((head.key, after))
    }

    /// Returns the place after a tag that is like the one that came next the last time up to its value.
    #[inline]
    pub fn guess_end(&self, list: u32, tags: &Memo<KnownTag>, view: View<'_>, at: usize) -> Option<usize> {
        let next = &self.nodes[self.nodes[list as usize].next as usize];
        if next.value_at == 0 {
            return None;
        }
        let start = next.text.0 as usize;
        let known = tags.all_text().get(start..start + next.value_at as usize)?;
        let value = at + known.len();
        if !same(known, view.text.get(at..value)?) {
            return None;
        }
        end_of_tag(view, value)
    }

    /// Returns the empty list of an operation, by its number.
    pub fn start(&mut self, operation: u32) -> u32 {
        // No tag has such a number.
        let tag = NO_PAIR - 1 - operation;
        match self.find(0, tag) {
            Some(found) => found,
            None if self.nodes.len() >= MAX_NODES => 0,
            None => self.push(Node { tag, ..Node::EMPTY }),
        }
    }

    #[inline]
    fn find(&self, parent: u32, tag: u32) -> Option<u32> {
        let is_it = |node: &Node| node.parent == parent && node.tag == tag;
        self.table.find(hash(parent, tag), |&i| is_it(&self.nodes[i as usize])).copied()
    }

    fn push(&mut self, node: Node) -> u32 {
        let Lists { nodes, table, .. } = self;
        let number = nodes.len() as u32;
        nodes.push(node);
        let hash_of = |node: &Node| hash(node.parent, node.tag);
        table.insert_unique(hash_of(&node), number, |&i| hash_of(&nodes[i as usize]));
        number
    }

    /// Remembers that a tag without a stored value stands at the end of a list; `text` is the tag up to its value.
    pub fn note_unstored(&mut self, list: u32, text: &[u8], key: u32) {
        let is_known = self.heads_of(list).any(|(_, known)| known == text);
        if is_known || self.is_full() || text.len() > 4096 || self.heads_of(list).count() >= MAX_HEADS {
            return;
        }
        let start = self.head_text.len() as u32;
        self.head_text.extend_from_slice(text);
        let next = self.nodes[list as usize].head;
        self.heads.push(Head { text: (start, self.head_text.len() as u32), key, next });
        self.nodes[list as usize].head = self.heads.len() as u32;
    }

    /// Returns the list with one more tag, if it is known; it will be guessed the next time.
    #[inline]
    pub fn child(&mut self, list: u32, tag: u32) -> Option<u32> {
        let found = self.find(list, tag)?;
        self.nodes[list as usize].next = found;
        Some(found)
    }

    /// Remembers a list with one more tag, and returns it.
    pub fn add(&mut self, list: u32, tag: u32, tags: &Memo<KnownTag>) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        let known = tags.value(tag);
        let parent = self.nodes[list as usize];
        let mut facts = parent.facts;
        if let Some(said) = &known.facts {
            facts.merge(said);
        }
        let number = self.push(Node {
            text: tags.range(tag),
            value_at: known.value_at,
            parent: list,
            tag,
            pair: known.pair,
            facts,
            ..Node::EMPTY
        });
        self.nodes[list as usize].next = number;
        Some(number)
    }

    /// Returns what the tags of a list say.
    pub fn facts(&self, list: u32) -> SpanFacts {
        self.nodes[list as usize].facts
    }

    /// Returns the interned set of a list; its keys are counted once more.
    #[inline]
    pub fn set(&mut self, list: u32, set: &mut TraceSet) -> TagSetId {
        let generation = set.tags.generation();
        let node = &mut self.nodes[list as usize];
        if node.generation == Some(generation) {
            if node.hits == 0 {
                self.touched.push(list);
            }
            node.hits += 1;
            return node.set;
        }
        set.tags.begin();
        self.add_pairs(list, set);
        let tags = set.tags.finish();
        let node = &mut self.nodes[list as usize];
        (node.set, node.generation) = (tags, Some(generation));
        tags
    }

    /// Adds the tags of a list to the set begun.
    pub fn add_pairs(&self, list: u32, set: &mut TraceSet) {
        let mut node = &self.nodes[list as usize];
        while node.pair != NO_PAIR {
            set.tags.add_pair(node.pair);
            node = &self.nodes[node.parent as usize];
        }
    }

    /// Counts the keys of lists that were only noted.
    pub fn flush(&mut self, set: &mut TraceSet) {
        for list in self.touched.drain(..) {
            let times = std::mem::take(&mut self.nodes[list as usize].hits);
            let mut node = &self.nodes[list as usize];
            while node.pair != NO_PAIR {
                set.tags.count_key_times(set.tags.key_of_pair(node.pair), u64::from(times));
                node = &self.nodes[node.parent as usize];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_without_stored_values_in_a_row_are_remembered_once() {
        let mut lists = Lists::default();
        for _ in 0..100 {
            lists.note_unstored(0, b"{\"key\":\"http.url\",\"value\":", 1);
            lists.note_unstored(0, b"{\"key\":\"request.id\",\"value\":", 2);
        }
        let keys: Vec<u32> = lists.heads_of(0).map(|(head, _)| head.key).collect();
        assert_eq!((keys, lists.heads.len()), (vec![2, 1], 2));
        (0..100u8).for_each(|key| lists.note_unstored(0, &[key], 3));
        assert_eq!(lists.heads_of(0).count(), MAX_HEADS);
    }
}
