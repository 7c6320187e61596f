//! The page: a handful of parts, each following what the page knows ([`crate::page`]), built without a framework ([`crate::dom`]).

use super::boot::{Boot, Given};
use super::pool::PagePool;
use crate::dom::{self, El, Listeners, button, div, el};
use crate::page::{Hooks, Page, PageLayer, PagePart};
use crate::settings::{self, Store};
use crate::shell::file_input::{Picker, load_demo};
use crate::shell::palette::Palette;
use crate::shell::saved_report::Origin;
use crate::views::{self, LazyView, ViewTools};
use crate::widgets::frame::{HEIGHT, MOVED};
use crate::widgets::grid::refit_all;
use crate::{broken, shell};
use pathlight_engine::pool::UserError;
use pathlight_view::address::{Address, ThemeChoice};
use pathlight_view::reading::intake::Intake;
use pathlight_view::views::View;
use std::cell::OnceCell;
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;

/// Starts the page: the pool, the parts, and the listeners of the whole window.
pub fn start(given: Given) {
    std::panic::set_hook(Box::new(|info| broken::broken(&info.to_string())));
    let known: Rc<OnceCell<Page>> = Rc::default();
    let to = known.clone();
    let pool = PagePool::new(Boot::new(given.start_worker.clone()), move |event| {
        if let Some(page) = to.get() {
            page.pool_event(event);
        }
    });
    let origin = Origin::new(given);
    let hooks = Hooks { ask: views::queries::ask, fit: refit_all, load_demo };
    let page = Page::new(pool, origin.fragment(), hooks);
    let keep = Listeners::default();
    let rest = build(page, keep.clone(), &origin);
    let _ = known.set(page);
    let inputs = origin.inputs();
    let has_inputs = !inputs.is_empty();
    page.load(inputs);
    // The page and its listeners live as long as the window.
    std::mem::forget(keep);
    let is_idle = move || !page.loading().running && !page.fetching().is_running();
    let asks = !has_inputs && asks_what_to_fetch(page);
    let go_on = move || {
        rest();
        if asks {
            shell::jaeger_dialog::open(page);
        }
        if is_idle() {
            page.pool().warm_up();
        }
    };
    // Most of the page shows traces: somebody who comes to open some need not wait for that.
    if *page.address() == Address::default() && is_idle() {
        spawn_local(async move {
            dom::pause(0).await;
            go_on();
        });
    } else {
        go_on();
    }
}

/// Returns whether the address names a Jaeger and nothing to be fetched from it, as the link in a menu of Jaeger UI does, and
/// nothing else is there to begin with.
fn asks_what_to_fetch(page: Page) -> bool {
    let address = page.address();
    let has_opened = settings::get(Store::Window, settings::OPENED).is_some();
    address.source.api.is_some() && !address.source.wants_something() && !address.embed && !has_opened
}

