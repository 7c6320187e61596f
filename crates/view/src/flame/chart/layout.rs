//! The part of a flame graph in its window: boxes in device pixels.

use super::{FlameTree, Matches};
use crate::draw::text::elide_name;
use crate::draw::window::skip_while;
use crate::draw::{MeasureText, Metrics, Shade, Window};

/// More boxes than this are never laid out; narrow ones are merged further instead.
const MOST_BOXES: usize = 4_000;

/// The room for a flame graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlameSize {
    /// Width in device pixels.
    pub width: i32,
    /// Height in device pixels.
    pub height: i32,
    /// Device pixels per CSS pixel.
    pub metrics: Metrics,
}

impl FlameSize {
    /// Returns the height of a row in device pixels.
    pub fn row_px(&self) -> i32 {
        self.metrics.px(20.0)
    }

    /// Returns how far a tree can be scrolled: its height less what is visible, at least 0.
    pub fn scroll_end(&self, tree: &FlameTree) -> i64 {
        (i64::from(tree.rows()) * i64::from(self.row_px()) - i64::from(self.height)).max(0)
    }
}

/// The part of a flame graph that is shown, and its look.
#[derive(Clone, Copy, Debug)]
pub struct FlameView<'a> {
    /// The part of the whole width that is shown: [`FlameTree::window_of`] a node, or anything else.
    pub window: Window,
    /// Distance it is scrolled down, in device pixels.
    pub scroll_px: i64,
    /// The selected node.
    pub selected: Option<u32>,
    /// The node under the pointer.
    pub hovered: Option<u32>,
    /// Hits of the search; the rest is dimmed.
    pub matches: Option<&'a Matches>,
}

/// A visible box: one node, or a run of nodes too narrow to be drawn one by one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlameBox {
    /// Left edge, within the width.
    pub x: i32,
    /// Upper edge; the first row may stand out above.
    pub y: i32,
    /// Width, at least 1.
    pub w: i32,
    /// Height; the last row may stand out below.
    pub h: i32,
    /// The node, or the first of the run.
    pub node: u32,
    /// The last node of the run; `node` if it is no run.
    pub last: u32,
    /// Number of nodes it stands for.
    pub nodes: u32,
    /// The shade of its colour.
    pub shade: Shade,
    /// The label, cut to fit.
    pub label: Option<String>,
    /// Not found by the search.
    pub dimmed: bool,
    /// Selected.
    pub selected: bool,
    /// Under the pointer.
    pub hovered: bool,
    /// Reaches beyond the window on both sides: what it was zoomed out of.
    pub beyond: bool,
    /// No calling context, but what one waits for.
    pub is_waiting: bool,
}

/// The item under a pixel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FlameHit {
    /// A node.
    Node(u32),
    /// Several narrow nodes.
    Merged {
        /// Number of nodes.
        nodes: u32,
        /// The window that shows them as wide as possible.
        window: Window,
    },
}

/// The visible boxes by row, from left to right, and where each row starts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlameLayout {
    /// Width in device pixels.
    pub width: i32,
    /// Height in device pixels.
    pub height: i32,
    /// Height of a row.
    pub row_px: i32,
    /// The boxes.
    pub boxes: Vec<FlameBox>,
    /// The first visible row of the tree.
    pub first_row: u32,
    starts: Vec<usize>,
    scroll_px: i64,
}

/// Lays out what a view shows of a tree. Labels are measured by `measure`, whose font is
/// [`Metrics::font_px`](crate::draw::Metrics::font_px) large.
pub fn layout(
    tree: &FlameTree,
    view: &FlameView,
    size: FlameSize,
    measure: &mut dyn MeasureText,
) -> FlameLayout {
    let row_px = size.row_px();
    let scroll_px = view.scroll_px.max(0);
    let first_row = (scroll_px / i64::from(row_px)).min(i64::from(u32::MAX)) as u32;
    let rows =
        ((i64::from(size.height) + scroll_px % i64::from(row_px)) as u64).div_ceil(row_px as u64) as u32;
    let last_row = first_row.saturating_add(rows).min(tree.rows());
    // Narrower than this is merged with its like, across gaps smaller than that.
    let (mut narrow, mut gap) = (size.metrics.px(2.0), size.metrics.px(2.0));
    loop {
        let mut out = FlameLayout {
            width: size.width,
            height: size.height,
            row_px,
            first_row,
            scroll_px,
            ..FlameLayout::default()
        };
        for row in first_row..last_row {
            out.starts.push(out.boxes.len());
            let y = (i64::from(row) * i64::from(row_px) - scroll_px) as i32;
            lay_row(tree, view, row, (narrow, gap), y, &mut out);
            if out.boxes.len() > MOST_BOXES && gap <= size.width {
                break;
            }
        }
        out.starts.push(out.boxes.len());
        if out.boxes.len() <= MOST_BOXES || gap > size.width {
            label(tree, size, measure, &mut out);
            return out;
        }
        // A run that spans gaps shows more than there is: wider boxes are merged first.
        if narrow < size.metrics.px(8.0) {
            narrow *= 2;
        } else {
            (narrow, gap) = (narrow * 2, gap * 2);
        }
    }
}

