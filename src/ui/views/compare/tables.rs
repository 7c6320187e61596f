//! The companion tables of a comparison: frames and services, what changed most first.

use crate::ui::page::{Focus, Page};
use crate::ui::views::compare::source::DiffSource;
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::names;
use crate::ui::widgets::table::{Column, Table, What, number};
use crate::ui::widgets::tree;
use pathlight_query::{DiffNode, RankedChange, ServiceChange};
use pathlight_text::format;
use std::cmp::Ordering;
use std::rc::Rc;

/// A row of the table of changes.
pub struct ChangeRow {
    /// Place in the ranking, from 1.
    pub rank: u64,
    /// The change.
    pub row: RankedChange,
    /// Where it is from.
    pub source: Rc<DiffSource>,
}

impl ChangeRow {
    /// The rows of a source, the largest change first.
    pub fn of(source: &Rc<DiffSource>) -> Vec<ChangeRow> {
        let (basis, measure) = (source.choices.diff.basis, source.choices.diff.measure);
        let ranking = source.report.ranking(basis, measure).into_iter();
        (1..).zip(ranking).map(|(rank, row)| ChangeRow { rank, row, source: source.clone() }).collect()
    }

    fn node(&self) -> &DiffNode {
        &self.source.report.nodes[self.row.node as usize]
    }

    fn name(&self) -> (&str, &str) {
        self.source.report.name(self.node().endpoint)
    }

    fn caller(&self) -> &str {
        let parent = self.node().parent.map(|at| &self.source.report.nodes[at as usize]);
        parent.map_or("", |node| self.source.report.name(node.endpoint).1)
    }

    fn verdict(&self) -> &'static str {
        self.source.verdict(self.node(), &self.row.change)
    }

    /// Whether a search finds it.
    pub fn fits(&self, text: &str) -> bool {
        let (service, operation) = self.name();
        crate::ui::shell::search::fits(text, &[&format::endpoint(service, operation), self.verdict()])
    }
}

