//! Aggregate traces as timelines: spans at their means, with their subspans as named parts of bars.

use super::parts::place;
use super::{Sign, SpanBar, SpanPart, Timeline, TimelineSize, part_name};
use crate::draw::text::elide_middle;
use crate::draw::{MeasureText, Window};
use pathlight_base::format;
use pathlight_engine::diagnosis::AggregateTrace;
use pathlight_engine::flame::TraceReport;
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

const NONE: u32 = u32::MAX;

/// The visible part of a named part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartBox {
    /// The part as a bar.
    pub bar: SpanBar,
    /// Left edge and text of what stands on it.
    pub label: Option<(i32, String)>,
    /// Whether it is the problematic part.
    pub is_problem: bool,
}

/// Rounds halves up, as the engine does.
fn rounded(us: f64) -> u64 {
    (us + 0.5).max(0.0) as u64
}

impl Timeline {
    /// Returns an aggregate trace, its rows in order of time; and for each row the number of the span in the aggregate
    /// trace.
    pub fn of_aggregate(trace: &AggregateTrace) -> (Timeline, Vec<u32>) {
        let n = trace.spans.len();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut stack = Vec::new();
        for (number, span) in (0..).zip(&trace.spans) {
            match span.parent.and_then(|parent| children.get_mut(parent as usize)) {
                Some(below) => below.push(number),
                None => stack.push(number),
            }
        }
        stack.reverse();
        let mut order: Vec<u32> = Vec::with_capacity(n);
        let mut row_of = vec![NONE; n];
        while let Some(number) = stack.pop() {
            row_of[number as usize] = order.len() as u32;
            order.push(number);
            let below = &mut children[number as usize];
            below.sort_by_key(|&child| (trace.spans[child as usize].start_rounded_us, child));
            stack.extend(below.iter().rev());
        }
        let mut names: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        let mut report = TraceReport {
            trace_id: format!("the aggregate trace of {}", format::counted(trace.traces, "trace")),
            end_us: trace.spans.iter().map(|span| span.end_rounded_us).max().unwrap_or(0),
            ..TraceReport::default()
        };
        let mut parts = Vec::new();
        for (row, &number) in (0..).zip(&order) {
            let span = &trace.spans[number as usize];
            let parent = span.parent.and_then(|parent| row_of.get(parent as usize)).copied().unwrap_or(NONE);
            let endpoint = *names.entry((&span.service, &span.name)).or_insert_with(|| {
                report.endpoints.push(Endpoint::new(&span.service, &span.name));
                report.endpoints.len() as u32 - 1
            });
            report.depth.push(report.depth.get(parent as usize).map_or(0, |depth| depth + 1));
            report.parent.push(parent);
            report.endpoint.push(endpoint);
            report.span_start_us.push(span.start_rounded_us);
            report.duration_us.push(span.end_rounded_us - span.start_rounded_us);
            report.bits.push(0);
            for (index, subspan) in (0..).zip(&span.subspans) {
                let is_problem = trace.problem.is_some_and(|p| p.span == number && p.subspan == index);
                let name = part_name(span, subspan);
                let place = place(subspan).unwrap_or_default();
                let end_us = rounded(subspan.end_us).min(span.end_rounded_us);
                let start_us = rounded(subspan.end_us - subspan.duration_us.mean).min(end_us);
                parts.push(SpanPart { span: row, index, start_us, end_us, name, place, is_problem });
            }
        }
        for segment in &trace.critical_path {
            let Some(&row) = row_of.get(segment.span as usize) else { continue };
            report.segment_span.push(row);
            report.segment_start_us.push(segment.start_us);
            report.segment_end_us.push(segment.end_us);
            // A span on the path has those above it on it too.
            let mut at = row;
            while let Some(bits) = report.bits.get_mut(at as usize).filter(|bits| **bits == 0) {
                *bits = TraceReport::ON_PATH;
                at = report.parent[at as usize];
            }
        }
        let mut timeline = Timeline::new(report);
        let problems = parts.iter().filter(|part| part.is_problem);
        let sign = |part: &SpanPart| Sign {
            letter: '!',
            words: format!("slow {}", part.place).trim_end().to_owned(),
        };
        timeline.set_signs(problems.map(|part| (part.span, sign(part))).collect());
        timeline.parts = parts;
        (timeline, order)
    }

    /// Returns what it is of: a trace with its id, or an aggregate trace.
    pub fn name(&self) -> String {
        let id = &self.report().trace_id;
        if self.parts.is_empty() { format!("trace {id}") } else { id.clone() }
    }

