//! Worked examples of section 2 of `docs/definitions/critical-path.md` and of sections 6 to 10 of
//! `docs/definitions/real-traces.md`. Times are in microseconds.

use super::*;
use crate::{Overlap, RawSpan, SpanId, TagSetId, TraceId};

/// A span: id, id of its parent (0 for none), service, kind, start and end. A service stands on a host of its own name.
#[derive(Clone, Copy)]
struct Given {
    id: u64,
    parent: u64,
    service: &'static str,
    flags: u16,
    times: (u64, u64),
}

const fn given(id: u64, parent: u64, times: (u64, u64)) -> Given {
    Given { id, parent, service: "a", flags: Internal as u16, times }
}

impl Given {
    const fn of(self, service: &'static str, kind: SpanKind) -> Given {
        Given { service, flags: kind as u16, ..self }
    }

    const fn follows(self) -> Given {
        Given { flags: self.flags | Flags::FOLLOWS_FROM, ..self }
    }
}

/// Returns a set whose second trace is this one, so that rows are not the places in it.
fn set_of(given: &[Given]) -> TraceSet {
    let mut set = TraceSet::new();
    for (trace, spans) in [(1, &[self::given(1, 0, (10, 20)), self::given(2, 1, (12, 15))][..]), (2, given)] {
        let mut raw = Vec::new();
        for span in spans {
            raw.push(RawSpan {
                id: SpanId::hex(span.id),
                parent: SpanId::hex(span.parent),
                start_us: span.times.0,
                duration_us: span.times.1 - span.times.0,
                operation: set.names.intern(&format!("operation of {}", span.service)),
                process: set.process(span.service, span.service, TagSetId::EMPTY),
                tags: TagSetId::EMPTY,
                flags: Flags(span.flags),
            });
        }
        set.add_trace(TraceId::hex(trace), &mut raw).unwrap();
    }
    set.seal().unwrap();
    set
}

/// Every rule but that of overlays, which has tests of its own.
fn real() -> PathSettings {
    let reading = Reading::real().with(ReadingRule::Overlay, false);
    PathSettings { reading, ..PathSettings::default() }
}

fn plain() -> PathSettings {
    PathSettings::plain(Overlap::default())
}

/// By id: role, start and end.
type Placed = Vec<(u64, Role, u64, u64)>;

fn placed_in(set: &TraceSet, tree: &Tree) -> Placed {
    let of = |i: u32| {
        let at = i as usize;
        (set.span_id(tree.row(i)).bits, tree.role[at], tree.start_us[at], tree.end_us[at])
    };
    let mut placed: Placed = (0..tree.len() as u32).map(of).collect();
    placed.sort_unstable_by_key(|span| span.0);
    placed
}

/// Returns how spans are placed, loaded at once and one by one.
fn placed(given: &[Given], settings: PathSettings) -> Placed {
    let set = set_of(given);
    let mut tree = Tree::default();
    tree.load(&set, 1, settings);
    assert_eq!(tree.settings(), settings);
    assert_eq!((tree.len(), tree.is_empty(), tree.row(0)), (given.len(), false, 2));
    let placed = placed_in(&set, &tree);
    let mut steps = 1;
    tree.begin(&set, 1, settings, RequestRoots::All);
    while !tree.step(&set, 1) {
        steps += 1;
    }
    assert_eq!((placed_in(&set, &tree), steps), (placed.clone(), given.len()));
    placed
}

/// Returns the role of the span with id 2 below a root over `parent`.
fn role_below(parent: (u64, u64), child: Given, settings: PathSettings) -> Role {
    placed(&[given(1, 0, parent), child], settings)[1].1
}

use Role::{Async, Dropped, Root, Sync};
use SpanKind::{Client, Consumer, Internal, Producer, Server};

