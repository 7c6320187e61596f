//! Two sides against each other: the differential flame graph, the largest changes, and the services that changed.

use crate::address::choices::Choices;
use crate::compare;
use crate::compare::services::{ServicePlaceRow, ServiceRow};
use crate::flame::FlameSource;
use crate::flame::chart::{DiffFlame, FlameTree, FlameWords, counts_as_changed};
use crate::flame::table::caller_words;
use crate::flame::tree::{self, Calls};
use crate::sampling;
use crate::say::tip::{Numbers, TipLine};
use crate::search::finder::Finder;
use crate::table::{Attributes, Column, Number, Table, Width};
use pathlight_base::format;
use pathlight_base::statistics::Interval;
use pathlight_engine::compare::{
    Basis, Change, CompareNode, CompareReport, MeasuredTime, Presence, RankedChange,
};
use pathlight_engine::ids::{NodeId, ReportEndpoint};
use pathlight_engine::verdict::ServiceChange;
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Smallest changes that are coloured, in millionths of side A's mean latency, with their names.
pub const LEAST: [(u32, &str); 5] =
    [(0, "none"), (1_000, "0.1 %"), (5_000, "0.5 %"), (10_000, "1 %"), (50_000, "5 %")];

/// Said wherever 95 % intervals between requests stand that were chosen by their latency: of two percentile ranges, or of a
/// tail against the bulk. Such sides differ by choice.
macro_rules! descriptive {
    () => {
        "The sides were chosen by their latency: 95 % intervals describe these requests and are no test."
    };
}

/// Says of an interval between sides that were chosen by their latency that it is no test.
pub const DESCRIPTIVE: &str = descriptive!();

/// Hint of the column of intervals between two sets of requests.
pub const INTERVAL_OF_SETS: &str = "Welch's interval of the change; a dash where there is nothing to test";

/// Its hint between the tail and the bulk.
pub const INTERVAL_OF_TAIL: &str =
    concat!("Welch's interval of the change; a dash where there is none. ", descriptive!());

/// Its hint between sides that may be percentile ranges.
const INTERVAL_OF_SIDES: &str = "Welch's interval of the change; a dash where there is none. Between percentile ranges it describes \
                                 these requests and is no test";

/// Returns which services a search finds: by their names, or by a place of theirs; `None` if nothing is searched for, or
/// nothing found.
pub fn found_services(rows: &[ServiceRow], finder: &Finder) -> Option<Vec<bool>> {
    let own = |row: &ServiceRow| {
        let mut services = compare::services::services();
        services.set_rows(vec![row.clone()]);
        services.find(finder).matches > 0
    };
    let is_found =
        |row: &ServiceRow| own(row) || found_places(&ServicePlaceRow::of(&row.row), finder).is_some();
    found(rows.iter().map(is_found), finder)
}

/// Returns which places of a service a search finds; `None` if nothing is searched for, or nothing found.
pub fn found_places(rows: &[ServicePlaceRow], finder: &Finder) -> Option<Vec<bool>> {
    let mut places = compare::services::places();
    places.set_rows(rows.to_vec());
    found(places.find(finder).hits.unwrap_or_default().into_iter(), finder)
}

fn found(hits: impl Iterator<Item = bool>, finder: &Finder) -> Option<Vec<bool>> {
    let hits: Vec<bool> = hits.collect();
    (!finder.is_empty() && hits.contains(&true)).then_some(hits)
}

/// Returns what the comparison says as a whole: the service to blame, and where samples may have made the difference.
pub fn summary(report: &CompareReport) -> String {
    let mut words = compare::services::summary(&report.culprit);
    if let Some(sampled) = sampling::words::compared(&report.a.facts, &report.b.facts) {
        words.push(' ');
        words += sampled;
    }
    words
}

/// Returns the first sentence of a paragraph, and the others with the space before them.
pub fn first_sentence(words: &str) -> (&str, &str) {
    words.split_at(words.find(". ").map_or(words.len(), |end| end + 1))
}

/// A report of both sides as it is looked at.
pub struct DiffSource {
    /// The report.
    pub report: Rc<CompareReport>,
    /// The switches of the view.
    pub choices: Choices,
    /// The flame graph.
    pub flame: DiffFlame,
}

