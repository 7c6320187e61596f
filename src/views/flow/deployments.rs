//! Versions, zones, hosts and other places that are slower than the others; see [`deployments`].

use super::report_table::{ReportTable, Said};
use super::what_if;
use crate::dom::{El, Listeners, div, el};
use crate::page::{Focus, Page};
use crate::widgets::companion::CompanionTable;
use crate::widgets::{controls, export};
use pathlight_view::deployments::{self, DeploymentLine};
use pathlight_view::json;

/// The panel.
pub struct DeploymentsPanel {
    element: El,
    /// The tag by which places are compared, and what is offered.
    key: El,
    offered: Option<(u64, Option<String>)>,
    note: El,
    report: ReportTable<DeploymentLine>,
}

impl DeploymentsPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> DeploymentsPanel {
        let table = CompanionTable::new(page, deployments::table())
            .on_select(move |line| {
                let endpoint = line.endpoint().cloned().map(Focus::Endpoint);
                page.set_focus(endpoint.unwrap_or_default());
            })
            .on_open(move |line| {
                if let Some(changes) = line.changes() {
                    what_if::open(page, |flow| flow.changes = changes);
                }
            });
        let key = controls::select(keep, "deployments-key", move |key| {
            let key = Some(key).filter(|key| !key.is_empty());
            page.change(|address| address.choices.flow.place_key = key);
        });
        let key = key.attr("aria-label", "Tag of processes that says where they run");
        let tools = div("tools")
            .child(&key)
            .child(&div("title muted").text("Open a row to try it as a what-if"))
            .child(&div("grow"))
            .child(&export::menu(page, keep, "deployments", None, formats(page, table)));
        let report = ReportTable::new("deployments-sentence", table);
        let note = el("p").class("muted small table-note").text(deployments::LIMITS);
        let element = div("savings").test("deployments").child(&tools).child(&report.sentence);
        let element = element.child(table.element()).child(&note);
        DeploymentsPanel { element, key, offered: None, note, report }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Offers the tags of what is in sight.
    fn offer(&mut self, page: Page) {
        let chosen = page.address().choices.flow.place_key.clone();
        let now = Some((page.overview_revision(), chosen.clone()));
        let Some(overview) = page.overview_in_sight().filter(|_| self.offered != now) else { return };
        controls::offer(
            &self.key,
            &deployments::key_options(&overview, chosen.as_deref()),
            chosen.as_deref().unwrap_or_default(),
        );
        self.offered = now;
    }

    /// Follows the reports.
    pub fn update(&mut self, page: Page) {
        self.offer(page);
        let said = Said {
            headline: deployments::headline,
            lines: DeploymentLine::of,
            empty: deployments::EMPTY,
            endpoint: DeploymentLine::endpoint,
        };
        let report = self.report.update(page, &page.queries().deployments, &said);
        self.note.show(report.is_none_or(|report| !report.rows.is_empty()));
    }
}

fn formats(page: Page, table: CompanionTable<DeploymentLine>) -> Vec<export::Format> {
    vec![
        ("CSV table", "csv", Box::new(move || table.csv())),
        (
            "JSON report",
            "json",
            Box::new(move || json::deployments(&*page.queries().deployments.get()?).ok()),
        ),
    ]
}