/// The columns of a change: both sides with their names, the difference, its interval. What a row holds of each, and
/// how amounts, changes and the interval of a row are said.
macro_rules! change_columns {
    ($kind:ty, $sides:expr, $a:expr, $b:expr, $change:expr, $amount:expr, $signed:expr, $interval:expr) => {{
        fn side(
            (key, priority): (&'static str, u8),
            title: &'static str,
            hint: &'static str,
            of: fn(&$kind) -> f64,
            order: fn(&$kind, &$kind) -> Ordering,
            say: fn(&$kind, f64) -> String,
        ) -> Column<$kind> {
            let cell = move |row: &$kind| What::Number(say(row, of(row)), of(row).to_string());
            Column { key, title, hint, class: "num", priority, order: Some(order), cell: Box::new(cell) }
        }
        let (a, b, change): (fn(&$kind) -> f64, fn(&$kind) -> f64, fn(&$kind) -> f64) = ($a, $b, $change);
        let interval: fn(&$kind) -> String = $interval;
        [
            side(("a", 2), $sides[0], "Per request", a, |x, y| $a(x).total_cmp(&$a(y)), $amount),
            side(("b", 2), $sides[1], "Per request", b, |x, y| $b(x).total_cmp(&$b(y)), $amount),
            side(
                ("change", 1),
                "Change",
                "The second minus the first",
                change,
                |x, y| $change(x).total_cmp(&$change(y)),
                $signed,
            ),
            Column {
                key: "interval",
                title: "95 % interval",
                hint: "Welch's interval of the change; a dash where there is nothing to test",
                class: "num moment",
                priority: 2,
                order: None,
                cell: Box::new(move |row: &$kind| What::Text(interval(row))),
            },
        ]
    }};
}

pub(crate) use change_columns;

/// The names of two sides.
const SIDES: [&str; 2] = ["A", "B"];

/// The table of frames.
pub fn changes(page: Page) -> Table<ChangeRow> {
    let mut columns = vec![
        number!(
            "rank",
            "#",
            "By size of the change; what is no more than noise comes last",
            "num tiny" 3,
            |row: &ChangeRow| row.rank,
            |rank: u64| format::count(rank)
        ),
        Column {
            key: "endpoint",
            title: "Frame",
            hint: "Where time changed; the tip of a row has all of its path",
            class: "wide",
            priority: 1,
            order: Some(|a: &ChangeRow, b: &ChangeRow| {
                let ((sa, oa), (sb, ob)) = (a.name(), b.name());
                (oa, sa, a.rank).cmp(&(ob, sb, b.rank))
            }),
            cell: Box::new(|row: &ChangeRow| {
                let (service, operation) = row.name();
                let cell = names::endpoint(service, operation);
                cell.set("title", &tree::lines_of(&row.source, row.row.node));
                What::Element(cell)
            }),
        },
        Column {
            key: "caller",
            title: "Called by",
            hint: "The endpoint above it",
            class: "caller muted",
            priority: 3,
            order: Some(|a, b| a.caller().cmp(b.caller())),
            cell: Box::new(|row: &ChangeRow| {
                let caller = format::printable(row.caller());
                What::Text(if caller.is_empty() { format::DASH.to_owned() } else { caller })
            }),
        },
        Column {
            key: "verdict",
            title: "",
            hint: "New or gone: on one side only. Noise: the interval includes zero",
            class: "num tiny",
            priority: 1,
            order: None,
            cell: Box::new(|row: &ChangeRow| What::Text(row.verdict().to_owned())),
        },
    ];
    columns.extend(change_columns!(
        ChangeRow,
        SIDES,
        (|row: &ChangeRow| row.row.change.a),
        (|row: &ChangeRow| row.row.change.b),
        (|row: &ChangeRow| row.row.change.change),
        |row, value| row.source.amount(value),
        |row, value| row.source.change(value),
        |row| row.source.interval(row.row.change.interval)
    ));
    columns.push(number!(
        "in-a",
        "In A",
        "Requests of A that have it",
        "num tiny" 3,
        |row: &ChangeRow| row.node().a.requests,
        format::count
    ));
    columns.push(number!(
        "in-b",
        "In B",
        "Requests of B that have it",
        "num tiny" 3,
        |row: &ChangeRow| row.node().b.requests,
        format::count
    ));
    let table = Table::new(
        "changes",
        "Largest changes",
        ("rank", false),
        columns,
        |row: &ChangeRow| {
            let (service, operation) = row.name();
            vec![
                ("data-test", "change".to_owned()),
                ("data-node", row.row.node.to_string()),
                ("data-service", service.to_owned()),
                ("data-operation", operation.to_owned()),
                ("data-verdict", row.verdict().to_owned()),
                ("data-value", row.row.change.change.to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let (rows, again) = (table.clone(), table.clone());
    let path = |row: &ChangeRow| tree::path_of(&row.source, row.row.node);
    table
        .on_select(move |at| {
            if let Some(row) = rows.rows().get(at) {
                page.set_focus(Focus::Path(path(row)));
            }
        })
        .on_open(move |at| {
            if let Some(row) = again.rows().get(at) {
                page.zoom_here(path(row));
            }
        })
}

/// The table of services.
pub fn services(page: Page) -> Table<ServiceChange> {
    let mut columns = vec![
        number!(
            "rank",
            "#",
            "What grew most is first",
            "num tiny" 2,
            |row: &ServiceChange| row.rank,
            |rank: u32| rank.to_string()
        ),
        Column {
            key: "service",
            title: "Service",
            hint: "Self time per request of all its spans, on the critical path or not",
            class: "wide",
            priority: 1,
            order: Some(|a: &ServiceChange, b: &ServiceChange| a.service.cmp(&b.service)),
            cell: Box::new(|row: &ServiceChange| What::Element(names::service(&row.service))),
        },
    ];
    columns.extend(change_columns!(
        ServiceChange,
        SIDES,
        (|row: &ServiceChange| row.a_us),
        (|row: &ServiceChange| row.b_us),
        (|row: &ServiceChange| row.change_us),
        |_, us| format::duration(us),
        |_, us| format::change(us),
        |row| {
            row.interval.map_or(format::DASH.to_owned(), |interval| {
                format!("{} to {}", format::change(interval.low), format::change(interval.high))
            })
        }
    ));
    Table::new(
        "services",
        "Services by change",
        ("rank", false),
        columns,
        |row: &ServiceChange| {
            vec![
                ("data-test", "service-change".to_owned()),
                ("data-service", row.service.clone()),
                ("data-value", row.change_us.to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    )
}

/// The ranking as comma-separated values.
pub fn csv(source: &DiffSource) -> String {
    let heads = [
        "rank",
        "node",
        "service",
        "operation",
        "measure",
        "verdict",
        "a",
        "b",
        "change",
        "low",
        "high",
        "requests_a",
        "requests_b",
    ];
    let mut out = csv_line(&heads.map(str::to_owned));
    let ranking = source.report.ranking(source.choices.diff.basis, source.choices.diff.measure);
    for (rank, row) in (1u32..).zip(ranking) {
        let node = &source.report.nodes[row.node as usize];
        let (service, operation) = source.report.name(node.endpoint);
        let end = |of: fn(pathlight_query::Interval) -> f64| {
            row.change.interval.map_or(String::new(), |interval| of(interval).to_string())
        };
        out.push_str(&csv_line(&[
            rank.to_string(),
            row.node.to_string(),
            service.to_owned(),
            operation.to_owned(),
            row.measure.name().to_owned(),
            source.verdict(node, &row.change).to_owned(),
            row.change.a.to_string(),
            row.change.b.to_string(),
            row.change.change.to_string(),
            end(|interval| interval.low),
            end(|interval| interval.high),
            node.a.requests.to_string(),
            node.b.requests.to_string(),
        ]));
    }
    out
}
