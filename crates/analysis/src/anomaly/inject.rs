//! Making abnormal requests out of normal ones, for the evaluation (paper section 7.3; `docs/definitions/anomaly.md` section 4).

use pathlight_model::sort::Arrange;
use pathlight_model::stats::{Random, mix};
use pathlight_model::trace::{NO_ROW, RawSpan, Role, SetFull, SpanId, TraceSet, Tree};
use serde::{Deserialize, Serialize};

/// How a request is made abnormal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Injection {
    /// The paper's recipe: a fifth of the spans dropped, durations permuted over the rest.
    Recipe,
    /// A fifth of the spans dropped with their subtrees.
    Structure,
    /// Durations permuted over all spans.
    Durations,
    /// Every topmost span of one endpoint takes so many times as long, and what comes after it comes later.
    Slower {
        /// Hundredths: 300 is three times as long.
        percent: u32,
    },
}

impl Injection {
    /// Those that the evaluation looks at.
    pub const ALL: [Injection; 4] =
        [Injection::Recipe, Injection::Structure, Injection::Durations, Injection::Slower { percent: 300 }];

    /// In words.
    pub fn name(self) -> String {
        match self {
            Injection::Recipe => "spans dropped, durations permuted".to_owned(),
            Injection::Structure => "spans dropped".to_owned(),
            Injection::Durations => "durations permuted".to_owned(),
            Injection::Slower { percent } => {
                format!("one endpoint {} times slower", f64::from(percent) / 100.0)
            }
        }
    }
}

/// Whether the evaluation keeps a trace out of training; about every second one, by a seeded hash of its id.
pub fn is_held_out(seed: u64, trace_id: &str) -> bool {
    Random::of(mix(seed), trace_id).below(2) == 1
}

/// Adds an abnormal copy of a request as a trace of its own to `out`, which comes from
/// [`TraceSet::without_traces`] of `set`. Gives the number of spans it lost; `None`
/// (and nothing added) for a request of one span, which no recipe changes.
///
/// # Errors
/// [`SetFull`] when memory ends.
pub fn inject(
    set: &TraceSet,
    tree: &Tree,
    root: u32,
    how: Injection,
    seed: u64,
    out: &mut TraceSet,
) -> Result<Option<u32>, SetFull> {
    let end = tree.subtree_end[root as usize];
    let spans = (end - root) as usize;
    if spans < 2 {
        return Ok(None);
    }
    let mut random = Random::of(seed, &set.trace_id_text(tree.trace));
    let mut raw: Vec<RawSpan> = (root..end).map(|span| set.raw(tree.row(span))).collect();
    let mut is_kept = vec![true; spans];
    if matches!(how, Injection::Recipe | Injection::Structure) {
        let mut others: Vec<usize> = (1..spans).collect();
        random.shuffle(&mut others);
        let dropped = ((0.2 * (spans - 1) as f64).round() as usize).max(1);
        for &span in &others[..dropped] {
            let from = root as usize + span;
            is_kept[span..tree.subtree_end[from] as usize - root as usize].fill(false);
        }
    }
    if matches!(how, Injection::Recipe | Injection::Durations) {
        let kept: Vec<usize> = (0..spans).filter(|&span| is_kept[span]).collect();
        let mut durations: Vec<u64> = kept.iter().map(|&span| raw[span].duration_us).collect();
        random.shuffle(&mut durations);
        kept.iter().zip(durations).for_each(|(&span, duration)| raw[span].duration_us = duration);
    }
    if let Injection::Slower { percent } = how {
        slow_down(set, tree, root, percent, &mut random, &mut raw);
    }
    raw[0].parent = SpanId::NONE;
    let mut keep = is_kept.iter();
    raw.retain(|_| keep.next().is_some_and(|kept| *kept));
    let lost = (spans - raw.len()) as u32;
    out.add_trace(set.traces()[tree.trace as usize].id, &mut raw)?;
    Ok(Some(lost))
}

/// Makes all topmost spans of one endpoint slower, moves on what begins after one of them ends, and lengthens what
/// contains one.
fn slow_down(set: &TraceSet, tree: &Tree, root: u32, percent: u32, random: &mut Random, raw: &mut [RawSpan]) {
    let live: Vec<u32> = (1..raw.len() as u32)
        .filter(|&span| tree.role[(root + span) as usize] == Role::Sync && raw[span as usize].duration_us > 0)
        .collect();
    let Some(&chosen) = live.get(random.below(live.len() as u64) as usize) else { return };
    let endpoint = set.endpoint(tree.row(root + chosen));
    // (end, how much longer) of the slower spans, by end, with the sums so far.
    let mut longer: Vec<(u64, u64)> = Vec::new();
    let mut holders = vec![false; raw.len()];
    let mut at = 1;
    while at < raw.len() {
        let span = root as usize + at;
        let is_one = set.endpoint(tree.row(span as u32)) == endpoint && tree.role[span] == Role::Sync;
        if !is_one {
            at += 1;
            continue;
        }
        let extra = (u128::from(raw[at].duration_us) * u128::from(percent.saturating_sub(100)) / 100) as u64;
        longer.push((tree.end_us[span], extra));
        raw[at].duration_us += extra;
        let mut parent = tree.parent[span];
        while parent != NO_ROW && parent >= root && !holders[(parent - root) as usize] {
            holders[(parent - root) as usize] = true;
            parent = tree.parent[parent as usize];
        }
        at = tree.subtree_end[span] as usize - root as usize;
    }
    longer.arrange();
    let mut sum = 0;
    longer.iter_mut().for_each(|(_, extra)| {
        sum += *extra;
        *extra = sum;
    });
    let shift = |time: u64| match longer.partition_point(|&(end, _)| end <= time) {
        0 => 0,
        n => longer[n - 1].1,
    };
    for (at, span) in raw.iter_mut().enumerate() {
        let (start, end) = (tree.start_us[root as usize + at], tree.end_us[root as usize + at]);
        span.start_us += shift(start);
        if holders[at] {
            span.duration_us += shift(end) - shift(start);
        }
    }
}