#[test]
fn a_child_is_clipped_dropped_or_left_alone() {
    let spans = [
        given(1, 0, (100, 200)),
        given(2, 1, (50, 250)),
        given(3, 1, (10, 100)),
        given(4, 3, (20, 90)),
        given(5, 1, (200, 200)),
        given(6, 1, (150, 400)).follows(),
        given(7, 1, (100, 100)),
        given(8, 1, (200, 210)),
        given(9, 6, (300, 500)),
        given(10, 1, (99, 99)),
    ];
    let expected = [
        (1, Root, 100, 200),
        (2, Sync, 100, 200),
        (3, Dropped, 10, 100),
        (4, Dropped, 20, 90),
        (5, Sync, 200, 200),
        (6, Async, 150, 400),
        (7, Sync, 100, 100),
        (8, Dropped, 200, 210),
        (9, Sync, 300, 400),
        (10, Dropped, 99, 99),
    ];
    assert_eq!(placed(&spans, plain()), expected);
}

#[test]
fn within_a_process_nobody_waits_for_what_goes_on() {
    let parent = (1_000_003, 1_010_003);
    let role = |start, end| role_below(parent, given(2, 1, (start, end)), real());
    assert_eq!(role(1_010_003, 1_010_004), Async, "starts where its parent ends");
    assert_eq!(role_below(parent, given(2, 1, (1_010_003, 1_010_004)), plain()), Dropped);
    assert_eq!(role(1_009_503, 1_010_003), Sync, "ends with it");
    // 1 % of the parent, 100 us, passes for skew.
    assert_eq!((role(1_009_503, 1_010_103), role(1_009_503, 1_010_104)), (Sync, Async));
    // 200 us are a tenth of 2,000, and less than that of 2,010.
    assert_eq!((role(1_008_203, 1_010_203), role(1_008_193, 1_010_203)), (Async, Sync));
    // Whole milliseconds are rounded: one more passes. Both starts have to be.
    let role = |start, end| role_below((1_000_000, 1_010_000), given(2, 1, (start, end)), real());
    assert_eq!((role(1_009_000, 1_011_100), role(1_009_000, 1_011_101)), (Sync, Async));
    assert_eq!(role(1_009_001, 1_011_100), Async);
}

#[test]
fn a_callee_that_outlasts_its_call_is_cut_and_one_that_begins_long_after_is_not_waited_for() {
    let call = given(2, 1, (0, 100_000)).of("a", Client);
    let root = given(1, 0, (0, 1_000_000));
    let callee = |times| [root, call, given(3, 2, times).of("b", Server)];
    assert_eq!(placed(&callee((50_000, 300_000)), real())[2], (3, Sync, 50_000, 100_000));
    // 400 ms from its call, of which it lasts a tenth: no clock explains that.
    let late = callee((500_000, 510_000));
    assert_eq!(placed(&late, real())[2], (3, Async, 500_000, 510_000));
    let no_clocks = real().reading.with(ReadingRule::Clocks, false);
    assert_eq!(placed(&late, PathSettings { reading: no_clocks, ..real() })[2].1, Dropped);
}

#[test]
fn an_offset_of_clocks_moves_a_callee_and_what_is_below_it() {
    let spans = [
        given(1, 0, (1_000_000, 1_200_000)).of("a", Server),
        given(2, 1, (1_010_000, 1_020_000)),
        given(3, 1, (1_100_000, 1_150_000)).of("a", Client),
        given(4, 3, (1_130_000, 1_160_000)).of("b", Server),
        given(5, 4, (1_140_000, 1_155_000)).of("b", Internal),
        given(6, 4, (1_135_000, 1_400_000)).of("b", Consumer),
    ];
    let moved = [
        (1, Root, 1_000_000, 1_200_000),
        (2, Sync, 1_010_000, 1_020_000),
        (3, Sync, 1_100_000, 1_150_000),
        (4, Sync, 1_120_000, 1_150_000),
        (5, Sync, 1_130_000, 1_145_000),
        // No clock above says anything about it.
        (6, Async, 1_135_000, 1_400_000),
    ];
    assert_eq!(placed(&spans, real()), moved);
    let set = set_of(&spans);
    let mut tree = Tree::default();
    tree.load(&set, 1, real());
    let of = |id| (0..6).find(|&i| set.span_id(tree.row(i)).bits == id).unwrap();
    assert_eq!((tree.clock_shift_us(of(4)), tree.raw_start_us(&set, of(4))), (-10_000, 1_120_000));
    assert_eq!((tree.clock_shift_us(of(6)), tree.raw_start_us(&set, of(6))), (0, 1_135_000));
    assert_eq!((tree.clock_shift_us(of(3)), tree.duration_us(of(4))), (0, 30_000));
    // Taken as they were written it is cut.
    assert_eq!(placed(&spans, plain())[3], (4, Sync, 1_130_000, 1_150_000));
}

