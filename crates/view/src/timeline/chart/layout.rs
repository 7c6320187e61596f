//! The part of a timeline in its window.

use super::aggregate::boxes;
use super::model::Marks;
use super::tail::tail;
use super::{NUMBERS, PartBox, Sign, SpanBar, SpanMatches, SpansRow, Tick, Timeline, TimelineSize, ticks};
use crate::draw::text::{elide, elide_middle};
use crate::draw::window::skip_while;
use crate::draw::{MeasureText, Shade, Window};
use pathlight_base::format;
use pathlight_engine::flame::TraceReport;

/// The part of a timeline that is shown, and its look.
#[derive(Clone, Copy, Debug)]
pub struct TimelineShown<'a> {
    /// The part of the time axis that is shown.
    pub window: Window,
    /// Distance the rows are scrolled up, in device pixels.
    pub scroll_px: i64,
    /// The selected span.
    pub selected: Option<u32>,
    /// The span under the pointer.
    pub hovered: Option<u32>,
    /// Hits of the search; the rest is dimmed.
    pub matches: Option<&'a SpanMatches>,
    /// Whether bars have tails as long as their slack.
    pub slack: bool,
}

impl TimelineShown<'_> {
    /// Returns a part of the time axis from the first row on, with nothing marked.
    pub fn plain(window: Window) -> Self {
        TimelineShown { window, scroll_px: 0, selected: None, hovered: None, matches: None, slack: false }
    }
}

/// Look of a bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarKind {
    /// The parent waits for it: filled.
    Waited,
    /// The parent does not wait for it: outlined.
    Async,
    /// Covers the calls beside it: hatched.
    Overlay,
    /// Left out of the analysis: grey.
    Dropped,
}

/// Text at a bar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarText {
    /// Left edge.
    pub x: i32,
    /// The text, cut to fit.
    pub text: String,
    /// Whether it stands on the bar.
    pub inside: bool,
}

/// State of a row: open, closed, or without children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Toggle {
    /// A span without children.
    Leaf,
    /// The children have rows.
    Open,
    /// The children are hidden.
    Closed,
}

/// A visible row.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineRow {
    /// The span; of siblings the first.
    pub span: u32,
    /// Siblings of one name.
    pub is_group: bool,
    /// Text in the columns of numbers.
    pub numbers: Option<[String; NUMBERS.len()]>,
    /// Upper edge; the first row may stand out above, behind the axis.
    pub y: i32,
    /// Left edge of what stands in the column.
    pub indent: i32,
    /// Its state: open, closed, or without children.
    pub toggle: Toggle,
    /// The label in the column, cut to fit.
    pub label: Option<String>,
    /// Its bar, if any of it is in the window.
    pub bar: Option<SpanBar>,
    /// Longest time it may take beyond that, as a tail of its bar.
    pub tail: Option<SpanBar>,
    /// Time in the queue of what it received, before its bar.
    pub queue: Option<SpanBar>,
    /// Text at the bar.
    pub text: Option<BarText>,
    /// Stretches of the critical path on the bar: a range of [`TimelineLayout::marks`].
    pub marks: std::ops::Range<usize>,
    /// Named parts of the bar: a range of [`TimelineLayout::parts`].
    pub parts: std::ops::Range<usize>,
    /// Look of the bar.
    pub kind: BarKind,
    /// Colour of the bar.
    pub shade: Shade,
    /// The span is an error.
    pub error: bool,
    /// The letter it is marked with.
    pub sign: Option<char>,
    /// Not found by the search.
    pub dimmed: bool,
    /// Selected.
    pub selected: bool,
    /// Under the pointer.
    pub hovered: bool,
}

