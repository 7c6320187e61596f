//! The views, as a sidebar beside them or, on a narrow page, as a select.

use crate::dom::{El, Listeners, button, div, el, icon, span};
use crate::page::{Page, PagePart};
use pathlight_base::format;
use pathlight_view::findings::words::requests_with_errors;
use pathlight_view::keys::{KeyCommand, view_hint};
use pathlight_view::views::{View, ViewGroup};
use web_sys::HtmlSelectElement;

/// Returns the icon of a view, as the data of a path of 16 by 16.
fn icon_path(view: View) -> &'static str {
    match view {
        View::Findings => "M2.5 13.5v-5M6.2 13.5v-11M9.8 13.5v-7M13.5 13.5v-3",
        View::Flame => "M2 3h12M2 6.5h9M2 10h5.5M2 13.5h3",
        View::Compare => "M3 13.5v-8M6 13.5v-11M10 13.5v-5M13 13.5v-9",
        View::Heatmap => "M2.5 2.5h11v11h-11zM2.5 6.2h11M2.5 9.8h11M6.2 2.5v11M9.8 2.5v11",
        View::Endpoints => "M2 13.5h12M2 10h8M2 6.5h5M2 3h2.5",
        View::Split => "M4 2.5c3 3 3 8 0 11c-3-3-3-8 0-11zM12 4.5c2 2 2 5 0 7c-2-2-2-5 0-7z",
        View::Flow => {
            "M2 6.5h3.5v3H2zM10.5 2H14v3h-3.5zM10.5 11H14v3h-3.5zM5.5 8c3 0 2-4.5 5-4.5M5.5 8c3 0 2 4.5 5 4.5"
        }
        View::Diagnosis => "M2 3h6M4.5 6.5h6M4.5 10h4M7 13.5h7M2 3v7.5h2.5",
        View::Anomalies => "M2 12.5l3-2 2.5 1.5L10 3.5l2 8.5 2-1.5",
        View::Errors => "M8 2.5l6 11H2zM8 6.5v3M8 11.5v.2",
        View::Requests => "M2 3.5h12M2 8h12M2 12.5h12",
        View::Trace => "M2 3.5h12M4 8h6M8 12.5h6",
        View::Trend => "M2 11l3.5-1.5L8 10.5l2-6 4-1.5M2 14h12",
    }
}

/// The sidebar.
pub struct Sidebar {
    element: El,
    buttons: Vec<El>,
    /// How many there are of what a view lists, of those that list.
    counts: Vec<(View, El)>,
    abnormal: Abnormal,
    select: El,
    _keep: Listeners,
}

impl Sidebar {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> Sidebar {
        let keep = Listeners::default();
        let (mut buttons, mut counts, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let select = el("select").attr("aria-label", "View").class("sidebar-select").test("view-select");
        let mut group = None;
        for (at, view) in View::ALL.into_iter().enumerate() {
            if group.replace(view.group()) != Some(view.group()) {
                parts.push(div("sidebar-group").text(view.group().name()));
            }
            let entry = button("")
                .node(&icon(icon_path(view)))
                .child(&span("sidebar-name", view.name()))
                .class("sidebar-entry")
                .attr("title", &view_hint(view, at))
                .test(&format!("view-{}", view.key()))
                .on_click(&keep, move || page.change(|address| address.view = view));
            let entry = if view.group() == ViewGroup::Which {
                let count = span("sidebar-count number", "").test(&format!("count-{}", view.key()));
                counts.push((view, count.clone()));
                entry.child(&count)
            } else {
                entry
            };
            parts.push(entry.clone());
            buttons.push(entry);
            select.add(&el("option").attr("value", view.key()).text(view.name()));
        }
        let chosen = select.clone();
        let select = select.on(&keep, "change", move |_| {
            let key = chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default();
            page.change(|address| address.view = View::from_key(&key).unwrap_or_default());
        });
        let element = el("nav").class("sidebar").attr("aria-label", "Views").children(&parts).child(&select);
        Sidebar { element, buttons, counts, abnormal: Abnormal::default(), select, _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

/// The number of abnormal requests, counted once for each report and rate of false alarms.
#[derive(Default)]
struct Abnormal {
    of: (u64, u32),
    requests: Option<u64>,
}

impl Abnormal {
    fn of(&mut self, page: Page) -> Option<u64> {
        let (slot, rate) = (&page.queries().anomaly, page.address().anomaly.alpha_ppm);
        let report = slot.fresh()?;
        let now = (slot.revision(), rate);
        if std::mem::replace(&mut self.of, now) != now {
            let is_judged = report.has_verdicts;
            self.requests = is_judged.then(|| report.at(f64::from(rate) / 1e6).abnormal() as u64);
        }
        self.requests
    }
}

/// Returns how many requests a view lists, where that is known: of errors by the findings.
fn listed(page: Page, view: View) -> Option<u64> {
    let queries = page.queries();
    let facts = || queries.findings.fresh().filter(|_| page.of_findings().0 == page.address().selection());
    match view {
        View::Requests => queries.range.fresh().map(|report| report.facts.requests),
        View::Errors => requests_with_errors(&*facts()?),
        _ => None,
    }
}

impl PagePart for Sidebar {
    fn update(&mut self, page: Page) {
        let shown = page.address().view;
        for (view, entry) in View::ALL.into_iter().zip(&self.buttons) {
            if view == shown {
                entry.set("aria-current", "page");
            } else {
                entry.unset("aria-current");
            }
            let has_answer = match view {
                // Traces have no days.
                View::Trend => page.is_summary(),
                View::Heatmap | View::Diagnosis | View::Split | View::Anomalies => !page.has_one_trace(),
                _ => true,
            };
            entry.show(has_answer || view == shown);
        }
        for (view, count) in &self.counts {
            let listed = match view {
                View::Anomalies => self.abnormal.of(page),
                view => listed(page, *view),
            };
            count.set_text(&listed.map_or(String::new(), format::count));
        }
        if let Some(select) = self.select.as_kind::<HtmlSelectElement>() {
            select.set_value(shown.key());
        }
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        let KeyCommand::View(at) = command else { return false };
        let Some(&view) = View::ALL.get(at) else { return false };
        page.change(|address| address.view = view);
        page.has_data()
    }
}
