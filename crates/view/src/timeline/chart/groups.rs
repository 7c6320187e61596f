//! Siblings of one name in one row: a loop of two hundred calls is one line that opens.

use pathlight_base::sort::sort_by_number;
use pathlight_base::steps::in_blocks;
use pathlight_engine::flame::TraceReport;

/// Siblings of one name are put together from this many on.
const FEWEST: usize = 8;

const NONE: u32 = u32::MAX;

/// Siblings of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiblingGroup {
    /// The spans, ascending.
    pub members: Vec<u32>,
    /// Start of the first and end of the last to end.
    pub interval_us: (u64, u64),
    /// Sum of the durations of its spans, in microseconds.
    pub sum_us: u128,
    /// Their own time on the critical path, summed.
    pub own_us: u64,
    /// Spans among them that are errors.
    pub errors: u32,
    /// The stretches of the critical path in them and below them, in order of time, none within another.
    pub stretches: Vec<(u64, u64)>,
    /// They have rows of their own.
    pub is_open: bool,
}

/// All groups of a trace.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    groups: Vec<SiblingGroup>,
    /// The group of each span.
    of: Vec<u32>,
}

impl Groups {
    /// Finds the groups among the spans of a trace; `parent` gives the parent of a span, `own_us` holds what each of them
    /// has on the critical path itself, and `stretch` gives where they and what is below them are on it.
    pub fn new(
        report: &TraceReport,
        own_us: &[u64],
        parent: impl Fn(usize) -> Option<u32>,
        stretch: impl Fn(usize) -> Option<(u64, u64)>,
    ) -> Groups {
        let n = own_us.len();
        // Spans of one parent and name have one number.
        let names = u64::from(report.endpoint.iter().copied().max().unwrap_or(0)) + 1;
        let number =
            |span| parent(span).map_or(n as u64, u64::from) * names + u64::from(report.endpoint[span]);
        let mut keys: Vec<(u64, u32)> = Vec::with_capacity(n);
        in_blocks(n, &mut |block| keys.extend(block.map(|span| (number(span), span as u32))));
        sort_by_number(&mut keys);
        let mut found = Groups { groups: Vec::new(), of: vec![NONE; n] };
        let mut add_group = |run: &[(u64, u32)]| {
            let mut group = SiblingGroup { interval_us: (u64::MAX, 0), ..SiblingGroup::default() };
            in_blocks(run.len(), &mut |block| {
                for &(_, span) in &run[block] {
                    let (start, duration) =
                        (report.span_start_us[span as usize], report.duration_us[span as usize]);
                    group.interval_us.0 = group.interval_us.0.min(start);
                    group.interval_us.1 = group.interval_us.1.max(start.saturating_add(duration));
                    group.sum_us += u128::from(duration);
                    group.own_us += own_us[span as usize];
                    group.errors += u32::from(report.bits[span as usize] & TraceReport::ERROR != 0);
                    group.members.push(span);
                    group.stretches.extend(stretch(span as usize));
                    found.of[span as usize] = found.groups.len() as u32;
                }
            });
            group.stretches.sort();
            group.stretches.dedup_by(|next, last| {
                let is_joined = next.0 <= last.1;
                if is_joined {
                    last.1 = last.1.max(next.1);
                }
                is_joined
            });
            found.groups.push(group);
        };
        let mut runs = keys.chunk_by(|a, b| a.0 == b.0);
        in_blocks(n, &mut |block| {
            let runs = runs.by_ref().take(block.len());
            runs.filter(|run| run.len() >= FEWEST).for_each(&mut add_group);
        });
        found
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the group of a span.
    pub fn of(&self, span: u32) -> Option<&SiblingGroup> {
        self.groups.get(*self.of.get(span as usize)? as usize)
    }

    /// Opens or closes the group of a span; tells whether it has one that was otherwise.
    pub fn set_open(&mut self, span: u32, is_open: bool) -> bool {
        let at = self.of.get(span as usize).copied().unwrap_or(NONE);
        let group = self.groups.get_mut(at as usize);
        group.is_some_and(|group| std::mem::replace(&mut group.is_open, is_open) != is_open)
    }
}
