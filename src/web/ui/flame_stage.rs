//! A flame graph with what every view of one has: its canvas, the buttons of its window, keys, search, colours.

use super::dom::{El, Keep, button, div};
use super::flame_picture::FlamePicture;
use super::flame_source::FlameSource;
use super::keys::Command;
use super::page::Page;
use super::search::Search;
use super::stage::{Picture, Stage};

/// How far a key moves or zooms.
const STEP: f64 = 0.15;
const ZOOM: f64 = 1.35;
/// Width of an exported picture.
const EXPORT_PX: i32 = 1600;

/// What was searched in: the text, the answer, and how many nodes there were.
type Searched = (String, u64, usize);

/// The canvas of a flame graph.
pub struct FlameStage<S> {
    /// Canvas and picture.
    pub stage: Stage<FlamePicture<S>>,
    empty: El,
    zoom: El,
    all: El,
    searched: Option<Searched>,
    _keep: Keep,
}

impl<S: FlameSource> FlameStage<S> {
    /// An empty one of this name.
    pub fn new(page: &Page, test: &str, label: &str) -> FlameStage<S> {
        let keep = Keep::default();
        let stage = Stage::new(FlamePicture::new(page), test, label);
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
        let empty = div("canvas-empty").test(&format!("{test}-empty"));
        empty.show(false);
        stage.element().add(&empty);
        FlameStage { stage, empty, zoom, all, searched: None, _keep: keep }
    }

    /// The buttons of the window.
    pub fn buttons(&self) -> [&El; 2] {
        [&self.zoom, &self.all]
    }

    /// Says why nothing is drawn; `None`: something is.
    pub fn say_empty(&self, why: Option<&str>) {
        self.empty.show(why.is_some());
        self.empty.say(why.unwrap_or_default());
    }

    /// It is out of sight.
    pub fn leave(&self) {
        self.stage.look(FlamePicture::leave);
    }

    /// Follows colours, selection and focus of the page; `stale` dims what is about to be replaced.
    pub fn update(&mut self, page: &Page, stale: bool) {
        self.stage.follow_theme();
        self.stage.element().class_if("stale", stale);
        self.stage.with(|picture| picture.follow(page));
        let (selected, zoomed) = self.stage.look(|picture| (picture.has_selection(), picture.is_zoomed()));
        for (button, on) in [(&self.zoom, selected), (&self.all, zoomed)] {
            if on { button.unset("disabled") } else { button.set("disabled", "") }
        }
        self.stage.canvas().set("data-nodes", &self.stage.look(FlamePicture::len).to_string());
    }

    /// Searches the picture of answer `revision`; true if the table has to be searched too.
    pub fn take_search(&mut self, page: &Page, search: &Search, revision: u64) -> bool {
        let text = page.address().search.clone();
        let searched = (text, revision, self.stage.look(FlamePicture::len));
        if self.searched.as_ref() == Some(&searched) {
            return false;
        }
        let is_other =
            self.searched.as_ref().is_none_or(|known| (&known.0, known.1) != (&searched.0, searched.1));
        let (found, share) = self.stage.with(|picture| picture.search(&searched.0));
        self.searched = Some(searched);
        let stage = self.stage.clone();
        search.tell(found, share, move |page, forward| stage.with(|picture| picture.step(page, forward)));
        is_other
    }

    /// All of it as SVG, in the colours of the page.
    pub fn svg(stage: &Stage<FlamePicture<S>>) -> Option<String> {
        stage.look(|picture| Some(picture.svg(EXPORT_PX, &stage.plain_theme())))
    }

    /// Does what a key asks for; tells whether it was for a flame graph.
    pub fn command(&self, page: &Page, command: Command) -> bool {
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
                Command::Leave if !picture.has_selection() && picture.is_zoomed() => picture.fit(),
                _ => return false,
            }
            true
        })
    }
}
