//! Worked examples of section 1 of `docs/definitions/critical-path.md`, whatever the order in which spans come.

use super::*;
use crate::{SpanReference, TagSetId, several_parents};
use pathlight_base::statistics::Random;

/// A span of service `s` that starts at 100 and takes 10 us.
#[derive(Clone, Copy)]
struct Given {
    id: u64,
    parent: u64,
    start_us: u64,
    duration_us: u64,
    operation: &'static str,
    flags: u16,
}

const fn given(id: u64, parent: u64) -> Given {
    Given { id, parent, start_us: 100, duration_us: 10, operation: "o", flags: 0 }
}

impl Given {
    const fn at(self, start_us: u64, duration_us: u64) -> Given {
        Given { start_us, duration_us, ..self }
    }

    const fn flags(self, flags: u16) -> Given {
        Given { flags, ..self }
    }

    const fn named(self, operation: &'static str) -> Given {
        Given { operation, ..self }
    }
}

const CLIENT: u16 = SpanKind::Client as u16;
const SERVER: u16 = SpanKind::Server as u16;

/// A span in its place: id, id of its parent (0 for a root), start, and flags without the kind.
type Placed = (u64, u64, u64, u16);

/// A set, a normaliser, and what is known of the trace that it has normalised.
#[derive(Default)]
struct Normalised {
    set: TraceSet,
    normaliser: Normaliser,
    shape: TraceShape,
}

impl Normalised {
    fn raw(&mut self, of: Given) -> RawSpan {
        RawSpan {
            id: SpanId::hex(of.id),
            parent: SpanId::hex(of.parent),
            start_us: of.start_us,
            duration_us: of.duration_us,
            operation: self.set.operation(of.operation),
            process: self.set.process("s", "", TagSetId::EMPTY),
            tags: TagSetId::EMPTY,
            flags: Flags(of.flags),
        }
    }

    fn run(&mut self, mut spans: Vec<RawSpan>) -> Vec<Placed> {
        self.shape = self.normaliser.run(&mut self.set, TraceId::hex(1), &mut spans);
        assert!(spans.is_empty(), "the input is taken");
        let Normaliser { spans, order, .. } = &self.normaliser;
        let span = |place: u32| &spans[order[place as usize].0 as usize];
        let place = |at: u32| {
            let parent = order[at as usize].1;
            let parent = if parent == NO_ROW { 0 } else { span(parent).id.bits };
            (span(at).id.bits, parent, span(at).start_us, span(at).flags.0 & !7)
        };
        (0..order.len() as u32).map(place).collect()
    }
}

/// Normalises a trace in several orders of its spans; returns the one result.
fn normalised(given: &[Given]) -> (Vec<Placed>, TraceShape) {
    let mut first = None;
    for seed in 0..12 {
        let mut of = Normalised::default();
        let mut spans: Vec<RawSpan> = given.iter().map(|&span| of.raw(span)).collect();
        if seed > 0 {
            Random::new(seed, 0, 0).shuffle(&mut spans);
        }
        let placed = of.run(spans);
        let found = (placed, of.shape);
        assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "order {seed}");
    }
    first.unwrap_or_default()
}

fn placed(given: &[Given]) -> Vec<Placed> {
    normalised(given).0
}

#[test]
fn siblings_stand_by_start_then_the_longer_then_the_smaller_id_then_names() {
    let spans = [
        given(1, 0).at(100, 90),
        given(7, 1).at(120, 10),
        given(3, 1).at(110, 10),
        given(6, 1).at(110, 20),
        given(2, 1).at(110, 10),
        given(9, 3).at(115, 2),
    ];
    let expected =
        [(1, 0, 100, 0), (6, 1, 110, 0), (2, 1, 110, 0), (3, 1, 110, 0), (9, 3, 115, 0), (7, 1, 120, 0)];
    assert_eq!(placed(&spans), expected);
    // Without an id names decide.
    let alike =
        [given(1, 0), given(0, 1).named("b"), given(0, 1).named("a"), given(0, 1).named("a").flags(CLIENT)];
    let mut of = Normalised::default();
    let spans = alike.map(|span| of.raw(span)).into();
    of.run(spans);
    let Normaliser { spans, order, .. } = &of.normaliser;
    let names: Vec<_> = order[1..].iter().map(|(at, _)| &spans[*at as usize]).collect();
    let names: Vec<_> =
        names.iter().map(|span| (of.set.names.get(span.operation), span.flags.kind())).collect();
    let [none, client] = [SpanKind::Unspecified, SpanKind::Client];
    assert_eq!(names, [("a", none), ("a", client), ("b", none)]);
}

