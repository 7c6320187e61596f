//! A timeline with colours.

use super::{
    BarKind, NUMBERS, SpanPart, Timeline, TimelineLayout, TimelineRow, TimelineShown, TimelineSize, Toggle,
    layout, marks,
};
use crate::draw::color::ink_on;
use crate::draw::scene::Align;
use crate::draw::svg::{self, SvgText};
use crate::draw::text::Advances;
use crate::draw::{Layer, MeasureText as _, Metrics, Rgba, Scene, Shade, Text, Theme};
use pathlight_base::format;

/// Returns the picture of a layout; items are indices of its rows.
pub fn scene(layout: &TimelineLayout, theme: &Theme) -> Scene {
    let size = layout.size;
    let px = |css: f64| size.metrics.px(css);
    let (row_px, axis_px) = (size.row_px(), size.axis_px());
    let [mut rows, mut bars, mut over, mut marks, mut top, mut head] = <[Layer; 6]>::default();
    for tick in &layout.ticks {
        rows.fill(size.column_px + tick.x, 0, px(1.0).min(size.plot_px() - tick.x), size.height, theme.line);
    }
    for (i, row) in layout.rows.iter().enumerate() {
        if row.selected || row.hovered {
            let color = theme.accent.with_alpha(if row.selected { 0.16 } else { 0.07 });
            rows.fill(0, row.y, size.width, row_px, color);
        }
        paint_row(row, i as u32, layout, theme, [&mut bars, &mut over, &mut marks]);
    }
    if size.column_px > 0 {
        over.fill(size.column_px - px(1.0), 0, px(1.0), size.height, theme.line);
    }
    top.fill(0, 0, size.width, axis_px - px(1.0), theme.surface);
    head.fill(0, axis_px - px(1.0), size.width, px(1.0), theme.line);
    let small_px = size.small_px();
    let mut advances = Advances { font_px: f64::from(small_px) };
    for tick in &layout.ticks {
        let x = size.column_px + tick.x;
        head.fill(x, 0, px(1.0).min(size.plot_px() - tick.x), axis_px - px(1.0), theme.line);
        if f64::from(x + px(5.0)) + advances.text_px(&tick.label) * 1.1 <= f64::from(size.width) {
            head.texts.push(Text {
                x: x + px(4.0),
                y: Metrics::baseline(0, axis_px, small_px),
                text: tick.label.clone(),
                color: theme.muted,
                align: Align::Left,
                font_px: small_px,
                bold: false,
            });
        }
    }
    if size.numbers_px > 0 {
        for (x, name) in size.number_x().into_iter().zip(NUMBERS) {
            head.texts.push(number(x, 0, axis_px, name, small_px, theme.muted));
        }
    }
    if let Some((y, h)) = layout.thumb {
        let x = size.width - size.scrollbar_px;
        top.fill(x, axis_px, size.scrollbar_px, size.height - axis_px, theme.surface);
        top.fill(x + px(2.0), y, size.scrollbar_px - px(4.0), h, theme.background.mix(theme.muted, 0.6));
    }
    let mut scene = Scene::new(size.width, size.height, Some(theme.background));
    scene.layers = vec![rows, bars, over, marks, top, head];
    scene.finish()
}

/// Returns a number that ends at `x`.
fn number(x: i32, y: i32, h: i32, text: &str, font_px: i32, color: Rgba) -> Text {
    let text = text.to_owned();
    Text { x, y: Metrics::baseline(y, h, font_px), text, color, align: Align::Right, font_px, bold: false }
}