impl DiffSource {
    /// Lays a report out.
    pub fn new(report: Rc<CompareReport>, choices: &Choices) -> DiffSource {
        let flame = DiffFlame::new(&report, &choices.diff);
        DiffSource { report, choices: choices.clone(), flame }
    }

    /// Returns a source without its layout, for who only reads what is said of frames.
    pub fn unlaid(report: Rc<CompareReport>, choices: &Choices) -> DiffSource {
        DiffSource { report, choices: choices.clone(), flame: DiffFlame::default() }
    }

    /// Returns a time in the unit that is compared.
    pub fn amount(&self, value: f64) -> String {
        match self.choices.diff.basis {
            Basis::Mean => format::duration(value),
            Basis::Share => format::share(value),
        }
    }

    /// Returns a change in the unit that is compared, with its sign.
    pub fn change(&self, value: f64) -> String {
        match self.choices.diff.basis {
            Basis::Mean => format::change(value),
            Basis::Share if value > 0.0 => format!("+{}", format::share(value)),
            Basis::Share => format::share(value),
        }
    }

    /// Returns an interval of changes.
    pub fn interval(&self, interval: Option<Interval>) -> String {
        interval.map_or(format::DASH.to_owned(), |interval| {
            format!("{} to {}", self.change(interval.low), self.change(interval.high))
        })
    }

    /// Returns what is to be said of a change besides its size; nothing if it is what it seems.
    pub fn verdict(&self, node: &CompareNode, change: &Change) -> &'static str {
        match node.presence() {
            Presence::New => "new",
            Presence::Gone => "gone",
            Presence::Both if change.is_noise => "noise",
            Presence::Both
                if change.change != 0.0 && !counts_as_changed(&self.report, &self.choices.diff, change) =>
            {
                "small"
            }
            Presence::Both => "",
        }
    }

    /// Returns the numbers of a node: sides and change, of its self time and of its total time.
    pub fn numbers(&self, node: NodeId) -> Numbers {
        let row = |name: &str, measure: MeasuredTime| {
            let change = self.report.change(node, self.choices.diff.basis, measure);
            let cells = [
                (self.amount(change.a), change.a),
                (self.amount(change.b), change.b),
                (self.change(change.change), change.change),
            ];
            (name.to_owned(), cells.map(|(words, value)| (words, value.to_string())).to_vec())
        };
        Numbers {
            heads: ["A", "B", "change"].map(str::to_owned).to_vec(),
            rows: vec![row("self", MeasuredTime::Exclusive), row("total", MeasuredTime::Subtree)],
        }
    }

    /// Returns how sure the change of a node is, in a sentence.
    pub fn certainty(&self, node: NodeId) -> String {
        let change = self.report.change(node, self.choices.diff.basis, self.choices.diff.measure);
        let what = match self.choices.diff.measure {
            MeasuredTime::Subtree => "The change of its total time",
            MeasuredTime::Exclusive => "The change of its self time",
        };
        match change.interval {
            Some(interval) if change.is_noise => {
                let frames = format::count(self.report.nodes.len() as u64);
                format!(
                    "{what} is no clearer than chance among {frames} frames: 95 % interval {}.",
                    self.interval(Some(interval))
                )
            }
            Some(interval) if self.report.is_descriptive() => {
                format!("{what} lies in {} (95 %). {DESCRIPTIVE}", self.interval(Some(interval)))
            }
            Some(interval) => format!("{what} lies in {} (95 %).", self.interval(Some(interval))),
            None => "Not tested: a side has fewer than two requests, or nothing varies.".to_owned(),
        }
    }

    /// Returns what the tip says of a node, below its name.
    pub fn tip(&self, at: NodeId) -> Vec<TipLine> {
        let Some(node) = self.report.nodes.get(at.index()) else { return Vec::new() };
        let one_sided = one_sided(node).map(|words| TipLine::Strong(words.to_owned()));
        let numbers = TipLine::Numbers(self.numbers(at));
        let sure = [TipLine::Text(self.certainty(at)), TipLine::Muted(self.presence(node))];
        one_sided.into_iter().chain([numbers]).chain(sure).collect()
    }

    /// Returns in how many requests of each side a node is.
    pub fn presence(&self, node: &CompareNode) -> String {
        let of = |part: u64, whole: u64| format!("{} of {}", format::count(part), format::count(whole));
        let (a, b) = (self.report.a.facts.requests, self.report.b.facts.requests);
        format!("in {} requests of A, {} of B", of(node.a.requests, a), of(node.b.requests, b))
    }

    /// Returns whether any frame has a colour that stands for a change.
    pub fn has_changes(&self) -> bool {
        self.flame.changed > 0
    }

    /// Returns the words of the legend: its ends, and what the colours count.
    pub fn legend(&self) -> ([String; 2], String) {
        let scale = self.flame.scale;
        let ends = [format!("faster {}", self.change(-scale)), format!("{} slower", self.change(scale))];
        let words = format!(
            "{} of {} frames changed; {}{}. New and gone frames say so.",
            format::count(self.flame.changed.into()),
            format::count(u64::from(self.flame.changed + self.flame.grey)),
            if self.report.is_tested() {
                "grey: noise (at most 5 % of the others are false)"
            } else {
                "not tested, as a side has fewer than two requests"
            },
            match (self.choices.diff.least_ppm > 0, self.report.is_tested()) {
                (false, _) => "",
                (true, true) => " or small",
                (true, false) => "; small changes are grey",
            },
        );
        let has_culprit = self.report.culprit.services.iter().any(ServiceChange::is_significant);
        let words = match self.flame.changed == 0 && self.report.is_tested() && has_culprit {
            true => words + " A service can change where no frame does: all of its calls are taken together.",
            false => words,
        };
        (ends, words)
    }
}

