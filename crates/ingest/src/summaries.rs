//! Summaries of traces (`.pathlight` files), which readers find and others understand.

/// Takes the summaries of traces that readers find. What a summary is, only its owner knows.
pub trait TakeSummaries {
    /// Takes the bytes of a summary: in an archive the name is that of the input with that of the member, and the group is the
    /// one that the set is loading. Returns what it sums.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn take(&mut self, name: String, group: u8, bytes: &[u8]) -> Result<SummaryCounts, String>;
}

/// What a summary sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SummaryCounts {
    /// Number of traces.
    pub traces: u64,
    /// Number of spans.
    pub spans: u64,
}