fn paint_row(
    row: &TimelineRow,
    item: u32,
    layout: &TimelineLayout,
    theme: &Theme,
    [bars, over, marks]: [&mut Layer; 3],
) {
    let size = layout.size;
    let px = |css: f64| size.metrics.px(css);
    let row_px = size.row_px();
    let quiet = |color: Rgba| if row.dimmed { theme.dimmed(color) } else { color };
    let own = quiet(theme.fill(if row.kind == BarKind::Dropped { Shade::Grey } else { row.shade }));
    let (bar_y, bar_h) = (row.y + px(3.0), row_px - 2 * px(3.0));
    let mut behind = own;
    if let Some(tail) = row.tail {
        let (thin, cap) = (px(4.0), px(1.0));
        // Below the label that follows the bar.
        bars.fill(tail.x, bar_y + bar_h - thin, tail.w, thin, theme.background.mix(own, 0.45));
        over.fill(tail.x + tail.w - cap, bar_y + px(3.0), cap, bar_h - 2 * px(3.0), own);
    }
    if let Some(queue) = row.queue {
        let (high, y) = (px(6.0), bar_y + (bar_h - px(6.0)) / 2);
        bars.fill(queue.x, y, queue.w, high, theme.background.mix(own, 0.15));
        for x in (queue.x..queue.x + queue.w).step_by(px(5.0).max(2) as usize) {
            over.fill(x, y, px(2.0).min(queue.x + queue.w - x), high, theme.background.mix(own, 0.5));
        }
    }
    if let Some(bar) = row.bar {
        if !row.parts.is_empty() {
            behind = theme.background.mix(own, 0.35);
        }
        if row.kind == BarKind::Async {
            behind = theme.background.mix(own, 0.3);
            over.frame([bar.x, bar_y, bar.w, bar_h], px(1.0), own);
        }
        if row.kind == BarKind::Overlay {
            behind = theme.background.mix(own, 0.2);
            for x in (bar.x..bar.x + bar.w).step_by(px(5.0).max(2) as usize) {
                over.fill(x, bar_y, px(2.0).min(bar.x + bar.w - x), bar_h, theme.background.mix(own, 0.5));
            }
        }
        bars.item(bar.x, bar_y, bar.w, bar_h, behind, item);
        if row.error {
            over.fill(bar.x, bar_y, px(3.0).min(bar.w), bar_h, quiet(theme.error));
        }
    }
    paint_parts(row, layout, theme, own, [over, marks]);
    let (line, gap) = (px(3.0), px(Theme::PATH_GAP_PX));
    for mark in &layout.marks[row.marks.clone()] {
        marks.fill(mark.x, bar_y + bar_h - line - gap, mark.w, gap, theme.background);
        marks.fill(mark.x, bar_y + bar_h - line, mark.w, line, quiet(theme.path));
    }
    let text_color = |ink: Rgba| if row.dimmed { theme.background.mix(ink, 0.6) } else { ink };
    if let Some(text) = &row.text {
        let small_px = size.small_px();
        marks.texts.push(Text {
            x: text.x,
            y: Metrics::baseline(bar_y, bar_h - if text.inside { px(2.0) } else { 0 }, small_px),
            text: text.text.clone(),
            color: if text.inside { ink_on(behind) } else { text_color(theme.muted) },
            align: Align::Left,
            font_px: small_px,
            bold: false,
        });
    }
    if size.column_px <= 0 {
        return;
    }
    if row.toggle != Toggle::Leaf {
        let (x, side) = row.toggle_x(size);
        let (y, stroke) = (row.y + (row_px - side) / 2, px(1.0));
        if x + side < size.column_px {
            over.frame([x, y, side, side], stroke, theme.muted);
            let (inset, middle) = (px(3.0), (side - stroke) / 2);
            over.fill(x + inset, y + middle, side - 2 * inset, stroke, theme.text);
            if row.toggle == Toggle::Closed {
                over.fill(x + middle, y + inset, stroke, side - 2 * inset, theme.text);
            }
        }
    }
    let chip = row.chip_x(size);
    bars.fill(chip, bar_y, px(4.0).min(size.column_px - px(1.0) - chip), bar_h, own);
    for (x, text) in size.number_x().into_iter().zip(row.numbers.iter().flatten()) {
        marks.texts.push(number(x, row.y, row_px, text, size.small_px(), text_color(theme.muted)));
    }
    let font_px = size.metrics.font_px();
    let baseline = Metrics::baseline(row.y, row_px, font_px);
    let Some(label) = &row.label else { return };
    let boxes = [row.error.then_some(('!', theme.error)), row.sign.map(|letter| (letter, theme.accent))];
    let mut x = chip + px(7.0);
    for (letter, color) in boxes.into_iter().flatten() {
        let (side, color) = (px(12.0), quiet(color));
        over.fill(x, row.y + (row_px - side) / 2, side, side, color);
        marks.texts.push(Text {
            x: x + side / 2,
            y: Metrics::baseline(row.y, row_px, size.small_px()),
            text: letter.into(),
            color: ink_on(color),
            align: Align::Center,
            font_px: size.small_px(),
            bold: true,
        });
        x += px(14.0);
    }
    marks.texts.push(Text {
        x: row.label_x(size),
        y: baseline,
        text: label.clone(),
        color: text_color(theme.text),
        align: Align::Left,
        font_px,
        bold: false,
    });
}