/// The visible rows from top to bottom.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineLayout {
    /// The room.
    pub size: TimelineSize,
    /// The window.
    pub window: Window,
    /// The rows.
    pub rows: Vec<TimelineRow>,
    /// Stretches of the critical path, by row and time.
    pub marks: Vec<SpanBar>,
    /// Named parts of bars, by row and time.
    pub parts: Vec<PartBox>,
    /// Upper edge and height of what is in sight, in the scrollbar.
    pub thumb: Option<(i32, i32)>,
    /// Ticks of the axis; `x` from the left edge of the bars' part.
    pub ticks: Vec<Tick>,
}

/// Lays out what a view shows. `label` measures text of the size of [`Metrics::font_px`](crate::draw::Metrics::font_px), `small` of
/// [`TimelineSize::small_px`].
pub fn layout(
    timeline: &Timeline,
    view: &TimelineShown,
    size: TimelineSize,
    label: &mut dyn MeasureText,
    small: &mut dyn MeasureText,
) -> TimelineLayout {
    let row_px = size.row_px();
    let scroll_px = view.scroll_px.max(0);
    let first = ((scroll_px / i64::from(row_px)) as usize).min(timeline.rows().len());
    let room = i64::from((size.height - size.axis_px()).max(0)) + scroll_px % i64::from(row_px);
    let count = (room as u64).div_ceil(row_px as u64) as usize;
    let rows = &timeline.rows()[first..(first + count).min(timeline.rows().len())];
    let end_us = timeline.report().end_us;
    let mut out = TimelineLayout {
        size,
        window: view.window,
        rows: Vec::with_capacity(rows.len()),
        thumb: thumb(timeline, scroll_px, size),
        marks: Vec::new(),
        parts: Vec::new(),
        ticks: ticks(view.window, size.plot_px(), size.metrics.px(90.0), end_us),
    };
    let wide_column = size.column_px >= size.metrics.px(96.0);
    let step = size.metrics.px(if wide_column { 12.0 } else { 4.0 });
    // Deep down, indentation counts from the shallowest row in view, so that labels keep their room.
    let shallowest = rows.iter().map(|row| row.depth).min().unwrap_or(0);
    let base =
        if i64::from(shallowest) * i64::from(step) > i64::from(size.column_px / 4) { shallowest } else { 0 };
    let deepest_px = size.column_px * 6 / 10;
    for (i, &of) in rows.iter().enumerate() {
        let span = of.span;
        let group = timeline.group(of);
        let indent = (i64::from(of.depth - base) * i64::from(step)).min(i64::from(deepest_px)) as i32;
        let y = size.axis_px() + ((first + i) as i64 * i64::from(row_px) - scroll_px) as i32;
        let interval = group.map_or_else(|| timeline.interval_us(span), |group| group.interval_us);
        let bar = bar(interval, view.window, size);
        let segments =
            group.map_or_else(|| timeline.segments_of(span), |group| Marks::Many(&group.stretches));
        let marks = out.marks.len()..mark(timeline, segments, view.window, size, &mut out.marks);
        let parts = match group {
            Some(_) => 0..0,
            None => out.parts.len()..boxes(timeline, view.window, size, span, small, &mut out.parts),
        };
        let bits = timeline.report().bits[span as usize];
        let frame = timeline.frame(span);
        let error = group.map_or(bits & TraceReport::ERROR != 0, |group| group.errors > 0);
        let sign = timeline.sign(span).filter(|_| group.is_none());
        let is_found = |matches: &SpanMatches| match group {
            Some(group) => {
                let end = |member: u32| member + timeline.descendants(member) + 1;
                matches.any_below(&group.members, end)
            }
            None => matches.contains(span),
        };
        let mut row = TimelineRow {
            span,
            is_group: of.is_group,
            numbers: None,
            y,
            indent,
            toggle: match group {
                Some(group) if group.is_open => Toggle::Open,
                Some(_) => Toggle::Closed,
                None if !timeline.has_children(span) => Toggle::Leaf,
                None if timeline.is_closed(span) => Toggle::Closed,
                None => Toggle::Open,
            },
            label: None,
            bar,
            tail: if view.slack && group.is_none() { tail(timeline, view.window, size, span) } else { None },
            queue: if group.is_none() { queue(timeline, view.window, size, span) } else { None },
            text: None,
            marks,
            parts,
            kind: if bits & TraceReport::DROPPED != 0 {
                BarKind::Dropped
            } else if bits & TraceReport::ASYNC != 0 {
                BarKind::Async
            } else if bits & TraceReport::OVERLAY != 0 {
                BarKind::Overlay
            } else {
                BarKind::Waited
            },
            shade: frame.map_or(Shade::Grey, |frame| frame.shade),
            error,
            sign: sign.map(|sign| sign.letter),
            dimmed: view.matches.is_some_and(|matches| !is_found(matches)),
            selected: is_row_of(timeline, of, first + i, view.selected),
            hovered: is_row_of(timeline, of, first + i, view.hovered),
        };
        let name = frame.map_or("", |frame| frame.label.as_str());
        let times =
            |group: &super::SiblingGroup| format!(" \u{d7} {}", format::count(group.members.len() as u64));
        let times = group.map(times).unwrap_or_default();
        if wide_column {
            let room = size.column_px - size.numbers_px - row.label_x(size) - size.metrics.px(4.0);
            row.label = label_in(name, &times, f64::from(room), label);
        }
        let duration_us =
            group.map_or(timeline.report().duration_us[span as usize].into(), |group| group.sum_us);
        let duration = format::duration_us(duration_us);
        let own_us = group.map_or_else(|| timeline.own_us(span), |group| group.own_us);
        let own = if own_us > 0 { format::duration_us(own_us) } else { String::new() };
        let has_numbers = size.numbers_px > 0;
        row.numbers = has_numbers.then(|| [format::duration_us(interval.0), duration.clone(), own]);
        let in_all = if group.is_some() { format!("{duration} in all") } else { duration };
        let mut text = if wide_column { in_all } else { format!("{name}{times}, {in_all}") };
        if let Some(Sign { letter, words }) = sign {
            text = if wide_column { format!("{text}, {words}") } else { format!("{letter} {words}: {text}") };
        }
        // A bar with named parts has no room for other text.
        let may_stand_on = row.parts.is_empty();
        row.text = match row.bar {
            Some(bar) => place(&text, bar, may_stand_on, size, small),
            None => arrow(interval, view.window, size, small),
        };
        out.rows.push(row);
    }
    out
}