/// Returns the words of a node that only one side has.
pub fn one_sided(node: &CompareNode) -> Option<&'static str> {
    match node.presence() {
        Presence::New => Some("New: on side B only"),
        Presence::Gone => Some("Gone: on side A only"),
        Presence::Both => None,
    }
}

impl Calls for DiffSource {
    fn nodes(&self) -> u32 {
        self.report.nodes()
    }

    fn call(&self, at: NodeId) -> Option<(Option<NodeId>, ReportEndpoint)> {
        self.report.call(at)
    }

    fn names(&self) -> &[Endpoint] {
        self.report.names()
    }
}

impl FlameSource for DiffSource {
    fn tree(&self) -> FlameTree {
        self.flame.tree.clone()
    }

    fn words<'a>(&'a self, tree: &'a FlameTree, title: &str) -> FlameWords<'a> {
        let tip = |at: u32| {
            let label = tree.frame(at).map_or("", |frame| frame.label.as_str());
            let change = self.report.change(NodeId(at), self.choices.diff.basis, self.choices.diff.measure);
            format!(
                "{label}: A {}, B {}, change {}, 95 % interval {}",
                self.amount(change.a),
                self.amount(change.b),
                self.change(change.change),
                self.interval(change.interval)
            )
        };
        let description = format!(
            "Differential flame graph of {} (A) and {} (B). Blue took less time on side B, orange more; grey is \
             no more than noise. The strongest colour is a change of {}.",
            format::counted(self.report.a.facts.requests, "request"),
            format::counted(self.report.b.facts.requests, "request"),
            self.amount(self.flame.scale)
        );
        FlameWords { title: title.to_owned(), description, tip: Box::new(tip) }
    }
}

/// Returns why there is nothing to compare: a side without requests. `is_loading`: something is being read;
/// `other_traces`: how many traces of the second set are loaded, if that is known.
pub fn why_empty(report: &CompareReport, is_loading: bool, other_traces: Option<u64>) -> Option<String> {
    if report.is_of_same_requests() {
        let same = match report.a.facts.requests {
            1 => "A and B are the same request".to_owned(),
            more => format!("A and B are the same {} requests", format::count(more)),
        };
        return Some(format!("{same}: nothing can differ. Choose others for one side."));
    }
    let sides = [("A", &report.a.facts), ("B", &report.b.facts)];
    let (name, facts) = sides.into_iter().find(|(_, facts)| facts.requests == 0)?;
    if is_loading {
        return Some(format!("Reading\u{2026} side {name} comes with it."));
    }
    let is_other_set = report.a.selection.group != report.b.selection.group;
    Some(if facts.all_requests > 0 {
        let all = format::count(facts.all_requests);
        format!("No request lies in the percentile range of side {name}: there are {all} in all.")
    } else if is_other_set && other_traces == Some(0) {
        "The second set is not loaded. Drop its files on \u{201c}Compare as B\u{201d}, or choose Compare with\u{2026}, \
         Files\u{2026}"
            .to_owned()
    } else {
        format!("Side {name} has no such request: choose another root endpoint, or remove filters.")
    })
}