fn lay_row(
    tree: &FlameTree,
    view: &FlameView,
    row: u32,
    (narrow, gap): (i32, i32),
    y: i32,
    out: &mut FlameLayout,
) {
    let places = tree.row_places(row);
    let (width, window, pixels) = (out.width, view.window, view.window.pixels(out.width));
    let intervals = &tree.row_us[places.clone()];
    let edges = |(left, right): (u64, u64)| (pixels.of(left).max(0), pixels.of(right).min(width));
    let mut at = intervals.partition_point(|&(_, right)| right as f64 <= window.from);
    while at < intervals.len() {
        let (x, mut right) = edges(intervals[at]);
        if x >= width {
            break;
        }
        let first = at;
        at += 1;
        if right - x < narrow {
            // A run: everything narrow that follows without a gap that could be seen.
            loop {
                at = skip_while(intervals, at, |interval| edges(interval).1 <= right);
                let Some(&next) = intervals.get(at) else { break };
                let (next_x, next_right) = edges(next);
                // What is not even a pixel wide starts no run across a gap.
                let gap = if right > x { gap } else { 1 };
                if next_x - right >= gap || next_right - next_x >= narrow || next_x >= width {
                    break;
                }
                right = next_right;
                at += 1;
            }
        }
        if right <= x {
            continue;
        }
        let places = places.start + first..places.start + at;
        let (node, last) = (tree.rows[places.start], tree.rows[places.end - 1]);
        let (left_us, right_us) = intervals[first];
        let single = places.len() == 1;
        out.boxes.push(FlameBox {
            x,
            y,
            w: right - x,
            h: out.row_px,
            node,
            last,
            nodes: places.len() as u32,
            shade: if single {
                tree.frame(node).map_or(Shade::Grey, |frame| frame.shade)
            } else {
                Shade::Merged
            },
            label: None,
            selected: single && view.selected == Some(node),
            hovered: single && view.hovered == Some(node),
            is_waiting: single && tree.is_waiting(node),
            beyond: (left_us as f64) < window.from && right_us as f64 > window.to,
            // What a call waits for is as bright as the call.
            dimmed: view.matches.is_some_and(|matches| {
                !(matches.any(places) || (single && matches.contains(tree.context_of(node))))
            }),
        });
    }
}

fn label(tree: &FlameTree, size: FlameSize, measure: &mut dyn MeasureText, out: &mut FlameLayout) {
    let pad = size.metrics.px(4.0);
    let least = size.metrics.px(24.0);
    for item in &mut out.boxes {
        let room = item.w - 2 * pad;
        if item.nodes == 1
            && room >= least
            && let Some(frame) = tree.frame(item.node)
        {
            item.label = elide_name(&frame.label, f64::from(room), measure);
        }
    }
}

impl FlameLayout {
    /// Returns the index of the box under a pixel.
    pub fn box_at(&self, x: i32, y: i32) -> Option<usize> {
        if self.row_px <= 0 || x < 0 || y < 0 || x >= self.width || y >= self.height {
            return None;
        }
        let row = (i64::from(y) + self.scroll_px) / i64::from(self.row_px) - i64::from(self.first_row);
        let row = usize::try_from(row).ok()?;
        let (start, end) = (*self.starts.get(row)?, *self.starts.get(row + 1)?);
        let boxes = &self.boxes[start..end];
        let at = boxes.partition_point(|b| b.x + b.w <= x);
        boxes.get(at).filter(|b| b.x <= x).map(|_| start + at)
    }

    /// Returns what is under a pixel.
    pub fn hit(&self, tree: &FlameTree, x: i32, y: i32) -> Option<FlameHit> {
        let item = &self.boxes[self.box_at(x, y)?];
        if item.nodes == 1 {
            return Some(FlameHit::Node(item.node));
        }
        let (from, _) = tree.interval_us(item.node);
        let (left, width) = tree.interval_us(item.last);
        Some(FlameHit::Merged { nodes: item.nodes, window: Window::of(from, left + width) })
    }