#[test]
fn who_sends_a_message_does_not_wait_for_it() {
    let role = |parent: SpanKind, settings| {
        let spans = [given(1, 0, (0, 100)).of("a", parent), given(2, 1, (50, 80)).of("b", Consumer)];
        placed(&spans, settings)[1].1
    };
    assert_eq!((role(Producer, real()), role(Internal, real())), (Async, Async));
    assert_eq!((role(Producer, plain()), role(Internal, plain())), (Async, Sync));
    // One below what is dropped keeps its own time.
    let below = [given(1, 0, (10, 110)), given(2, 1, (1, 5)), given(3, 2, (350, 600)).of("b", Consumer)];
    assert_eq!(placed(&below, real())[1..], [(2, Dropped, 1, 5), (3, Async, 350, 600)]);
    let plain = [below[0], below[1], below[2].follows()];
    assert_eq!(placed(&plain, self::plain())[2].1, Dropped);
}

#[test]
fn requests_of_an_endpoint_are_its_topmost_spans_with_their_own_times() {
    let b = |id, parent, times| given(id, parent, times).of("b", Server);
    let spans = [
        given(1, 0, (0, 1000)),
        b(2, 1, (100, 1200)),
        b(3, 2, (200, 300)),
        given(4, 3, (200, 310)),
        b(5, 1, (400, 500)),
        // Of another root.
        b(6, 0, (600, 700)),
        b(7, 6, (600, 650)),
    ];
    let set = set_of(&spans);
    let mut tree = Tree::default();
    let id = |tree: &Tree, i| set.span_id(tree.row(i)).bits;
    let endpoint = (0..set.endpoints().len() as u32)
        .map(EndpointId)
        .find(|&endpoint| set.endpoint_name(endpoint).0 == "b")
        .unwrap();
    let mut requests = Vec::new();
    tree.load_for(&set, 1, plain(), RequestRoots::Of(endpoint));
    tree.requests(&set, &mut requests);
    assert_eq!(requests.iter().map(|&i| id(&tree, i)).collect::<Vec<_>>(), [2, 5, 6]);
    let expected = [
        (1, Root, 0, 1000),
        (2, Root, 100, 1200),
        (3, Sync, 200, 300),
        (4, Sync, 200, 300),
        (5, Root, 400, 500),
        (6, Root, 600, 700),
        (7, Sync, 600, 650),
    ];
    assert_eq!(placed_in(&set, &tree), expected);
    // The span of a row, whatever it is.
    let row = (0..7).find(|&i| id(&tree, i) == 3).map(|i| tree.row(i)).unwrap();
    tree.load_for(&set, 1, plain(), RequestRoots::Row(row));
    tree.requests(&set, &mut requests);
    assert_eq!(requests.iter().map(|&i| id(&tree, i)).collect::<Vec<_>>(), [3]);
    assert_eq!(placed_in(&set, &tree)[1..3], [(2, Sync, 100, 1000), (3, Root, 200, 300)]);
}