/// Paints the named parts of a bar: in its full colour, the problematic one framed and in that of errors.
fn paint_parts(
    row: &TimelineRow,
    layout: &TimelineLayout,
    theme: &Theme,
    own: Rgba,
    [over, marks]: [&mut Layer; 2],
) {
    let size = layout.size;
    let px = |css: f64| size.metrics.px(css);
    let (y, h) = (row.y + px(3.0), size.row_px() - 2 * px(3.0));
    for part in &layout.parts[row.parts.clone()] {
        let fill = if part.is_problem { theme.error } else { own };
        over.fill(part.bar.x, y, part.bar.w, h, fill);
        over.fill(part.bar.x, y, px(1.0).min(part.bar.w), h, theme.background);
        if part.is_problem {
            let out = px(2.0);
            marks.frame([part.bar.x - out, y - out, part.bar.w + 2 * out, h + 2 * out], px(1.5), theme.text);
        }
        if let Some((x, text)) = &part.label {
            let small_px = size.small_px();
            marks.texts.push(Text {
                x: *x,
                y: Metrics::baseline(y, h - px(2.0), small_px),
                text: text.clone(),
                color: ink_on(fill),
                align: Align::Left,
                font_px: small_px,
                bold: false,
            });
        }
    }
}

/// Returns the rows of a timeline from the view's scroll position on as an SVG document `width` pixels wide, in the
/// view's window: all of them, or the first thousand; deterministic.
pub fn export_svg(
    timeline: &Timeline,
    view: &TimelineShown,
    width: i32,
    theme: &Theme,
    title: &str,
) -> String {
    const MOST_ROWS: usize = 1000;
    let metrics = Metrics::default();
    let mut size = TimelineSize::new(width, 0, (width / 4).clamp(0, 320), metrics);
    let rows = timeline.rows().len();
    size.height = size.axis_px() + rows.min(MOST_ROWS) as i32 * size.row_px();
    // Whole rows, and no empty space below them.
    let row_px = i64::from(size.row_px());
    let scroll_px = view.scroll_px.clamp(0, size.scroll_end(timeline)) / row_px * row_px;
    let view = TimelineShown { scroll_px, hovered: None, ..*view };
    let mut label = Advances { font_px: f64::from(metrics.font_px()) };
    let mut small = Advances { font_px: f64::from(size.small_px()) };
    let layout = layout(timeline, &view, size, &mut label, &mut small);
    let tip = |item: u32| {
        let row = layout.rows.get(item as usize)?;
        if let Some(group) = timeline.group_of(row.span).filter(|_| row.is_group) {
            let name = timeline.frame(row.span).map_or("", |frame| frame.label.as_str());
            let (times, sum) = (format::count(group.members.len() as u64), format::duration_us(group.sum_us));
            return Some(format!("{name}, {times} times: {sum} in all"));
        }
        let (start, end) = timeline.interval_us(row.span);
        let parts = timeline.parts_of(row.span).iter().map(SpanPart::words);
        let mut tip = timeline.frame(row.span).map_or(String::new(), |frame| frame.label.clone());
        tip.push_str(&format!(": {} from {}", format::duration_us(end - start), format::duration_us(start)));
        for mark in marks(timeline.report(), row.span) {
            tip.push_str(&format!(", {}", mark.words));
        }
        if let Some(sign) = timeline.sign(row.span) {
            tip.push_str(&format!(", {}", sign.words));
        }
        parts.for_each(|part| tip.push_str(&format!("; {part}")));
        Some(tip)
    };
    let shown = layout.rows.len() as u64;
    let description = format!(
        "Timeline of {}: {} of {} spans, {}.",
        timeline.name(),
        format::count(shown),
        format::count(timeline.len() as u64),
        format::duration_us(timeline.report().end_us)
    );
    svg::write(&scene(&layout, theme), &SvgText { title, description: &description, tip: &tip })
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::{small, trace};
    use super::*;
    use crate::draw::Window;
    use pathlight_engine::flame::TraceReport;

    const NONE: u32 = u32::MAX;

    fn picture(timeline: &Timeline, theme: &Theme) -> (TimelineLayout, Scene) {
        let size = TimelineSize::new(1200, 200, 200, Metrics::default());
        let view = TimelineShown {
            window: timeline.full(),
            scroll_px: 0,
            selected: Some(1),
            hovered: None,
            matches: None,
            slack: false,
        };
        let layout =
            layout(timeline, &view, size, &mut Advances { font_px: 12.0 }, &mut Advances { font_px: 11.0 });
        let scene = scene(&layout, theme);
        (layout, scene)
    }

    #[test]
    fn kinds_of_spans_look_different() {
        let kinds = [0, TraceReport::ASYNC, TraceReport::DROPPED, TraceReport::ERROR, TraceReport::OVERLAY];
        let spans: Vec<_> = kinds.iter().map(|&bits| (NONE, 0, 1000, bits)).collect();
        let mut report = trace(&spans, &[]);
        report.endpoint = vec![0; 5];
        let theme = Theme::light();
        let (_, scene) = picture(&Timeline::new(report), &theme);
        let own = theme.fill(Shade::service("svc0"));
        let color = |item: u32| scene.layers[1].fills.iter().find(|f| f.item == item).unwrap().color;
        assert_eq!(color(0), own);
        assert_eq!(color(1), theme.background.mix(own, 0.3));
        assert_eq!(color(2), theme.fill(Shade::Grey));
        assert_eq!(color(3), own);
        assert_eq!(color(4), theme.background.mix(own, 0.2));
        let stripe = theme.background.mix(own, 0.5);
        assert!(scene.layers[2].fills.iter().filter(|f| f.color == stripe).count() > 10, "it is hatched");
        let frame = scene.layers[2].fills.iter().filter(|f| f.color == own && f.y >= 46 && f.y < 68).count();
        assert_eq!(frame, 4, "the asynchronous one is outlined");
        let errors = scene.layers[2].fills.iter().filter(|f| f.color == theme.error && f.y > 88).count();
        assert_eq!(errors, 2, "on the bar and at the label");
    }

    #[test]
    fn the_path_is_a_strong_line_along_the_bars() {
        let theme = Theme::dark();
        let (layout, scene) = picture(&small(), &theme);
        let lines: Vec<_> =
            scene.layers[3].fills.iter().filter(|f| f.color == theme.path).map(|f| (f.x, f.w, f.h)).collect();
        assert_eq!(lines, layout.marks.iter().map(|m| (m.x, m.w, 3)).collect::<Vec<_>>());
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn a_marked_span_has_a_letter_at_its_label_and_words_at_its_bar() {
        let mut timeline = small();
        let sign = |letter, words: &str| super::super::Sign { letter, words: words.to_owned() };
        timeline.set_signs(vec![(1, sign('+', "new")), (3, sign('-', "missing"))]);
        let (layout, scene) = picture(&timeline, &Theme::light());
        let texts: Vec<&str> = scene.layers.iter().flat_map(|l| &l.texts).map(|t| t.text.as_str()).collect();
        assert!(texts.contains(&"+") && texts.contains(&"-"));
        let words =
            |row: usize| layout.rows[row].text.as_ref().map(|text| text.text.replace(format::THIN, " "));
        assert_eq!(words(1).as_deref(), Some("300 \u{b5}s, new"));
        assert_eq!(words(2).as_deref(), Some("100 \u{b5}s"));
        let x = |row: usize| layout.rows[row].label_x(layout.size) - layout.rows[row].chip_x(layout.size);
        assert_eq!((x(1), x(2)), (22, 8));
    }

    #[test]
    fn everything_is_painted_within_the_width() {
        let theme = Theme::light();
        let (_, scene) = picture(&small(), &theme);
        for fill in scene.layers.iter().flat_map(|layer| &layer.fills) {
            assert!(fill.x >= 0 && fill.x + fill.w <= 1200 && fill.w > 0, "{fill:?}");
        }
    }

    #[test]
    fn an_exported_timeline_names_its_spans_and_is_the_same_every_time() {
        let timeline = small();
        let view = TimelineShown {
            window: Window::full(1000),
            scroll_px: 7,
            selected: None,
            hovered: None,
            matches: None,
            slack: false,
        };
        let svg = export_svg(&timeline, &view, 900, &Theme::light(), "Trace 1");
        assert_eq!(svg, export_svg(&timeline, &view, 900, &Theme::light(), "Trace 1"));
        let svg = svg.replace(format::THIN, " ");
        assert!(svg.contains("<title>svc1: op1: 300 µs from 100 µs, on the critical path</title>"));
        assert!(svg.contains("Timeline of trace 1: 5 of 5 spans, 1.00 ms."));
        assert!(svg.contains("height=\"134\""));
    }
}