    /// Returns the title of a picture of it.
    pub fn title(&self) -> String {
        let id = &self.report().trace_id;
        if self.parts.is_empty() { format!("Trace {id}") } else { id.clone() }
    }

    /// Returns the named parts of a span in order of time.
    pub fn parts_of(&self, span: u32) -> &[SpanPart] {
        let from = self.parts.partition_point(|part| part.span < span);
        &self.parts[from..self.parts.partition_point(|part| part.span <= span)]
    }

    /// Returns the problematic part of a span.
    pub fn problem_of(&self, span: u32) -> Option<&SpanPart> {
        self.parts_of(span).iter().find(|part| part.is_problem)
    }

    /// Returns the part of a span that a moment lies in.
    pub fn part_at(&self, span: u32, at_us: f64) -> Option<&SpanPart> {
        let holds = |part: &&SpanPart| part.start_us as f64 <= at_us && at_us <= part.end_us as f64;
        self.parts_of(span).iter().find(holds)
    }
}

/// Adds the visible parts of a span, those too narrow to be drawn one by one left out; returns their end.
pub(crate) fn boxes(
    timeline: &Timeline,
    window: Window,
    size: TimelineSize,
    span: u32,
    small: &mut dyn MeasureText,
    out: &mut Vec<PartBox>,
) -> usize {
    let (plot, pad) = (size.plot_px(), size.metrics.px(3.0));
    let own = timeline.parts_of(span);
    let from = own.partition_point(|part| (part.end_us as f64) < window.from);
    let mut filled = i32::MIN;
    for part in own[from..].iter().take_while(|part| part.start_us as f64 <= window.to) {
        let x = window.pixel(part.start_us, plot).clamp(0, plot - 1);
        let right = window.pixel(part.end_us, plot).clamp(0, plot);
        // Where it takes no time it has no box, but the problem is always to be seen.
        let least = if part.is_problem { size.metrics.px(6.0) } else { i32::from(right > x) };
        let w = (right - x).max(least).min(plot);
        let x = x.min(plot - w);
        if w <= 0 || !part.is_problem && x + w <= filled {
            continue;
        }
        filled = filled.max(x + w);
        let bar = SpanBar { x: size.column_px + x, w };
        let mark = if part.is_problem { "! " } else { "" };
        let text = format!("{mark}{}", part.place);
        let text = elide_middle(text.trim_end(), f64::from(w - 2 * pad), small);
        let label = text.map(|text| (bar.x + pad, text));
        out.push(PartBox { bar, label, is_problem: part.is_problem });
    }
    out.len()
}

#[cfg(test)]
mod tests {
    use super::super::{TimelineShown, export_svg, layout, scene};
    use super::*;
    use crate::draw::text::Advances;
    use crate::draw::{Metrics, Theme};
    use pathlight_engine::diagnosis::{
        AggregateSegment, AggregateSpan, AggregateSubspan, ProblemSubspan, TimeStatistics,
    };

    /// Returns an aggregate trace: A over [0, 1000] with B over [200, 400] and C over [100, 150]; A 2 is slow.
    fn aggregate() -> AggregateTrace {
        let span =
            |parent, name: &str, start: u64, end: u64, subspans: &[((f64, f64), [&str; 2])]| AggregateSpan {
                parent,
                service: "svc".into(),
                operation: name.into(),
                name: name.into(),
                start_us: start as f64,
                end_us: end as f64,
                start_rounded_us: start,
                end_rounded_us: end,
                duration_us: TimeStatistics {
                    count: 7,
                    mean: (end - start) as f64,
                    ..TimeStatistics::default()
                },
                subspans: subspans
                    .iter()
                    .enumerate()
                    .map(|(index, &((start, end), around))| AggregateSubspan {
                        name: format!("{name} {index}"),
                        after: Some(around[0].to_owned()).filter(|name| !name.is_empty()),
                        before: Some(around[1].to_owned()).filter(|name| !name.is_empty()),
                        end_us: end,
                        duration_us: TimeStatistics {
                            count: 7,
                            mean: end - start,
                            ..TimeStatistics::default()
                        },
                    })
                    .collect(),
            };
        AggregateTrace {
            traces: 7,
            problem: Some(ProblemSubspan { span: 0, subspan: 2 }),
            spans: vec![
                span(
                    None,
                    "A",
                    0,
                    1000,
                    &[((0.0, 100.0), ["", "C"]), ((149.5, 200.4), ["C", "B"]), ((400.0, 1000.0), ["B", ""])],
                ),
                span(Some(0), "B", 200, 400, &[((200.0, 400.0), ["", ""])]),
                span(Some(0), "C", 100, 150, &[((100.0, 150.0), ["", ""])]),
            ],
            critical_path: vec![
                AggregateSegment { span: 0, start_us: 0, end_us: 200 },
                AggregateSegment { span: 1, start_us: 200, end_us: 400 },
                AggregateSegment { span: 0, start_us: 400, end_us: 1000 },
            ],
            ..AggregateTrace::default()
        }
    }

