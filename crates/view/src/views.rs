//! The views of the page: their order, their names, and what each of them answers.

use crate::address::current_value;

/// Words in place of what is being computed.
pub const WORKING: &str = "Working\u{2026}";

/// A view of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Overview of the loaded traces, and where the time goes.
    #[default]
    Findings,
    /// Flame graph of the critical path.
    Flame,
    /// Interior endpoints over all root endpoints.
    Endpoints,
    /// Endpoints against requests.
    Heatmap,
    /// Timeline of one trace.
    Trace,
    /// Layers, diagnosis and aggregate traces.
    Diagnosis,
    /// Two percentile ranges or two sets side by side.
    Compare,
    /// Times by the values of a tag.
    Split,
    /// Summaries over time.
    Trend,
    /// Order of calls, and what-if.
    Flow,
    /// The slowest requests.
    Requests,
    /// Requests unlike those of a training set.
    Anomalies,
    /// Errors: their start, their end and their cost.
    Errors,
}

/// A group of views in the sidebar, by what they answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewGroup {
    /// What is slow, and why.
    Answer,
    /// Where the time goes.
    Where,
    /// In what requests differ.
    Different,
    /// What would help.
    Better,
    /// Which requests they are.
    Which,
}

impl ViewGroup {
    /// Returns its name in the sidebar.
    pub fn name(self) -> &'static str {
        match self {
            ViewGroup::Answer => "Answer",
            ViewGroup::Where => "Where",
            ViewGroup::Different => "Different",
            ViewGroup::Better => "Better",
            ViewGroup::Which => "Which",
        }
    }
}

impl View {
    /// Every view, in the order of the sidebar.
    pub const ALL: [View; 13] = [
        View::Findings,
        View::Flame,
        View::Endpoints,
        View::Heatmap,
        View::Trace,
        View::Diagnosis,
        View::Compare,
        View::Split,
        View::Trend,
        View::Flow,
        View::Requests,
        View::Anomalies,
        View::Errors,
    ];

    /// Returns its value of `view=`, which is also the name of its folders, but for `requests_list` and `timeline`.
    pub fn key(self) -> &'static str {
        match self {
            View::Findings => "findings",
            View::Flame => "flame",
            View::Compare => "compare",
            View::Heatmap => "heatmap",
            View::Endpoints => "endpoints",
            View::Split => "split",
            View::Flow => "flow",
            View::Diagnosis => "diagnosis",
            View::Anomalies => "anomalies",
            View::Errors => "errors",
            View::Requests => "requests",
            View::Trace => "trace",
            View::Trend => "trend",
        }
    }

    /// Returns its group in the sidebar.
    pub fn group(self) -> ViewGroup {
        match self {
            View::Findings => ViewGroup::Answer,
            View::Flame | View::Endpoints | View::Heatmap | View::Trace | View::Diagnosis => ViewGroup::Where,
            View::Compare | View::Split | View::Trend => ViewGroup::Different,
            View::Flow => ViewGroup::Better,
            View::Requests | View::Anomalies | View::Errors => ViewGroup::Which,
        }
    }

    /// Returns whether it can show services in place of endpoints.
    pub fn rolls_up(self) -> bool {
        matches!(
            self,
            View::Findings | View::Flame | View::Compare | View::Heatmap | View::Endpoints | View::Errors
        )
    }

    /// Returns whether it can show requests until everything is done that they lead to; others show them until their answer.
    pub fn follows_messages(self) -> bool {
        matches!(
            self,
            View::Findings
                | View::Flame
                | View::Compare
                | View::Heatmap
                | View::Endpoints
                | View::Requests
                | View::Split
        )
    }

    /// Returns the view of a key, be it a former one; `None` for other text.
    pub fn from_key(key: &str) -> Option<View> {
        let key = current_value("view", key);
        View::ALL.into_iter().find(|view| view.key() == key)
    }

    /// Returns its name in the sidebar.
    pub fn name(self) -> &'static str {
        match self {
            View::Findings => "Findings",
            View::Flame => "Flame graph",
            View::Compare => "Compare",
            View::Heatmap => "Heat map",
            View::Endpoints => "Endpoints",
            View::Split => "Split by tag",
            View::Flow => "Flow",
            View::Diagnosis => "Diagnosis",
            View::Anomalies => "Abnormal",
            View::Errors => "Errors",
            View::Requests => "Requests",
            View::Trace => "Timeline",
            View::Trend => "Trend",
        }
    }

    /// Returns what it answers, in one line.
    pub fn hint(self) -> &'static str {
        match self {
            View::Findings => "What is loaded and where the time goes",
            View::Flame => "The critical path of all requests, by call path",
            View::Compare => "Two percentile ranges or two sets of traces, frame by frame",
            View::Heatmap => "Where each request spends its time: endpoints against requests",
            View::Endpoints => "Which endpoints cost most over all root endpoints",
            View::Split => "Times by the values of a tag: host, region, version",
            View::Flow => "What waits for what, and what if it were otherwise",
            View::Diagnosis => "What is slow, where in its span, and whether only in the tail",
            View::Anomalies => "Which requests are abnormal, and why",
            View::Errors => "Where errors start and stop, and what they cost",
            View::Requests => "The slowest requests",
            View::Trace => "One trace with its critical path",
            View::Trend => "Summaries over time: what changed, and since when",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_has_every_view_in_the_order_of_their_declaration() {
        // Of an enum alone nobody can tell how many variants it has, so the source is counted.
        let (_, after) = include_str!("views.rs").split_once("pub enum View {").unwrap();
        let (variants, _) = after.split_once("\n}").unwrap();
        let declared: Vec<&str> = variants
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("//"))
            .filter_map(|line| line.strip_suffix(','))
            .collect();
        assert_eq!(View::ALL.map(|view| format!("{view:?}")).as_slice(), declared);
    }

    #[test]
    fn every_key_leads_to_its_view_and_so_does_every_former_key() {
        for view in View::ALL {
            assert_eq!(View::from_key(view.key()), Some(view));
        }
        let former = [
            ("diff", View::Compare),
            ("heat", View::Heatmap),
            ("bottom", View::Endpoints),
            ("tprof", View::Diagnosis),
            ("anomaly", View::Anomalies),
        ];
        for (key, view) in former {
            assert_eq!(View::from_key(key), Some(view), "{key}");
            assert_ne!(view.key(), key);
        }
        assert_eq!(View::from_key("Heat map"), None);
    }

    #[test]
    fn the_guide_has_a_page_for_every_view_under_its_name() {
        for view in View::ALL {
            let page = format!("{}/../../docs/guide/{}.md", env!("CARGO_MANIFEST_DIR"), view.key());
            let text = std::fs::read_to_string(&page).unwrap();
            assert_eq!(text.lines().next(), Some(format!("# {}", view.name()).as_str()), "{page}");
        }
    }
}