/// Returns a name cut to its room, with what stands behind it; without the service if that is needed.
fn label_in(name: &str, behind: &str, room: f64, measure: &mut dyn MeasureText) -> Option<String> {
    let room = room - measure.text_px(behind);
    let (service, operation) = name.split_once(": ").unwrap_or(("", name));
    let cut = if measure.text_px(name) > room && !service.is_empty() { operation } else { name };
    let cut = elide_middle(cut, room, measure)?;
    Some(cut + behind)
}

/// Returns whether a span is that of a row, or hidden in it.
fn is_row_of(timeline: &Timeline, row: SpansRow, at: usize, span: Option<u32>) -> bool {
    span.is_some_and(|span| (span == row.span && !row.is_group) || timeline.row_of(span) == Some(at))
}

/// Returns where what is in sight lies among all rows; `None` if all are in sight.
fn thumb(timeline: &Timeline, scroll_px: i64, size: TimelineSize) -> Option<(i32, i32)> {
    let (room, end) = (size.height - size.axis_px(), size.scroll_end(timeline));
    if size.scrollbar_px == 0 || end == 0 || room <= 0 {
        return None;
    }
    let all = end + i64::from(room);
    let high = (i64::from(room) * i64::from(room) / all).max(i64::from(size.metrics.px(24.0)));
    let high = high.min(room.into());
    let top = (i64::from(room) - high) * scroll_px.min(end) / end;
    Some((size.axis_px() + top as i32, high as i32))
}

