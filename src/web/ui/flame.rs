//! The flame graph of the critical path: what is asked, searched and selected, on its canvas and in its table.

use super::band;
use super::dom::{self, El, Keep, button, div, span};
use super::export;
use super::findings::why_empty;
use super::flame_picture::FlamePicture;
use super::flame_table::{self, FrameRow};
use super::keys::Command;
use super::page::{Page, Part, Selection};
use super::search::Search;
use super::stage::{Picture, Stage};
use super::table::Table;
use super::tree;
use crate::chart::{Theme, format};
use crate::engine::address::View;
use std::rc::Rc;

/// What stands where something will be.
pub const WORKING: &str = "Working\u{2026}";

/// How far a key moves or zooms.
const STEP: f64 = 0.15;
const ZOOM: f64 = 1.35;
/// Width of an exported picture.
const EXPORT_PX: i32 = 1600;

/// The view.
pub struct Flame {
    element: El,
    twin: El,
    stage: Stage<FlamePicture>,
    empty: El,
    title: El,
    ways: [El; 2],
    zoom: El,
    all: El,
    table: Table<FrameRow>,
    search: Search,
    shown: Option<(u64, bool)>,
    searched: Option<(String, u64, bool, usize)>,
    theme: String,
    _keep: Keep,
}

impl Flame {
    /// Builds it.
    pub fn new(page: &Page, search: &Search) -> Flame {
        let keep = Keep::default();
        let stage = Stage::new(
            FlamePicture::new(page),
            "flame",
            "Flame graph of the critical path; the table below says the same",
        );
        let way = |text: &str, what: &str, test: &str, inverted: bool| {
            let to = page.clone();
            button(text)
                .attr("title", what)
                .test(test)
                .on_click(&keep, move || to.change(|address| address.inverted = inverted))
        };
        let ways = [
            way("Callees", "From the root of the request down", "top-down", false),
            way("Callers", "From each endpoint's own time up to who called it (I)", "inverted", true),
        ];
        let segments = div("segments").attr("role", "group").attr("aria-label", "Direction").children(&ways);
        let (to, picture) = (page.clone(), stage.clone());
        let zoom = button("Zoom to selection")
            .attr("title", "Enter, or click the frame again")
            .test("zoom-selection")
            .on_click(&keep, move || picture.with(|picture| picture.zoom_to_selected(&to)));
        let picture = stage.clone();
        let all = button("Show all")
            .attr("title", "F, or double-click")
            .test("fit")
            .on_click(&keep, move || picture.with(Picture::fit));
        let title = span("title muted", "").test("flame-title");
        let exports = export::menu(page, &keep, "flame-graph", Some(stage.canvas().clone()), formats(&stage));
        let tools = div("tools")
            .child(&segments)
            .child(&title)
            .child(&div("grow"))
            .child(&zoom)
            .child(&all)
            .child(&exports);
        let empty = div("canvas-empty").test("flame-empty");
        empty.show(false);
        stage.element().add(&empty);
        let element = div("stage").test("flame-view").child(&tools).child(stage.element());
        let table = flame_table::table(page);
        let twin = div("twin").child(table.element());
        Flame {
            element,
            twin,
            stage,
            empty,
            title,
            ways,
            zoom,
            all,
            table,
            search: search.clone(),
            shown: None,
            searched: None,
            theme: String::new(),
            _keep: keep,
        }
    }

    /// The picture with its tools.
    pub fn stage(&self) -> &El {
        &self.element
    }

    /// The table.
    pub fn twin(&self) -> &El {
        &self.twin
    }

    fn take_report(&mut self, page: &Page) {
        let asks = page.asks();
        let Some(report) = asks.path.get() else {
            self.empty.show(asks.path.is_waiting());
            self.empty.say(WORKING);
            return;
        };
        let inverted = page.address().inverted;
        let now = Some((asks.path.revision(), inverted));
        if self.shown == now {
            return;
        }
        let is_new = self.shown.map(|(revision, _)| revision) != Some(asks.path.revision());
        self.shown = now;
        let is_empty = report.facts.latency_sum_us == 0;
        self.empty.show(is_empty);
        if is_empty {
            self.empty.say(&why_empty(page, &report));
        }
        let question = asks.path.answered();
        self.stage.with(|picture| picture.take(report.clone(), question, inverted, &page.address().focus));
        if is_new {
            let rows = (0..report.nodes.len() as u32).map(|at| FrameRow { at, report: report.clone() });
            self.table.set_rows(Rc::new(rows.collect()));
            self.table.set_empty(&why_empty(page, &report));
        }
        let facts = &report.facts;
        let whose = match report.band.filter(|band| !band.is_all()) {
            Some(band) => format!("{}, {}", page.subject_name(), band::words(band)),
            None => page.subject_name(),
        };
        let few = if facts.requests < 30 {
            format!(" ({})", format::sample(facts.requests))
        } else {
            String::new()
        };
        self.title.say(&format!(
            "{}: {} critical path a request in the mean{few}",
            format::printable(&whose),
            format::duration(facts.latency_sum_us as f64 / facts.requests.max(1) as f64)
        ));
    }