#[test]
fn the_trace_root_comes_first_then_other_roots_then_those_whose_parent_is_missing() {
    let orphan = Flags::ORPHAN;
    let spans = [
        given(1, 8).at(50, 500),
        given(2, 0).at(100, 10),
        given(3, 0).at(90, 5),
        given(4, 9).at(60, 1),
        given(5, 2).at(101, 1),
    ];
    let (placed, shape) = normalised(&spans);
    let expected = [(3, 0, 90, 0), (2, 0, 100, 0), (5, 2, 101, 0), (1, 0, 50, orphan), (4, 0, 60, orphan)];
    assert_eq!(placed, expected);
    assert_eq!(shape, TraceShape { roots: 4, orphans: 2, ..TraceShape::default() });
    assert!(!shape.is_incomplete());
    // If the parents of all are missing, the longest is the root of the trace; of equally long ones the earliest.
    let orphans = [given(1, 9).at(90, 20), given(2, 9).at(100, 30), given(3, 9).at(110, 30)];
    let (placed, shape) = normalised(&orphans);
    assert_eq!(placed, [(2, 0, 100, orphan), (1, 0, 90, orphan), (3, 0, 110, orphan)]);
    assert!(shape.is_incomplete());
    assert_eq!((shape.roots, shape.orphans), (3, 3));
}

#[test]
fn a_span_is_not_its_own_parent_and_one_without_an_id_is_nobodys() {
    let spans = [given(1, 1).at(100, 90), given(0, 1).at(110, 5), given(0, 1).at(120, 5)];
    let (placed, shape) = normalised(&spans);
    assert_eq!(placed, [(1, 0, 100, 0), (0, 1, 110, 0), (0, 1, 120, 0)]);
    assert_eq!(shape, TraceShape { roots: 1, ..TraceShape::default() });
}

#[test]
fn identical_copies_are_one_and_of_other_duplicates_the_longest_stays() {
    let error = Flags::ERROR;
    let (placed, shape) = normalised(&[
        given(1, 0).at(100, 90),
        given(2, 1).at(110, 10),
        given(2, 1).at(110, 10).flags(error),
        given(2, 1).at(105, 20),
        given(2, 1).at(110, 20),
        given(3, 2).at(112, 1),
    ]);
    assert_eq!(placed, [(1, 0, 100, 0), (2, 1, 105, 0), (3, 2, 112, 0)]);
    assert_eq!(shape, TraceShape { roots: 1, duplicates: 2, ..TraceShape::default() });
    let mut of = Normalised::default();
    of.set.tags.begin();
    of.set.tags.add("key", "value");
    let tags = of.set.tags.finish();
    let copy = |of: &mut Normalised, tags| RawSpan { tags, ..of.raw(given(1, 0)) };
    let spans = [TagSetId::EMPTY, tags, TagSetId::EMPTY].map(|tags| copy(&mut of, tags));
    let other = of.raw(given(1, 0).at(100, 4).flags(error));
    assert_eq!(of.run(spans.into_iter().chain([other]).collect()), [(1, 0, 100, 0)]);
    // What copies say is said by the one that stays; what is put aside is kept with its trace.
    assert_eq!((of.normaliser.spans[0].tags, of.set.copies), (tags, 2));
    let aside: Vec<_> = of.set.duplicates.iter().map(|(trace, span)| (*trace, span.duration_us)).collect();
    assert_eq!(aside, [(TraceId::hex(1), 4)]);
    let failing = [given(1, 0), given(1, 0).flags(error)];
    assert_eq!(self::placed(&failing), [(1, 0, 100, error)], "one copy knows of the error");
}