/// Points to a bar that is out of sight, with how far it is.
fn arrow(
    (start, end): (u64, u64),
    window: Window,
    size: TimelineSize,
    measure: &mut dyn MeasureText,
) -> Option<BarText> {
    let is_before = (end as f64) < window.from;
    let far = if is_before { window.from - end as f64 } else { start as f64 - window.to };
    let far = format::duration(far.max(0.0));
    let text = if is_before { format!("\u{25c2} {far}") } else { format!("{far} \u{25b8}") };
    let (pad, width) = (size.metrics.px(4.0), measure.text_px(&text).ceil() as i32);
    if width + 2 * pad > size.plot_px() {
        return None;
    }
    let x = if is_before { pad } else { size.plot_px() - pad - width };
    Some(BarText { x: size.column_px + x, text, inside: false })
}

/// Returns the visible part of a span as a bar, at least 2 CSS pixels wide.
fn bar((start, end): (u64, u64), window: Window, size: TimelineSize) -> Option<SpanBar> {
    if (end as f64) < window.from || start as f64 > window.to {
        return None;
    }
    let plot = size.plot_px();
    let x = window.pixel(start, plot).clamp(0, plot);
    let right = window.pixel(end, plot).clamp(0, plot);
    let w = (right - x).max(size.metrics.px(2.0)).min(plot);
    Some(SpanBar { x: size.column_px + x.min(plot - w), w })
}

/// Returns the visible part of the time in the queue of the messages that a span received, from the first that was sent;
/// `None` if it received none that waited.
fn queue(timeline: &Timeline, window: Window, size: TimelineSize, span: u32) -> Option<SpanBar> {
    let waited = timeline.received(span).iter().filter(|message| message.wait_us > 0);
    let from = waited.map(|message| message.sent_us).min()?;
    bar((from, timeline.interval_us(span).0), window, size)
}

/// Adds the stretches of the critical path in a row, merged where pixels do not tell them apart; returns their end.
fn mark(
    timeline: &Timeline,
    segments: Marks,
    window: Window,
    size: TimelineSize,
    out: &mut Vec<SpanBar>,
) -> usize {
    let (plot, column) = (size.plot_px(), size.column_px);
    let pixels = window.pixels(plot);
    let first = out.len();
    let mut add = |start: u64, end: u64| -> Option<i32> {
        if (end as f64) <= window.from || start as f64 >= window.to {
            return None;
        }
        let x = pixels.of(start).clamp(0, plot - 1);
        let right = pixels.of(end).clamp(x + 1, plot);
        let started = out.len() > first;
        match out.last_mut() {
            Some(last) if started && last.x + last.w >= column + x => {
                last.w = last.w.max(column + right - last.x);
            }
            _ => out.push(SpanBar { x: column + x, w: right - x }),
        }
        Some(right)
    };
    match segments {
        Marks::Whole(start, end) => {
            add(start, end);
        }
        Marks::Many(stretches) => {
            let mut at = stretches.partition_point(|&(_, end)| end as f64 <= window.from);
            while let Some(&(start, end)) = stretches.get(at) {
                let Some(right) = add(start, end) else { break };
                at = skip_while(stretches, at + 1, |(_, end)| pixels.of(end) < right);
            }
        }
        Marks::Own(segments) => {
            let end = |segment: u32| timeline.segment_us(segment).1;
            let mut at = segments.partition_point(|&s| end(s) as f64 <= window.from);
            while let Some(&segment) = segments.get(at) {
                let Some(right) = add(timeline.segment_us(segment).0, end(segment)) else { break };
                // Whatever ends before that pixel is covered.
                at = skip_while(segments, at + 1, |s| pixels.of(end(s)) < right);
            }
        }
    }
    out.len()
}