    #[test]
    fn rows_come_in_order_of_time_with_their_parts_and_path() {
        let (timeline, order) = Timeline::of_aggregate(&aggregate());
        assert_eq!(order, [0, 2, 1]);
        assert_eq!(timeline.frame(1).map(|frame| frame.label.as_str()), Some("svc: C"));
        let parts: Vec<(u64, u64)> =
            timeline.parts_of(0).iter().map(|part| (part.start_us, part.end_us)).collect();
        assert_eq!(parts, [(0, 100), (150, 200), (400, 1000)]);
        assert_eq!(timeline.part_at(0, 120.0), None);
        assert_eq!(timeline.part_at(0, 500.0), timeline.problem_of(0));
        let on_path = |row| timeline.bit(row, TraceReport::ON_PATH);
        assert!(on_path(0) && on_path(2) && !on_path(1));
        assert_eq!(timeline.report().segment_span, [0, 2, 0]);
    }

    #[test]
    fn the_problem_is_framed_and_named_and_seen_however_narrow() {
        let (timeline, _) = Timeline::of_aggregate(&aggregate());
        let size = TimelineSize::new(1200, 200, 200, Metrics::default());
        let mut measure = [Advances { font_px: 12.0 }, Advances { font_px: 11.0 }];
        let mut lay = |window| {
            let view = TimelineShown::plain(window);
            let [label, small] = &mut measure;
            layout(&timeline, &view, size, label, small)
        };
        let out = lay(timeline.full());
        let row = &out.rows[0];
        let boxes = &out.parts[row.parts.clone()];
        assert_eq!(boxes.len(), 3);
        assert_eq!(boxes[0].label.as_ref().map(|label| label.1.as_str()), Some("before \u{201c}C\u{201d}"));
        assert_eq!(boxes[2].label.as_ref().map(|label| label.1.as_str()), Some("! after \u{201c}B\u{201d}"));
        // The middle goes where there is no room for all of it.
        assert_eq!(boxes[1].label.as_ref().map(|label| label.1.as_str()), Some("bet…B\u{201d}"));
        // A bar with parts has no room for words; beside it there is.
        assert_eq!(row.text, None);
        let theme = Theme::light();
        let frames =
            scene(&out, &theme).layers[3].fills.iter().filter(|fill| fill.color == theme.text).count();
        assert_eq!(frames, 4);
        // Names of parts are measured in the font that they are drawn in; only the sign beside a name is bold.
        let texts = scene(&out, &theme).layers.into_iter().flat_map(|layer| layer.texts);
        let bold: Vec<String> = texts.filter(|text| text.bold).map(|text| text.text).collect();
        assert!(bold.iter().all(|text| text == "!"), "{bold:?}");
        let text = lay(Window { from: 0.0, to: 2000.0 }).rows[0].text.clone().unwrap();
        assert!(text.text.ends_with(", slow after \u{201c}B\u{201d}") && !text.inside, "{text:?}");
        // Seen from far away it still has its frame.
        let far = lay(Window { from: 0.0, to: 1e6 });
        assert_eq!(far.parts[far.rows[0].parts.clone()].iter().filter(|part| part.is_problem).count(), 1);
        assert!(far.parts.iter().filter(|part| part.is_problem).all(|part| part.bar.w == 6));
    }

    #[test]
    fn an_exported_aggregate_trace_names_its_parts() {
        let (timeline, _) = Timeline::of_aggregate(&aggregate());
        let view = TimelineShown::plain(timeline.full());
        let svg = export_svg(&timeline, &view, 900, &Theme::light(), "Aggregate").replace(format::THIN, " ");
        assert!(svg.contains("Timeline of the aggregate trace of 7 traces: 3 of 3 spans"), "{svg}");
        assert!(svg.contains("A after \u{201c}B\u{201d} 600 µs (problematic)"), "{svg}");
    }
}