    fn take_search(&mut self, page: &Page) {
        let text = page.address().search.clone();
        let nodes = self.stage.look(FlamePicture::len);
        let (revision, inverted) = self.shown.unwrap_or_default();
        let searched = Some((text.clone(), revision, inverted, if inverted { nodes } else { 0 }));
        if self.searched == searched {
            return;
        }
        let is_other_text =
            self.searched.as_ref().is_none_or(|searched| searched.0 != text || searched.1 != revision);
        self.searched = searched;
        let (found, share) = self.stage.with(|picture| picture.search(&text));
        if is_other_text {
            let hits = (!text.trim().is_empty()).then(|| {
                let rows = self.table.rows();
                Rc::new(rows.iter().map(|row| row.fits(&text)).collect::<Vec<bool>>())
            });
            self.table.set_hits(hits);
        }
        let stage = self.stage.clone();
        self.search
            .tell(found, share, move |page, forward| stage.with(|picture| picture.step(page, forward)));
    }
}

fn formats(stage: &Stage<FlamePicture>) -> Vec<export::Format> {
    let (svg, csv, json, folded) = (stage.clone(), stage.clone(), stage.clone(), stage.clone());
    vec![
        (
            "SVG picture",
            "svg",
            Box::new(move || {
                let theme = if svg.theme().dark { Theme::dark() } else { Theme::light() };
                svg.look(|picture| Some(picture.svg(EXPORT_PX, &theme)))
            }),
        ),
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
    fn update(&mut self, page: &Page) {
        let has_data = page.asks().overview.get().is_some_and(|overview| overview.traces > 0);
        let shown = has_data && page.address().view == View::Flame;
        self.element.show(shown);
        self.twin.show(shown);
        if !shown {
            self.stage.look(FlamePicture::leave);
            return;
        }
        let theme = dom::root().and_then(|root| root.get_attribute("data-theme")).unwrap_or_default();
        if self.theme != theme {
            self.theme = theme;
            self.stage.new_theme();
        }
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
        let (selected, zoomed) = self.stage.look(|picture| (picture.has_selection(), picture.is_zoomed()));
        for (button, on) in [(&self.zoom, selected), (&self.all, zoomed)] {
            if on { button.unset("disabled") } else { button.set("disabled", "") }
        }
        self.stage.canvas().set("data-nodes", &self.stage.look(FlamePicture::len).to_string());
    }

    fn command(&mut self, page: &Page, command: Command) -> bool {
        if page.address().view != View::Flame || self.shown.is_none() {
            return false;
        }
        let (width, height) = self.stage.size();
        let (width, height) = (f64::from(width), f64::from(height));
        self.stage.with(|picture| {
            match command {
                Command::ZoomIn => picture.zoom(picture.middle(width), ZOOM),
                Command::ZoomOut => picture.zoom(picture.middle(width), 1.0 / ZOOM),
                Command::PanLeft => picture.pan(width * STEP, 0.0),
                Command::PanRight => picture.pan(-width * STEP, 0.0),
                Command::PageUp => picture.pan(0.0, height * 0.8),
                Command::PageDown => picture.pan(0.0, -height * 0.8),
                Command::Fit => picture.fit(),
                Command::Up | Command::Down | Command::Left | Command::Right => picture.walk(page, command),
                Command::Enter => picture.zoom_to_selected(page),
                Command::NextMatch => picture.step(page, true),
                Command::PreviousMatch => picture.step(page, false),
                Command::Invert => page.change(|address| address.inverted = !address.inverted),
                Command::Leave if !picture.has_selection() && picture.is_zoomed() => picture.fit(),
                _ => return false,
            }
            true
        })
    }
}