#[test]
fn a_client_and_a_server_of_one_id_are_a_call_and_children_belong_to_the_server() {
    let shared = Flags::SHARED;
    let (placed, shape) = normalised(&[
        given(1, 0).at(100, 90),
        given(2, 1).at(110, 40).flags(CLIENT),
        given(2, 1).at(115, 30).flags(SERVER),
        given(2, 1).at(112, 50),
        given(3, 2).at(120, 5),
    ]);
    let expected = [(1, 0, 100, 0), (2, 1, 110, 0), (2, 2, 115, shared), (3, 2, 120, 0)];
    assert_eq!(placed, expected);
    assert_eq!(shape, TraceShape { roots: 1, duplicates: 1, ..TraceShape::default() });
    // The child hangs below the server, not the client.
    let mut of = Normalised::default();
    let spans = [given(2, 0).flags(CLIENT), given(2, 0).at(101, 5).flags(SERVER), given(3, 2).at(102, 1)];
    let spans = spans.map(|span| of.raw(span)).into();
    of.run(spans);
    assert_eq!(of.normaliser.order.iter().map(|(_, parent)| *parent).collect::<Vec<_>>(), [NO_ROW, 0, 1]);
    // A server alone, and two servers, are no pair.
    assert_eq!(self::placed(&[given(1, 0).flags(SERVER)]), [(1, 0, 100, 0)]);
    let servers = [given(1, 0).at(100, 9).flags(SERVER), given(1, 0).flags(SERVER)];
    assert_eq!(self::placed(&servers), [(1, 0, 100, 0)]);
}

/// An id, and whether the reference to it says `FOLLOWS_FROM`.
type Reference = (u64, bool);

/// Returns a span that names several others.
fn naming(of: &mut Normalised, span: Given, references: &[Reference]) -> RawSpan {
    let reference = |&(id, follows_from): &Reference| SpanReference { id: SpanId::hex(id), follows_from };
    let references: Vec<_> = references.iter().map(reference).collect();
    let parent = several_parents(&references, &mut of.set.id_texts);
    let raw = of.raw(span.flags(span.flags | Flags::SEVERAL_PARENTS));
    RawSpan { parent, ..raw }
}

#[test]
fn of_several_references_the_first_to_another_span_of_the_trace_counts() {
    let (several, follows, orphan) = (Flags::SEVERAL_PARENTS, Flags::FOLLOWS_FROM, Flags::ORPHAN);
    let cases: [(&[Reference], u64, u16); 6] = [
        (&[(2, false), (1, false)], 2, several),
        (&[(2, true), (1, false)], 2, several | follows),
        (&[(9, false), (1, true)], 1, several | follows),
        // To itself is to nobody.
        (&[(5, false), (1, false)], 1, several),
        (&[(5, false)], 0, several),
        (&[(9, true), (8, false)], 0, several | follows | orphan),
    ];
    for (references, parent, flags) in cases {
        let mut of = Normalised::default();
        let mut spans: Vec<RawSpan> = [given(1, 0).at(90, 100), given(2, 1)].map(|span| of.raw(span)).into();
        spans.push(naming(&mut of, given(5, 0).at(105, 1), references));
        let placed = of.run(spans);
        let found = placed.into_iter().find(|(id, ..)| *id == 5);
        assert_eq!(found, Some((5, parent, 105, flags)), "{references:?}");
    }
}

#[test]
fn a_cycle_is_cut_at_its_first_span_and_what_hangs_on_it_stays() {
    let cycle = Flags::CYCLE;
    let (placed, shape) = normalised(&[
        given(1, 3).at(110, 10),
        given(2, 1).at(100, 10),
        given(3, 2).at(105, 10),
        given(4, 3).at(106, 1),
        given(5, 0).at(200, 5),
        given(6, 5).at(201, 1),
        // A second one.
        given(7, 8).at(300, 5),
        given(8, 7).at(300, 6),
    ]);
    let expected = [
        (5, 0, 200, 0),
        (6, 5, 201, 0),
        (2, 0, 100, cycle),
        (3, 2, 105, 0),
        (4, 3, 106, 0),
        (1, 3, 110, 0),
        (8, 0, 300, cycle),
        (7, 8, 300, 0),
    ];
    assert_eq!(placed, expected);
    assert_eq!(shape, TraceShape { roots: 3, orphans: 2, cycles: 2, duplicates: 0 });
    // A link to a span below is no fault: there it is cut, whichever starts first.
    let follows = Flags::FOLLOWS_FROM;
    let (placed, shape) = normalised(&[given(1, 2).at(100, 10), given(2, 1).at(110, 10).flags(follows)]);
    assert_eq!(placed, [(2, 0, 110, follows), (1, 2, 100, 0)]);
    assert_eq!(shape, TraceShape { roots: 1, ..TraceShape::default() });
}