    /// Returns the visible box of a node, if it has one of its own.
    pub fn box_of(&self, node: u32) -> Option<&FlameBox> {
        self.boxes.iter().find(|item| item.nodes == 1 && item.node == node)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{large, report};
    use super::*;
    use crate::draw::text::Advances;

    fn size(width: i32, height: i32) -> FlameSize {
        FlameSize { width, height, metrics: Metrics::default() }
    }

    fn view(window: Window) -> FlameView<'static> {
        FlameView { window, scroll_px: 0, selected: None, hovered: None, matches: None }
    }

    /// Returns each box as "x+w node" with its row.
    fn sketch(layout: &FlameLayout) -> Vec<String> {
        let word = |b: &FlameBox| {
            let name = if b.nodes == 1 { format!("{}", b.node) } else { format!("{}..{}", b.node, b.last) };
            format!("{}:{}+{} {name}", b.y / layout.row_px, b.x, b.w)
        };
        layout.boxes.iter().map(word).collect()
    }

    #[test]
    fn a_small_tree_has_exactly_these_boxes() {
        // 0(10) { 1(5), 2(20) { 3(20) }, 4(5) }, 400 px for 60 us.
        let report =
            report(&[(None, 0, 10), (Some(0), 1, 5), (Some(0), 2, 20), (Some(2), 3, 20), (Some(0), 4, 5)]);
        let tree = FlameTree::of_report(&report);
        let mut advances = Advances { font_px: 12.0 };
        let all = layout(&tree, &view(tree.full()), size(600, 100), &mut advances);
        assert_eq!(sketch(&all), ["0:0+600 0", "1:0+400 2", "1:400+50 1", "1:450+50 4", "2:0+200 3"]);
        assert_eq!(all.boxes[0].label.as_deref(), Some("op0 @ service0"));
        assert_eq!(all.boxes[2].label.as_deref(), Some("op1"));
        assert_eq!((all.boxes[3].y, all.boxes[3].h), (20, 20));
        let zoomed = layout(&tree, &view(tree.window_of(1)), size(600, 100), &mut advances);
        assert_eq!(sketch(&zoomed), ["0:0+600 0", "1:0+600 1"]);
        assert!(zoomed.boxes[0].beyond && !zoomed.boxes[1].beyond);
    }

    #[test]
    fn narrow_neighbours_become_one_box_and_lonely_ones_stay() {
        // 1000 px for 1000 us: 500, then 400 x 1, then 50 x 2 with 0 between, nothing after.
        let mut nodes = vec![(None, 0, 0), (Some(0), 1, 500)];
        nodes.extend((0..400).map(|_| (Some(0), 2, 1)));
        nodes.push((Some(1), 3, 1));
        let tree = FlameTree::of_report(&report(&nodes));
        let full = layout(&tree, &view(Window::full(1000)), size(1000, 100), &mut Advances { font_px: 12.0 });
        assert_eq!(sketch(&full), ["0:0+901 0", "1:0+501 1", "1:501+400 2..401", "2:0+1 402"]);
        assert_eq!(full.boxes[2].nodes, 400);
        assert_eq!(full.boxes[2].shade, Shade::Merged);
        assert_eq!(full.boxes[3].nodes, 1, "one narrow node alone keeps its colour");
        let hit = full.hit(&tree, 700, 30);
        assert_eq!(hit, Some(FlameHit::Merged { nodes: 400, window: Window::of(501, 901) }));
    }

    #[test]
    fn rows_that_do_not_show_are_not_laid_out() {
        let nodes: Vec<_> = (0..1000u32).map(|i| (i.checked_sub(1), i % 7, 1)).collect();
        let tree = FlameTree::of_report(&report(&nodes));
        let view = FlameView { scroll_px: 4_010, ..view(tree.full()) };
        let layout = layout(&tree, &view, size(500, 100), &mut Advances { font_px: 12.0 });
        assert_eq!(layout.first_row, 200);
        assert_eq!(layout.boxes.len(), 6, "half a row above, half a row below");
        assert_eq!(layout.boxes[0].y, -10);
        assert_eq!(layout.hit(&tree, 3, 0), Some(FlameHit::Node(200)));
        assert_eq!(layout.hit(&tree, 3, 11), Some(FlameHit::Node(201)));
        assert_eq!(layout.hit(&tree, 3, 99), Some(FlameHit::Node(205)));
        assert_eq!(size(500, 100).scroll_end(&tree), 19_900);
    }