/// Puts text on a bar if it fits there, else to its right, else to its left, else cut where there is most room.
fn place(
    text: &str,
    bar: SpanBar,
    may_stand_on: bool,
    size: TimelineSize,
    measure: &mut dyn MeasureText,
) -> Option<BarText> {
    let pad = size.metrics.px(4.0);
    let after = bar.x + bar.w + pad;
    let inside = (if may_stand_on { bar.w - 2 * pad } else { 0 }, true);
    let right = (size.width - size.scrollbar_px - pad - after, false);
    let left = (bar.x - pad - size.column_px - pad, false);
    let width = measure.text_px(text).ceil() as i32;
    let rooms = [inside, right, left];
    let fits = rooms.iter().position(|room| width <= room.0);
    let (choice, text, width) = match fits {
        Some(choice) => (choice, text.to_owned(), width),
        None => {
            // The first of the widest.
            let choice = (0..3).rev().max_by_key(|&i| rooms[i].0)?;
            let cut = elide(text, f64::from(rooms[choice].0), measure)?;
            let width = measure.text_px(&cut).ceil() as i32;
            (choice, cut, width)
        }
    };
    let x = match choice {
        0 => bar.x + pad,
        1 => after,
        _ => bar.x - pad - width,
    };
    Some(BarText { x, text, inside: rooms[choice].1 })
}

impl TimelineRow {
    /// Returns the left edge of the sign that opens and closes the row, and its width.
    pub fn toggle_x(&self, size: TimelineSize) -> (i32, i32) {
        (self.indent + size.metrics.px(3.0), size.metrics.px(11.0))
    }

    /// Returns the left edge of the strip in the service's colour.
    pub fn chip_x(&self, size: TimelineSize) -> i32 {
        self.indent + size.metrics.px(18.0)
    }

