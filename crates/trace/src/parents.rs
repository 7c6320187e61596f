//! Spans that name several others of their trace (`docs/definitions/critical-path.md` section 1). Which of them is the parent
//! is known when the trace is whole: until then all stand in one text in the place of the parent's id.

use super::{Interner, SpanId, Symbol};

/// Stands between two references.
const BETWEEN: char = '\u{1f}';

/// A reference to another span of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanReference {
    /// The span.
    pub id: SpanId,
    /// Whether it says `FOLLOWS_FROM`.
    pub follows_from: bool,
}

/// Returns what stands for several references, the one that counts first before the others, in the place of a parent's id.
/// The span needs [`Flags::SEVERAL_PARENTS`](super::Flags::SEVERAL_PARENTS).
pub fn several_parents(references: &[SpanReference], texts: &mut Interner) -> SpanId {
    let mut list = String::new();
    for reference in references {
        if !list.is_empty() {
            list.push(BETWEEN);
        }
        list.push(if reference.follows_from { '~' } else { '^' });
        list.push_str(&reference.id.to_text(texts));
    }
    SpanId { bits: u64::from(texts.intern(&list).0), text: true }
}

/// Returns the references for which an id stands; an id that no span of the set has is `None`.
pub(super) fn references(list: SpanId, texts: &Interner) -> impl Iterator<Item = (Option<SpanId>, bool)> {
    let list = if list.text { texts.get(Symbol(list.bits as u32)) } else { "" };
    list.split(BETWEEN).filter_map(|reference| {
        let id = reference.strip_prefix(['~', '^'])?;
        Some((SpanId::find(id, texts), reference.starts_with('~')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_kept_in_their_order() {
        let mut texts = Interner::default();
        let odd = SpanId::parse("not hexadecimal", &mut texts);
        let of = |id, follows_from| SpanReference { id, follows_from };
        let list = several_parents(&[of(SpanId::hex(7), false), of(odd, true)], &mut texts);
        let back: Vec<_> = references(list, &texts).collect();
        assert_eq!(back, [(Some(SpanId::hex(7)), false), (Some(odd), true)]);
        // In another set, where no span has the id.
        let mut others = Interner::default();
        let symbol = others.intern(texts.get(Symbol(list.bits as u32)));
        let moved = SpanId { bits: u64::from(symbol.0), text: true };
        assert_eq!(
            references(moved, &others).map(|of| of.0).collect::<Vec<_>>(),
            [Some(SpanId::hex(7)), None]
        );
        assert_eq!(references(SpanId::hex(7), &others).count(), 0);
    }
}