#[test]
fn a_span_that_names_others_too_is_where_a_cycle_is_cut_and_hangs_below_one_of_them() {
    let several = Flags::SEVERAL_PARENTS;
    let run = |references: &[Reference]| {
        let mut of = Normalised::default();
        let spans = [given(1, 0).at(90, 100), given(2, 3).at(95, 10), given(4, 3).at(101, 1)];
        let mut spans: Vec<RawSpan> = spans.map(|span| of.raw(span)).into();
        spans.push(naming(&mut of, given(3, 0).at(100, 10), references));
        (of.run(spans), of.shape.cycles)
    };
    // 3 names 2, which hangs below it, and then 1.
    let tree = [(1, 0, 90, 0), (3, 1, 100, several), (2, 3, 95, 0), (4, 3, 101, 0)];
    assert_eq!(run(&[(2, false), (1, false)]), (tree.into(), 0));
    // All that it names hang below it.
    let flags = several | Flags::CYCLE;
    let cut = [(1, 0, 90, 0), (3, 0, 100, flags), (2, 3, 95, 0), (4, 3, 101, 0)];
    assert_eq!(run(&[(2, false), (4, false)]), (cut.into(), 1));
    // Or are missing: then it is an orphan, and no cycle.
    let flags = several | Flags::ORPHAN;
    let orphan = [(1, 0, 90, 0), (3, 0, 100, flags), (2, 3, 95, 0), (4, 3, 101, 0)];
    assert_eq!(run(&[(2, false), (9, false)]), (orphan.into(), 0));
    // Whatever was found out about spans above one another: 2 hangs below 4, 4 below 3, and neither will do.
    let mut of = Normalised::default();
    let chain = [given(1, 0).at(90, 100), given(2, 4).at(102, 1), given(4, 3).at(101, 3)];
    let mut spans: Vec<RawSpan> = chain.map(|span| of.raw(span)).into();
    spans.push(naming(&mut of, given(3, 0).at(100, 10), &[(2, false), (4, false), (1, false)]));
    let expected = [(1, 0, 90, 0), (3, 1, 100, several), (4, 3, 101, 0), (2, 4, 102, 0)];
    assert_eq!((of.run(spans), of.shape.cycles), (expected.into(), 0));
}

#[test]
fn spans_without_a_start_take_that_of_their_parent_and_roots_that_of_the_first_below() {
    let missing = Flags::START_MISSING;
    let tree = [
        given(1, 0).at(0, 50).flags(missing),
        given(2, 1).at(0, 5).flags(missing),
        given(3, 2).at(130, 5),
        given(4, 1).at(120, 5),
        given(5, 4).at(0, 5).flags(missing),
    ];
    let expected =
        [(1, 0, 120, missing), (2, 1, 120, missing), (3, 2, 130, 0), (4, 1, 120, 0), (5, 4, 120, missing)];
    assert_eq!(placed(&tree), expected);
    // A root that says 0 and reaches what is below it stands there; one that does not is moved.
    let at_zero = [given(1, 0).at(0, 50), given(2, 1).at(50, 5)];
    assert_eq!(placed(&at_zero), [(1, 0, 0, 0), (2, 1, 50, 0)]);
    let before = [given(1, 0).at(0, 49), given(2, 1).at(50, 5)];
    assert_eq!(placed(&before), [(1, 0, 50, missing), (2, 1, 50, 0)]);
    // Nothing below says when.
    assert_eq!(placed(&[given(1, 0).at(0, 5).flags(missing)]), [(1, 0, 0, missing)]);
    // A start that is there is not missing, whatever was said of it.
    assert_eq!(placed(&[given(1, 0).flags(missing)]), [(1, 0, 100, 0)]);
}

#[test]
fn thousands_of_spans_are_a_tree_in_blocks() {
    // Each span calls two; ids are not in order, and more than a block of them.
    let of = |number: u64| 1 + number * 7919 % 20_011;
    let spans: Vec<Given> = (0..20_011)
        .map(|number| {
            given(of(number), if number == 0 { 0 } else { of((number - 1) / 2) }).at(100 + number, 5)
        })
        .collect();
    let mut first = Normalised::default();
    let raw = spans.iter().map(|&span| first.raw(span)).collect();
    let placed = first.run(raw);
    assert_eq!((placed.len(), first.shape.roots, first.shape.cycles), (spans.len(), 1, 0));
    for (id, parent, start_us, flags) in placed {
        let number = start_us - 100;
        let expected = if number == 0 { 0 } else { of((number - 1) / 2) };
        assert_eq!((id, parent, flags), (of(number), expected, 0));
    }
    // A smaller trace after it is not disturbed by what is left.
    let small = [given(1, 0), given(2, 1)].map(|span| first.raw(span)).into();
    assert_eq!(first.run(small), [(1, 0, 100, 0), (2, 1, 100, 0)]);
    assert!(first.normaliser.by_id.capacity() < 20_011, "the table of a large trace is given back");
}