    /// Returns the left edge of the label.
    pub fn label_x(&self, size: TimelineSize) -> i32 {
        let boxes = f64::from(u8::from(self.error) + u8::from(self.sign.is_some()));
        self.chip_x(size) + size.metrics.px(8.0 + 14.0 * boxes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimelinePart;
    use super::super::model::tests::{small, trace};
    use super::*;
    use crate::draw::Metrics;
    use crate::draw::text::Advances;

    const NONE: u32 = u32::MAX;

    fn size(width: i32, height: i32, column_px: i32) -> TimelineSize {
        TimelineSize::new(width, height, column_px, Metrics::default())
    }

    fn lay(timeline: &Timeline, view: &TimelineShown, size: TimelineSize) -> TimelineLayout {
        layout(timeline, view, size, &mut Advances { font_px: 12.0 }, &mut Advances { font_px: 11.0 })
    }

    #[test]
    fn a_small_trace_has_exactly_these_rows() {
        let timeline = small();
        let out = lay(&timeline, &TimelineShown::plain(timeline.full()), size(1200, 200, 200));
        let rows: Vec<_> =
            out.rows.iter().map(|r| (r.span, r.y, r.indent, r.bar.map(|b| (b.x, b.w)), r.toggle)).collect();
        use Toggle::*;
        assert_eq!(
            rows,
            [
                (0, 24, 0, Some((200, 1000)), Open),
                (1, 46, 12, Some((300, 300)), Open),
                (2, 68, 24, Some((400, 100)), Leaf),
                (3, 90, 12, Some((700, 400)), Leaf),
                (4, 112, 0, Some((250, 10)), Leaf),
            ]
        );
        let marks = |i: usize| -> Vec<_> {
            out.marks[out.rows[i].marks.clone()].iter().map(|m| (m.x, m.w)).collect()
        };
        assert_eq!(marks(0), [(200, 100), (600, 600)]);
        assert_eq!(marks(1), [(300, 100), (500, 100)]);
        assert_eq!(marks(2), [(400, 100)]);
        assert!(marks(3).is_empty());
        assert_eq!(out.rows[1].label.as_deref(), Some("svc1: op1"));
        let text =
            |i: usize| out.rows[i].text.as_ref().map(|t| (t.text.replace(format::THIN, " "), t.inside));
        assert_eq!(text(0), Some(("1.00 ms".into(), true)));
        assert_eq!(text(4), Some(("10 µs".into(), false)), "too narrow: beside the bar");
        assert_eq!(out.rows[4].text.as_ref().map(|t| t.x), Some(264));
    }

    #[test]
    fn text_goes_to_the_left_where_there_is_no_room_on_the_right() {
        let timeline = Timeline::new(trace(&[(NONE, 0, 1000, 0), (0, 995, 5, 0)], &[]));
        let out = lay(&timeline, &TimelineShown::plain(timeline.full()), size(1000, 200, 0));
        let row = &out.rows[1];
        let bar = row.bar.unwrap();
        assert_eq!((bar.x, bar.w), (995, 5));
        let text = row.text.as_ref().unwrap();
        assert_eq!(text.text.replace(format::THIN, " "), "svc1: op1, 5 µs");
        let width = Advances { font_px: 11.0 }.text_px(&text.text).ceil() as i32;
        assert_eq!(text.x + width, 991);
    }

    #[test]
    fn only_what_shows_is_laid_out() {
        let spans: Vec<_> =
            (0..50_000u32).map(|i| (if i == 0 { NONE } else { 0 }, u64::from(i), 100, 0)).collect();
        let timeline = Timeline::new(trace(&spans, &[]));
        let size = size(1000, 244, 200);
        let view = TimelineShown { scroll_px: 22 * 1000 + 11, ..TimelineShown::plain(timeline.full()) };
        let out = lay(&timeline, &view, size);
        assert_eq!(out.rows.len(), 11, "ten rows fit, and two halves");
        assert_eq!((out.rows[0].span, out.rows[0].y), (1000, 13));
        assert_eq!(size.scroll_end(&timeline), 50_000 * 22 - 220);
        assert_eq!(size.scroll_to(&timeline, 0, 500), 0);
        assert_eq!(size.scroll_to(&timeline, 20, 0), 21 * 22 - 220);
        assert_eq!(size.scroll_to(&timeline, 5, 50), 50, "already in view");
        assert_eq!(size.scroll_to(&timeline, 49_999, 0), size.scroll_end(&timeline));
    }

    #[test]
    fn bars_outside_of_the_window_are_left_out_and_others_are_cut() {
        let timeline = small();
        let out =
            lay(&timeline, &TimelineShown::plain(Window { from: 450.0, to: 700.0 }), size(700, 200, 200));
        let bars: Vec<_> = out.rows.iter().map(|r| r.bar.map(|b| (b.x, b.w))).collect();
        assert_eq!(bars, [Some((200, 500)), None, None, Some((300, 400)), None]);
        let words = |row: usize| out.rows[row].text.as_ref().map(|text| text.text.replace(format::THIN, " "));
        assert_eq!(words(1).as_deref(), Some("\u{25c2} 50 \u{b5}s"), "an arrow says where it is and how far");
        assert!(out.rows[1].label.is_some());
        let marks: Vec<_> = out.marks.iter().map(|m| (m.x, m.w)).collect();
        assert_eq!(marks, [(200, 500)]);
    }

    #[test]
    fn a_hundred_thousand_segments_in_one_row_become_few_marks_that_cover_the_same_pixels() {
        let n = 100_000u64;
        let mut segments = Vec::new();
        for i in 0..n {
            // Short pieces of the parent between children, and one wide gap.
            if i * 10 < 400_000 || i * 10 >= 600_000 {
                segments.push((0, i * 10, i * 10 + 3));
            }
        }
        let timeline = Timeline::new(trace(&[(NONE, 0, n * 10, TraceReport::ON_PATH)], &segments));
        for window in [timeline.full(), Window::of(390_000, 410_000), Window::of(399_900, 400_100)] {
            let out = lay(&timeline, &TimelineShown::plain(window), size(1000, 100, 0));
            assert!(out.marks.len() <= 500);
            let mut want = vec![false; 1000];
            for &(_, start, end) in &segments {
                if end as f64 > window.from && (start as f64) < window.to {
                    let x = window.pixel(start, 1000).clamp(0, 999);
                    let right = window.pixel(end, 1000).clamp(x + 1, 1000);
                    want[x as usize..right as usize].fill(true);
                }
            }
            let mut got = vec![false; 1000];
            for mark in &out.marks {
                got[mark.x as usize..(mark.x + mark.w) as usize].fill(true);
            }
            assert!(want == got, "{window:?}");
        }
    }

    #[test]
    fn what_is_drawn_is_what_is_hit() {
        let mut timeline = small();
        timeline.toggle(1);
        let out = lay(&timeline, &TimelineShown::plain(timeline.full()), size(1200, 300, 200));
        for row in &out.rows {
            let bar = row.bar.unwrap();
            for x in [bar.x, bar.x + bar.w - 1] {
                let hit = out.hit(x, row.y + 11).unwrap();
                assert_eq!((hit.span, hit.part), (Some(row.span), TimelinePart::Bar));
            }
            let (x, w) = row.toggle_x(out.size);
            let hit = out.hit(x + w / 2, row.y).unwrap();
            let want = if row.toggle == Toggle::Leaf { TimelinePart::Label } else { TimelinePart::Toggle };
            assert_eq!((hit.span, hit.part), (Some(row.span), want));
        }
        assert_eq!(out.rows[1].toggle, Toggle::Closed);
        let axis = out.hit(700, 5).unwrap();
        assert_eq!((axis.span, axis.part, axis.at_us), (None, TimelinePart::Axis, 500.0));
        assert_eq!(out.hit(300, 290).map(|h| (h.span, h.part)), Some((None, TimelinePart::Plot)));
        assert_eq!(out.hit(1200, 50), None);
        assert_eq!(out.hit(300, 100).map(|h| h.span), Some(Some(4)));
    }

    #[test]
    fn deep_rows_keep_room_for_their_labels() {
        let spans: Vec<_> = (0..5_000u32).map(|i| (i.wrapping_sub(1), 0, 100, 0)).collect();
        let timeline = Timeline::new(trace(&spans, &[]));
        let view = TimelineShown { scroll_px: 22 * 4000, ..TimelineShown::plain(timeline.full()) };
        let out = lay(&timeline, &view, size(1000, 500, 240));
        assert!(out.rows.iter().all(|row| row.indent <= 144 && row.label.is_some()));
        assert_eq!(out.rows[0].indent, 0);
        assert_eq!(out.rows[1].indent, 12);
    }

    #[test]
    fn every_window_keeps_the_rules() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let spans: Vec<_> = (0..3_000u32)
            .map(|i| {
                let parent = if i == 0 { NONE } else { random(u64::from(i)) as u32 };
                (parent, random(1_000_000), random(200_000), random(64) as u8)
            })
            .collect();
        let timeline = Timeline::new(trace(&spans, &[]));
        let mut small = Advances { font_px: 11.0 };
        for column in [0, 30, 150, 400] {
            for (from, to) in [(0.0, 1.2e6), (5e5, 5.1e5), (3.5, 3.75), (1_190_000.0, 1_200_000.0)] {
                let size = size(800, 600, column);
                let view = TimelineShown { scroll_px: 12_345, ..TimelineShown::plain(Window { from, to }) };
                let out = lay(&timeline, &view, size);
                for row in &out.rows {
                    assert!(row.y + 22 > size.axis_px() && row.y < size.height);
                    if let Some(bar) = row.bar {
                        assert!(bar.x >= column && bar.w > 0 && bar.x + bar.w <= 800);
                    }
                    if let Some(text) = &row.text {
                        let width = small.text_px(&text.text).ceil() as i32;
                        assert!(text.x >= column && text.x + width <= 800, "{text:?}");
                    }
                }
                assert!(out.rows.windows(2).all(|p| p[0].y + 22 == p[1].y && p[0].span < p[1].span));
            }
        }
    }
}