/// A row of the table of changes.
pub struct ChangeRow {
    rank: u64,
    /// The change.
    pub row: RankedChange,
    /// The comparison that has the frame.
    pub source: Rc<DiffSource>,
}

impl ChangeRow {
    /// Returns the rows of a source, the largest change first.
    pub fn of(source: &Rc<DiffSource>) -> Vec<ChangeRow> {
        let (basis, measure) = (source.choices.diff.basis, source.choices.diff.measure);
        let ranking = source.report.ranking(basis, measure).into_iter();
        (1..).zip(ranking).map(|(rank, row)| ChangeRow { rank, row, source: source.clone() }).collect()
    }

    fn node(&self) -> &CompareNode {
        &self.source.report.nodes[self.row.node.index()]
    }

    fn name(&self) -> (&str, &str) {
        self.source.report.name(self.node().endpoint)
    }

    fn caller(&self) -> (&str, &str) {
        let parent = self.node().parent.map(|at| &self.source.report.nodes[at.index()]);
        parent.map_or(("", ""), |node| self.source.report.name(node.endpoint))
    }

    fn verdict(&self) -> &'static str {
        self.source.verdict(self.node(), &self.row.change)
    }

    /// Returns the call path that leads here.
    pub fn path(&self) -> Vec<Endpoint> {
        tree::path_of(&*self.source, self.row.node)
    }

    fn attributes(&self) -> Attributes {
        let (service, operation) = self.name();
        vec![
            ("data-test", "change".to_owned()),
            ("data-node", self.row.node.0.to_string()),
            ("data-service", service.to_owned()),
            ("data-operation", operation.to_owned()),
            ("data-verdict", self.verdict().to_owned()),
            ("data-value", self.row.change.change.to_string()),
        ]
    }
}

/// A change between two sides, whatever it is of.
pub trait Changed {
    /// Returns side A, side B, and the difference.
    fn sides(&self) -> [f64; 3];

    /// Returns the interval of the difference.
    fn interval(&self) -> Option<Interval>;

    /// Returns a side in words; microseconds, unless something else is compared.
    fn amount_words(&self, value: f64) -> String {
        format::duration(value)
    }

    /// Returns a difference in words.
    fn change_words(&self, value: f64) -> String {
        format::change(value)
    }
}

impl Changed for ChangeRow {
    fn sides(&self) -> [f64; 3] {
        [self.row.change.a, self.row.change.b, self.row.change.change]
    }

    fn interval(&self) -> Option<Interval> {
        self.row.change.interval
    }

    fn amount_words(&self, value: f64) -> String {
        self.source.amount(value)
    }

    fn change_words(&self, value: f64) -> String {
        self.source.change(value)
    }
}