/// Builds what is there before anything is loaded; returns what builds the rest.
fn build(page: Page, keep: Listeners, origin: &Origin) -> impl FnOnce() + use<> {
    let picker = Picker::new(page, &keep, None);
    let against = Picker::new(page, &keep, Some(Intake::Compare));
    let found = shell::search::SearchBox::default();
    let palette = Palette::new(page, &picker, origin);
    let header = shell::header::Header::new(page, &picker, &against, &found, origin, &palette);
    let to_finding = button(origin.headline())
        .class("link")
        .attr("title", "The first finding about the traces of this report")
        .on_click(&keep, move || {
            page.change(|address| address.view = View::Findings);
            spawn_local(async {
                // Once the view is there.
                dom::pause(0).await;
                let card = dom::document().query_selector("[data-test='finding']").ok().flatten();
                card.iter().for_each(web_sys::Element::scroll_into_view);
            });
        });
    let headline = el("p").class("report-headline").test("report-headline").child(&to_finding);
    headline.show(!origin.headline().is_empty());
    let host = shell::host::Host::new(page, origin, &keep);
    let banners = shell::banners::MessageBanners::new();
    let progress = shell::progress::ProgressRow::new(page);
    let memory_row = shell::memory_row::MemoryRow::new();
    let fetch = shell::fetch_row::FetchRow::new();
    let undo = shell::undo::UndoRow::new(page);
    let start = shell::start::Start::new(page, &picker);
    let status = shell::status::Status::new(page);
    let overlay = shell::file_input::overlay(page, &keep);
    let (before_start, before_status) = (start.element().clone(), status.element().clone());
    let app = dom::document().get_element_by_id("app");
    if let Some(app) = app.and_then(|app| wasm_bindgen::JsCast::dyn_into(app).ok()).map(El::from_html) {
        app.fill([
            header.element(),
            &headline,
            &shell::about::newer(&keep),
            host.element(),
            fetch.element(),
            progress.element(),
            memory_row.element(),
            banners.element(),
            undo.element(),
            start.element(),
            status.element(),
            &overlay,
        ]);
        for input in picker.elements().into_iter().chain(against.elements()) {
            app.add(input);
        }
    }
    page.add_parts(
        PageLayer::Rows,
        vec![
            Box::new(fetch),
            Box::new(progress),
            Box::new(memory_row),
            Box::new(banners),
            Box::new(undo),
            Box::new(start),
        ],
    );
    page.add_parts(PageLayer::Header, vec![Box::new(header)]);
    page.add_parts(PageLayer::Status, vec![Box::new(status), Box::new(host)]);
    listen(page, &keep, picker, palette);
    page.fetching().follow(page);

    move || {
        let root = shell::selection_bar::SelectionBar::new(page);
        let range = shell::range_bar::RangeBar::new(page);
        let sides = shell::sides::Sides::new(page);
        let sidebar = shell::sidebar::Sidebar::new(page);
        let jump = shell::jump::Jump::default();
        let detail = shell::detail::Detail::new(page, &jump);
        let no_spans = shell::no_spans::NoSpans::new();
        let strip = shell::verdict_strip::VerdictStrip::new(page, &keep);

        let wait = div("wait muted")
            .attr("role", "status")
            .text("Reading\u{2026} the first results come in a moment.");
        let split = div("split")
            .attr("role", "separator")
            .attr("aria-orientation", "horizontal")
            .attr("aria-label", "Height of the chart")
            .attr("aria-valuemin", "15")
            .attr("aria-valuemax", "85")
            .attr("aria-valuenow", "56")
            .attr("tabindex", "0")
            .test("split");
        let title = el("h1").class("unseen").test("title");
        let view = div("view").child(&title).child(&split).child(no_spans.element()).child(detail.element());
        split_drag(&split, &view, &keep);
        let content = el("main").class("content").child(strip.element()).child(&view);
        let body = div("body").child(sidebar.element()).child(&content);
        let [ranges, conditions] = range.choices();
        let context = div("context").attr("role", "region").attr("aria-label", "Selection").children([
            root.element(),
            range.histogram(),
            root.figures(),
            ranges,
            conditions,
            &div("grow"),
            sides.element(),
        ]);
        for (next, elements) in [
            (before_start, [&context].as_slice()),
            (before_status, &[&wait, &body]),
            (overlay, &[detail.said()]),
        ] {
            for element in elements {
                let _ = next.html().before_with_node_1(element.html());
            }
        }
        let layout = PageLayout { context, body, view, title, wait, dark: None };
        page.add_parts(
            PageLayer::Selection,
            vec![Box::new(layout), Box::new(root), Box::new(range), Box::new(sides), Box::new(strip)],
        );
        page.add_parts(PageLayer::Views, vec![Box::new(sidebar)]);
        let tools = ViewTools { keep, search: found, jump: jump.clone(), split };
        let view = |which| Box::new(LazyView::new(which, &tools)) as Box<dyn PagePart>;
        page.add_parts(PageLayer::Views, View::ALL.into_iter().map(view).collect());
        page.add_parts(PageLayer::Views, vec![Box::new(no_spans), Box::new(jump)]);
        page.add_parts(PageLayer::Detail, vec![Box::new(detail)]);
    }
}

/// Listens to what concerns all of the page.
fn listen(page: Page, keep: &Listeners, picker: Picker, palette: Palette) {
    shell::keys::listen(page, keep, move || picker.open_files(), palette);
    for event in ["popstate", "hashchange"] {
        keep.add(dom::listen(&dom::window(), event, dom::How::default(), move |_| page.follow_address()));
    }
    keep.add(dom::listen(&dom::window(), "resize", dom::How::default(), move |_| page.refresh()));
    if !can_draw() {
        page.fail(UserError {
            message: "The browser does not let this page draw, so charts stay empty.".to_owned(),
            detail: "It gives no context for a canvas.".to_owned(),
            next_step: "Tables and sentences say the same; for charts, allow canvases for this page (an extension may \
                        forbid them) or use another browser."
                .to_owned(),
        });
    }
    // Canvases that the browser took away, for lack of memory or as its graphics process ended, come back empty.
    let capture = dom::How { capture: true, ..dom::How::default() };
    keep.add(dom::listen(&dom::window(), "contextrestored", capture, move |_| {
        if let Some(root) = dom::root() {
            let times = root.get_attribute(dom::RESTORED).and_then(|times| times.parse().ok()).unwrap_or(0);
            let _ = root.set_attribute(dom::RESTORED, &format!("{}", times + 1));
        }
        page.refresh();
    }));
    if let Ok(Some(dark)) = dom::window().match_media(DARK) {
        keep.add(dom::listen(&dark, "change", dom::How::default(), move |_| page.refresh()));
    }
}