/// Returns the ids of the roots of the requests of a trace.
fn requests(given: &[Given], settings: PathSettings, roots: RequestRoots) -> Vec<u64> {
    let set = set_of(given);
    let (mut tree, mut found) = (Tree::default(), Vec::new());
    tree.load_for(&set, 1, settings, roots);
    tree.requests(&set, &mut found);
    found.into_iter().map(|i| set.span_id(tree.row(i)).bits).collect()
}

#[test]
fn further_roots_are_requests_if_they_start_after_the_rest_or_are_half_as_long_as_the_first() {
    let all = RequestRoots::All;
    let spans = [
        given(1, 0, (100, 201)),
        given(2, 0, (120, 170)),
        given(3, 0, (121, 172)),
        given(4, 0, (200, 210)),
        given(5, 0, (209, 212)),
        given(6, 0, (212, 213)),
    ];
    // Half of 101 us are 51: the second has 50, the third has them. What starts when all earlier ones have ended is one.
    assert_eq!(requests(&spans, real(), all), [1, 3, 6]);
    assert_eq!(requests(&spans, plain(), all), [1]);
}

#[test]
fn parts_of_a_trace_without_its_root_are_requests_and_those_beside_a_root_are_not() {
    let all = RequestRoots::All;
    let parts = [given(1, 99, (100, 200)), given(2, 99, (150, 160)), given(3, 2, (150, 155))];
    assert_eq!(requests(&parts, real(), all), [1, 2]);
    assert!(requests(&parts, real(), RequestRoots::Complete).is_empty());
    assert_eq!(requests(&parts, plain(), all), [1]);
    let beside = [given(1, 0, (100, 110)), given(2, 99, (150, 200)), given(3, 2, (160, 170))];
    for roots in [all, RequestRoots::Complete] {
        assert_eq!(requests(&beside, real(), roots), [1]);
    }
    let is_known = |given: &[Given], settings| {
        let set = set_of(given);
        let mut tree = Tree::default();
        tree.load(&set, 1, settings);
        tree.is_structure_known(&set)
    };
    assert_eq!(
        [is_known(&parts, real()), is_known(&parts, plain()), is_known(&beside, real())],
        [true, false, false]
    );
    assert!(is_known(&[given(1, 0, (1, 2))], plain()));
}

#[test]
fn children_are_found_by_where_their_subtrees_end() {
    let spans = [
        given(1, 0, (0, 100)),
        given(2, 1, (10, 50)),
        given(3, 2, (20, 30)),
        given(4, 1, (60, 70)).follows(),
        given(5, 4, (61, 62)),
        given(6, 1, (80, 90)),
        given(7, 0, (500, 600)),
    ];
    let set = set_of(&spans);
    let mut tree = Tree::default();
    tree.load(&set, 1, plain());
    // In pre-order, ids are the places.
    assert_eq!(tree.subtree_end, [6, 3, 3, 5, 5, 6, 7]);
    assert_eq!(tree.children(0).collect::<Vec<_>>(), [1, 3, 5]);
    assert_eq!(tree.sync_children(0).collect::<Vec<_>>(), [1, 5]);
    assert_eq!(tree.children(2).count(), 0);
    assert_eq!((tree.parent_of(0), tree.parent_of(4), tree.parent_of(6)), (None, Some(3), None));
    assert_eq!(tree.trace_roots().collect::<Vec<_>>(), [0, 6]);
    let outlasts = |end_us| {
        let set = set_of(&[given(1, 0, (1, 10_001)), given(2, 1, (9_001, end_us))]);
        let mut tree = Tree::default();
        tree.load(&set, 1, plain());
        tree.outlasts_parent(&set, 1)
    };
    // Over 1 % of the parent, and a tenth of the 1,101 us that it takes itself.
    assert_eq!(
        [outlasts(10_001), outlasts(10_101), outlasts(10_102), outlasts(10_200)],
        [false, false, false, true]
    );
}
