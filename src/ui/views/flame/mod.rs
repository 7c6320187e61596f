//! The flame graph of the critical path: what is asked, searched and selected, on its canvas and in its table.

pub mod chart;
pub mod source;
pub mod table;

use super::findings::why_empty;
use crate::ui::dom::{El, Keep, button, div, span};
use crate::ui::page::{Page, Part, Selection};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::{Last, Search};
use crate::ui::views::flame::chart::{FlamePicture, Words, context_tip};
use crate::ui::views::flame::table as flame_table;
use crate::ui::views::flame::table::FrameRow;
use crate::ui::widgets::chart_canvas::Stage;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::Frame;
use crate::ui::widgets::table::Table;
use crate::ui::widgets::tree;
use crate::ui::widgets::zoom::{ZoomTools, Zoomed, svg_format};
use pathlight_text::format;
use pathlight_view::address::View;
use std::rc::Rc;

/// The view.
pub struct Flame {
    frame: Frame,
    stage: Stage<FlamePicture>,
    title: El,
    ways: [El; 2],
    zooms: ZoomTools,
    table: Table<FrameRow>,
    search: Search,
    shown: Option<(u64, bool)>,
    /// Answer, direction, frames that are open.
    searched: Last<(u64, bool, usize)>,
    marked: Last<u64>,
    _keep: Keep,
}

impl Flame {
    /// Builds it.
    pub fn new(page: Page, search: &Search) -> Flame {
        let keep = Keep::default();
        let stage = Stage::new(
            FlamePicture::new(page, Words { what: "critical path", tip: Box::new(context_tip) }),
            "flame",
            "Flame graph of the critical path; the table below says the same",
        );
        let way = |text: &str, what: &str, test: &str, inverted: bool| {
            button(text)
                .attr("title", what)
                .test(test)
                .on_click(&keep, move || page.change(|address| address.inverted = inverted))
        };
        let ways = [
            way("Callees", "From the root of the request down", "top-down", false),
            way("Callers", "From each endpoint's own time up to who called it (I)", "inverted", true),
        ];
        let segments = div("segments").attr("role", "group").attr("aria-label", "Direction").children(&ways);
        let zooms = ZoomTools::new(page, &keep, &stage, "");
        let title = span("title muted", "").test("flame-title");
        let exports = export::menu(page, &keep, "flame-graph", Some(stage.canvas().clone()), formats(&stage));
        let tools = div("tools")
            .child(&segments)
            .child(&title)
            .child(&div("grow"))
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let table = flame_table::table(page);
        let below = div("twin").child(table.element());
        let frame = Frame::new(View::Flame, "flame", &stage, below).with(&tools).with(stage.element());
        Flame {
            frame,
            stage,
            title,
            ways,
            zooms,
            table,
            search: search.clone(),
            shown: None,
            searched: Last::default(),
            marked: Last::default(),
            _keep: keep,
        }
    }

    /// Where it stands.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    fn take_report(&mut self, page: Page) {
        let asks = page.asks();
        let Some(report) = asks.path.get() else {
            return self.frame.wait(asks.path.is_waiting());
        };
        let inverted = page.address().inverted;
        let now = Some((asks.path.revision(), inverted));
        if self.shown == now {
            return;
        }
        let is_new = self.shown.map(|(revision, _)| revision) != Some(asks.path.revision());
        self.shown = now;
        let is_empty = report.facts.latency_sum_us == 0;
        self.frame.say(&if is_empty { why_empty(page, &report.facts) } else { String::new() });
        let question = asks.path.answered();
        self.stage.with(|picture| picture.take(report.clone(), question, inverted, &page.address().focus));
        if is_new {
            let rows = (0..report.nodes.len() as u32).map(|at| FrameRow { at, report: report.clone() });
            self.table.set_rows(Rc::new(rows.collect()));
            self.table.set_empty(&why_empty(page, &report.facts));
        }
        let facts = &report.facts;
        let few = if facts.requests < 30 {
            format!(" ({})", format::sample(facts.requests))
        } else {
            String::new()
        };
        self.title.say(&format!(
            "{}: {} critical path a request in the mean{few}",
            page.whose(),
            format::duration(facts.latency_sum_us as f64 / facts.requests.max(1) as f64)
        ));
    }

    fn take_search(&mut self, page: Page) {
        let text = page.address().search.clone();
        let nodes = self.stage.look(FlamePicture::len);
        let (revision, inverted) = self.shown.unwrap_or_default();
        if !self.searched.is_new(&text, (revision, inverted, if inverted { nodes } else { 0 })) {
            return;
        }
        let (found, share) = self.stage.with(|picture| picture.search(&text));
        if self.marked.is_new(&text, revision) {
            self.table.mark(&text, |row| row.fits(&text));
        }
        let stage = self.stage.clone();
        self.search
            .tell(found, share, move |page, forward| stage.with(|picture| picture.step(page, forward)));
    }
}

fn formats(stage: &Stage<FlamePicture>) -> Vec<export::Format> {
    let (csv, json, folded) = (stage.clone(), stage.clone(), stage.clone());
    vec![
        svg_format(stage),
        ("CSV table", "csv", Box::new(move || csv.look(|picture| picture.report().map(flame_table::csv)))),
        ("JSON report", "json", Box::new(move || json.look(|picture| picture.report()?.to_json().ok()))),
        (
            "Folded stacks",
            "folded",
            Box::new(move || folded.look(|picture| Some(picture.report()?.to_folded()))),
        ),
    ]
}

impl Part for Flame {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.stage.look(FlamePicture::leave);
            return;
        }
        self.stage.follow_theme();
        self.take_report(page);
        let stale = page.asks().path.is_waiting();
        self.stage.element().class_if("stale", stale);
        self.table.set_stale(stale);
        self.table.set_sort(page.address().sort.as_ref());
        let inverted = page.address().inverted;
        for (way, on) in self.ways.iter().zip([!inverted, inverted]) {
            way.set_flag("aria-pressed", on);
        }
        self.stage.with(|picture| picture.follow(page));
        self.take_search(page);
        let row = match &*page.selection() {
            Selection::Path(path) => self.stage.look(|picture| tree::find(picture.report()?, path)),
            _ => None,
        };
        self.table.select(row.map(|row| row as usize));
        self.zooms.update(&self.stage);
        self.stage.canvas().set("data-nodes", &self.stage.look(FlamePicture::len).to_string());
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        if !self.frame.is_chosen(page) || self.shown.is_none() {
            return false;
        }
        if command == Command::Invert {
            page.change(|address| address.inverted = !address.inverted);
            return true;
        }
        let size = self.stage.size();
        self.stage.with(|picture| picture.command(page, command, size))
    }
}