    fn check(tree: &FlameTree, layout: &FlameLayout) {
        assert!(layout.boxes.len() <= MOST_BOXES);
        for item in &layout.boxes {
            assert!(item.x >= 0 && item.w > 0 && item.x + item.w <= layout.width);
            assert!(item.y + item.h > 0 && item.y < layout.height);
            assert!(item.nodes == 1 || item.label.is_none());
        }
        for pair in layout.boxes.windows(2) {
            assert!(
                pair[0].y < pair[1].y || pair[0].x + pair[0].w <= pair[1].x,
                "rows are in order, boxes apart"
            );
        }
        // A box lies within the box above it that holds its parent.
        for item in &layout.boxes {
            if item.y >= layout.row_px
                && let Some(parent) = tree.parent(item.node)
            {
                let above = layout.box_at(item.x, item.y - layout.row_px).map(|i| &layout.boxes[i]);
                let above = above.expect("something is above every box");
                if item.nodes == 1 && above.nodes == 1 {
                    assert_eq!(above.node, parent);
                    assert!(above.x <= item.x && item.x + item.w <= above.x + above.w);
                }
            }
        }
    }

    #[test]
    fn every_window_of_a_large_tree_keeps_the_rules_and_hits_what_it_shows() {
        let tree = FlameTree::of_report(&large(50_000));
        let mut advances = Advances { font_px: 12.0 };
        let total = tree.total_us();
        for (i, width) in [(1, 1500), (3, 800), (50, 377), (4000, 1500), (100_000, 90)] {
            for part in 0..5 {
                let from = total / 5 * part;
                let window = Window::of(from, from + (total / i).max(1)).within(total);
                let layout = layout(&tree, &view(window), size(width, 700), &mut advances);
                check(&tree, &layout);
                for (i, item) in layout.boxes.iter().enumerate() {
                    let y = item.y.max(0);
                    assert_eq!(layout.box_at(item.x, y), Some(i));
                    assert_eq!(layout.box_at(item.x + item.w - 1, y), Some(i));
                }
            }
        }
    }

    #[test]
    fn visible_nodes_of_a_row_add_up_to_their_pixels() {
        let tree = FlameTree::of_report(&large(50_000));
        let layout = layout(&tree, &view(tree.full()), size(1400, 700), &mut Advances { font_px: 12.0 });
        for row in 0..tree.rows().min(35) {
            let want: u64 = tree.row(row).iter().map(|&node| tree.interval_us(node).1).sum();
            let boxes = layout.boxes.iter().filter(|b| b.y == row as i32 * 20);
            let (mut got, mut runs) = (0i64, 0);
            for item in boxes {
                got += i64::from(item.w);
                runs += 1;
            }
            let px = want as f64 / tree.total_us() as f64 * 1400.0;
            // Rounding moves an edge by less than a pixel, and a narrow node alone may vanish; runs span small gaps.
            assert!(px - got as f64 <= f64::from(runs) + 2.0, "row {row}: {px} {got}");
            assert!(got as f64 <= px * 1.25 + f64::from(runs), "row {row}: {px} {got}");
        }
    }

    #[test]
    fn a_search_dims_all_but_what_holds_a_match() {
        let report = report(&[(None, 0, 10), (Some(0), 1, 50), (Some(0), 2, 40)]);
        let tree = FlameTree::of_report(&report);
        let matches = Matches::find(&tree, |frame| frame.label.contains("op2"));
        let view =
            FlameView { matches: Some(&matches), selected: Some(1), hovered: Some(2), ..view(tree.full()) };
        let found = layout(&tree, &view, size(500, 100), &mut Advances { font_px: 12.0 });
        let flags: Vec<_> = found.boxes.iter().map(|b| (b.node, b.dimmed, b.selected, b.hovered)).collect();
        assert_eq!(flags, [(0, true, false, false), (1, true, true, false), (2, false, false, true)]);
        // 5 px: all children in one run, which holds the match.
        let tiny = layout(
            &tree,
            &FlameView { matches: Some(&matches), ..view },
            size(2, 100),
            &mut Advances { font_px: 12.0 },
        );
        assert!(tiny.boxes.iter().any(|b| b.nodes == 2 && !b.dimmed));
    }

    #[test]
    fn nothing_is_laid_out_of_nothing() {
        let tree = FlameTree::of_report(&report(&[]));
        let layout = layout(&tree, &view(tree.full()), size(500, 100), &mut Advances { font_px: 12.0 });
        assert!(layout.boxes.is_empty());
        assert_eq!(layout.hit(&tree, 5, 5), None);
    }
}