/// Returns whether the browser gives a canvas something to draw on.
fn can_draw() -> bool {
    let canvas = el("canvas");
    let canvas = canvas.as_kind::<web_sys::HtmlCanvasElement>();
    canvas.is_some_and(|canvas| matches!(canvas.get_context("2d"), Ok(Some(_))))
}

const DARK: &str = "(prefers-color-scheme: dark)";

/// Layout of the page: the view in sight, and the colours.
struct PageLayout {
    context: El,
    body: El,
    view: El,
    /// The name of the view, for who does not see the sidebar.
    title: El,
    wait: El,
    dark: Option<bool>,
}

impl PagePart for PageLayout {
    fn update(&mut self, page: Page) {
        let overview = page.queries().overview.get().filter(|overview| overview.traces > 0);
        self.context.show(overview.is_some());
        self.body.show(overview.is_some());
        self.wait.show(
            overview.is_none()
                && (page.loading().running
                    || page.fetching().is_running()
                    || page.queries().overview.is_waiting()),
        );
        let address = page.address();
        self.title.set_text(address.view.name());
        let kind = match address.view {
            view if page.lacks(view).is_some() => "view plain",
            View::Findings | View::Requests => "view plain",
            // What stands below the chart needs all of the width.
            View::Flow if address.choices.flow.panel.is_wide() => "view split-view whole",
            View::Anomalies if address.anomaly.evaluate => "view split-view whole",
            _ => "view split-view",
        };
        self.view.html().set_class_name(kind);
        let dark = match address.theme {
            ThemeChoice::Light => false,
            ThemeChoice::Dark => true,
            ThemeChoice::System => {
                dom::window().match_media(DARK).ok().flatten().is_some_and(|query| query.matches())
            }
        };
        if self.dark != Some(dark) {
            self.dark = Some(dark);
            if let Some(root) = dom::root() {
                let _ = root.set_attribute("data-theme", if dark { "dark" } else { "light" });
            }
        }
        if let Some(root) = dom::root() {
            let _ = root.set_attribute("data-view", address.view.key());
        }
    }
}

/// Lets the line between chart and table be moved, by pointer and keyboard.
fn split_drag(split: &El, view: &El, keep: &Listeners) {
    use wasm_bindgen::JsCast;
    let share = {
        let (view, split) = (view.clone(), split.clone());
        move |share: f64| {
            let percent = share.clamp(0.15, 0.85) * 100.0;
            view.style(HEIGHT, &format!("{percent:.1}%"));
            view.set(MOVED, "");
            split.set("aria-valuenow", &format!("{percent:.0}"));
        }
    };
    let how = dom::How { active: true, ..dom::How::default() };
    let handle = split.clone();
    keep.add(dom::listen(split.html(), "pointerdown", how, move |event| {
        if let Some(pointer) = event.dyn_ref::<web_sys::PointerEvent>() {
            let _ = handle.html().set_pointer_capture(pointer.pointer_id());
            event.prevent_default();
        }
    }));
    let (handle, area, set) = (split.clone(), view.clone(), share.clone());
    keep.add(dom::listen(split.html(), "pointermove", how, move |event| {
        let Some(pointer) = event.dyn_ref::<web_sys::PointerEvent>() else { return };
        if handle.html().has_pointer_capture(pointer.pointer_id()) {
            let place = area.html().get_bounding_client_rect();
            set((f64::from(pointer.client_y()) - place.top()) / place.height().max(1.0));
            dom::moved();
        }
    }));
    let (handle, area) = (split.clone(), view.clone());
    keep.add(dom::listen(split.html(), "keydown", how, move |event| {
        let Some(key) = event.dyn_ref::<web_sys::KeyboardEvent>() else { return };
        let step = match key.key().as_str() {
            "ArrowUp" => -0.05,
            "ArrowDown" => 0.05,
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        let (place, line) =
            (area.html().get_bounding_client_rect(), handle.html().get_bounding_client_rect());
        share((line.top() - place.top()) / place.height().max(1.0) + step);
        dom::moved();
    }));
}