/// Returns the columns of a change: both sides under their names, the difference, its interval. `heads` are those of
/// files: the sides and the difference. `interval` says what the interval is.
pub fn change_columns<R: Changed>(
    sides: [&'static str; 2],
    heads: [&'static str; 3],
    interval: &'static str,
) -> [Column<R>; 4] {
    [
        Column::said(
            "a",
            sides[0],
            "Per request",
            |row: &R| row.sides()[0].into(),
            |row| row.amount_words(row.sides()[0]),
        )
        .low(2)
        .csv(&heads[..1]),
        Column::said(
            "b",
            sides[1],
            "Per request",
            |row: &R| row.sides()[1].into(),
            |row| row.amount_words(row.sides()[1]),
        )
        .low(2)
        .csv(&heads[1..2]),
        Column::said(
            "change",
            "Change",
            "The second minus the first",
            |row: &R| row.sides()[2].into(),
            |row| row.change_words(row.sides()[2]),
        )
        .csv(&heads[2..]),
        Column::text("interval", "95 % interval", interval, |row: &R| {
            row.interval().map_or(format::DASH.into(), |interval| {
                format!("{} to {}", row.change_words(interval.low), row.change_words(interval.high)).into()
            })
        })
        .low(2)
        .width(Width::Moment)
        .unsorted()
        .csv_as(&["low", "high"], |row| {
            let end = |of: fn(Interval) -> f64| Number::from(row.interval().map(of)).digits();
            vec![end(|interval| interval.low), end(|interval| interval.high)]
        }),
    ]
}

/// Returns the table of frames, the largest change first.
pub fn changes() -> Table<ChangeRow> {
    let mut columns = vec![
        Column::count(
            "rank",
            "#",
            "By size of the change; what is no more than noise comes last",
            |row: &ChangeRow| row.rank.into(),
        )
        .low(3)
        .tiny()
        .csv(&["rank"]),
        Column::field("node", |row: &ChangeRow| row.row.node.0.into()),
        Column::endpoint(
            "Frame",
            "Where time changed; the tip of a row has all of its path",
            |row: &ChangeRow| row.name(),
        )
        .tip(|row: &ChangeRow| (tree::lines_of(&*row.source, row.row.node), 0))
        .csv(&["service", "operation"]),
        Column::text("caller", "Called by", "The endpoint above it", |row: &ChangeRow| {
            caller_words(row.caller()).into()
        })
        .by(|a, b| a.caller().1.cmp(b.caller().1))
        .low(3)
        .width(Width::Caller),
        Column::text_field("measure", |row: &ChangeRow| row.row.measure.name().into()),
        Column::text(
            "verdict",
            "",
            "New or gone: on one side only. Noise: the interval includes zero",
            |row: &ChangeRow| row.verdict().into(),
        )
        .tiny()
        .unsorted()
        .csv(&["verdict"]),
    ];
    columns.extend(change_columns(["A", "B"], ["a", "b", "change"], INTERVAL_OF_SIDES));
    columns.extend([
        Column::count("in-a", "In A", "Requests of A that have it", |row: &ChangeRow| {
            row.node().a.requests.into()
        })
        .low(3)
        .tiny()
        .csv(&["requests_a"]),
        Column::count("in-b", "In B", "Requests of B that have it", |row: &ChangeRow| {
            row.node().b.requests.into()
        })
        .low(3)
        .tiny()
        .csv(&["requests_b"]),
    ]);
    Table::new("changes", "Largest changes", ("rank", false), columns)
        .with_attributes(ChangeRow::attributes)
        .search(|row, finder| {
            let (service, operation) = row.name();
            let name = format::endpoint(service, operation);
            finder.fits_place(&name, &[&name, row.verdict()])
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::verdict::{ServiceChange, ServicePart, ServicePlace, ServicesReport};

    fn report() -> ServicesReport {
        let place = |operation: &str| ServicePlace {
            part: ServicePart::Out,
            other: Some("db".to_owned()),
            operation: operation.to_owned(),
            calls: 3,
            excess: None,
            exemplar: None,
        };
        let service = |name: &str, operations: &[&str]| ServiceChange {
            service: name.to_owned(),
            places: operations.iter().copied().map(place).collect(),
            ..ServiceChange::default()
        };
        let services =
            vec![service("catalog", &["GET", "SELECT product_details"]), service("gateway", &["GET /"])];
        ServicesReport { services, ..ServicesReport::default() }
    }

    #[test]
    fn a_service_is_found_by_its_name_and_by_its_places() {
        let rows = ServiceRow::of(&report());
        let found = |text: &str| found_services(&rows, &Finder::of_text(text));
        assert_eq!(found("SELECT product_details"), Some(vec![true, false]));
        assert_eq!(found("gateway"), Some(vec![false, true]));
        assert_eq!(found(""), None);
        assert_eq!(found("nowhere"), None, "nothing stands out, so nothing stands back");
        let places = ServicePlaceRow::of(&report().services[0]);
        assert_eq!(found_places(&places, &Finder::of_text("product")), Some(vec![false, true]));
    }

    #[test]
    fn the_first_sentence_ends_at_its_own_full_stop() {
        let words = "catalog's own work takes 1.2 ms. Mostly GET /a.b. No more.";
        assert_eq!(first_sentence(words), ("catalog's own work takes 1.2 ms.", " Mostly GET /a.b. No more."));
        assert_eq!(first_sentence("Only one."), ("Only one.", ""));
        assert_eq!(first_sentence(""), ("", ""));
    }
}
