//! How slow a span is among those like it.

use pathlight_base::format::count;
use pathlight_engine::queries::LikeRank;

/// What that is, for hints.
pub const HINT: &str = "How slow the span is among all spans of its endpoint that are loaded: p97 of 312 means that 97 % of the others take less time";

/// Returns how slow a span is among those like it: `p97 of 312`; empty if there is no other.
pub fn rank_words(rank: LikeRank) -> String {
    let Some(percentile) = rank.percentile() else { return String::new() };
    let like = count(rank.like);
    match (rank.shorter + 1 == rank.like, rank.longer + 1 == rank.like) {
        (true, _) => format!("slowest of {like}"),
        (_, true) => format!("fastest of {like}"),
        _ => format!("p{percentile} of {like}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_a_percentile_or_an_end() {
        let words = |like, shorter, longer| rank_words(LikeRank { like, shorter, longer });
        assert_eq!(words(312, 302, 8), "p97 of 312");
        assert_eq!(words(312, 311, 0), "slowest of 312");
        assert_eq!(words(1312, 0, 1311), "fastest of 1\u{202f}312");
        // Several are the slowest.
        assert_eq!(words(312, 300, 0), "p96 of 312");
        assert_eq!(words(2, 0, 0), "p0 of 2");
        assert_eq!(words(1, 0, 0), "");
    }
}
