//! A canvas that is looked at through a window: size, frames, pointer, wheel, pinch; what is on it is a [`CanvasChart`].

use crate::canvas::{Surface, theme_of};
use crate::dom::{self, El, div, el};
use crate::widgets::filled_canvas::FilledCanvas;
use crate::widgets::tip;
use pathlight_view::draw::{Theme, Viewport};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{MouseEvent, PointerEvent, WheelEvent};

/// Further than this from where it went down, a pointer is dragged, in CSS pixels.
const CLICK_PX: f64 = 5.0;

/// Event of a pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pointed {
    /// Place on the canvas in device pixels.
    pub at: (i32, i32),
    /// Place in the window in CSS pixels, for a tip.
    pub client: (f64, f64),
    /// Number of the click in a row of clicks.
    pub count: i32,
}

/// A chart on a canvas. Distances are device pixels.
pub trait CanvasChart: 'static {
    /// An item that the pointer can be on.
    type Hit: PartialEq;

    /// Paints what the viewport shows.
    fn paint(&mut self, surface: &Surface, theme: &Theme);

    /// Returns what is in sight; wheel, drag, pinch and keys change it.
    fn viewport(&mut self) -> &mut dyn Viewport;

    /// Returns the height in CSS pixels in which all of it is seen; `None` where it takes what there is.
    fn needs(&self) -> Option<f64> {
        None
    }

    /// Returns what is at a place.
    fn hit(&self, _at: (i32, i32)) -> Option<Self::Hit> {
        None
    }

    /// Returns what the tip says of it, in lines.
    fn tip(&self, _hit: &Self::Hit) -> Vec<El> {
        Vec::new()
    }

    /// Marks what the pointer is on. Returns whether that changes the chart.
    fn hover(&mut self, _hit: Option<&Self::Hit>) -> bool {
        false
    }

    /// Follows a click. Returns whether the tip goes, since what was clicked is another thing now.
    fn click(&mut self, pointed: Pointed) -> bool;

    /// Shows all, after a double click.
    fn fit(&mut self) {}

    /// Marks what lies between two places that one pointer, a finger if `touch`, is dragged between. Returns false if it
    /// does not; then what is shown is moved.
    fn brush(&mut self, _from: (i32, i32), _to: (i32, i32), _touch: bool) -> bool {
        false
    }

    /// Takes what was marked, since it is let go.
    fn brushed(&mut self) {}
}

/// A pointer that is down: its id, where it is, where it went down.
type Down = (i32, (f64, f64), (f64, f64));

/// Function that runs with the next frame; it is given the time in milliseconds.
type Frame = Closure<dyn FnMut(f64)>;

struct Inner<C: CanvasChart> {
    chart: RefCell<C>,
    /// Item that the pointer is on.
    hovered: RefCell<Option<C::Hit>>,
    /// Runs when the chart is zoomed in, or out to all of it again.
    on_zoom: OnceCell<Box<dyn Fn()>>,
    is_zoomed: Cell<bool>,
    filled: FilledCanvas,
    theme: RefCell<Option<Rc<Theme>>>,
    /// Look that it was last painted for.
    look: RefCell<String>,
    frame_due: Cell<bool>,
    down: RefCell<Vec<Down>>,
    dragged: Cell<bool>,
    run_frame: OnceCell<Frame>,
}

/// A canvas with a chart on it. Charts live as long as the page, so a handle is a plain copy.
pub struct ChartCanvas<C: CanvasChart>(&'static Inner<C>);

impl<C: CanvasChart> Clone for ChartCanvas<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: CanvasChart> Copy for ChartCanvas<C> {}

impl<C: CanvasChart> ChartCanvas<C> {
    /// Puts a chart on a canvas that tests know by this name.
    pub fn new(chart: C, test: &str, label: &str) -> ChartCanvas<C> {
        let canvas =
            el("canvas").attr("tabindex", "0").attr("role", "img").attr("aria-label", label).test(test);
        let chart = ChartCanvas(Box::leak(Box::new(Inner {
            chart: RefCell::new(chart),
            hovered: RefCell::new(None),
            on_zoom: OnceCell::new(),
            is_zoomed: Cell::new(false),
            filled: FilledCanvas::new(div("canvas-box"), canvas),
            theme: RefCell::default(),
            look: RefCell::default(),
            frame_due: Cell::new(false),
            down: RefCell::default(),
            dragged: Cell::new(false),
            run_frame: OnceCell::new(),
        })));
        let _ = chart.0.run_frame.set(Closure::new(move |now_ms: f64| chart.frame(now_ms)));
        chart.listen();
        chart
    }

    /// Returns the box of the canvas.
    pub fn element(self) -> &'static El {
        self.0.filled.area()
    }

    /// Returns the canvas.
    pub fn canvas(self) -> &'static El {
        self.0.filled.canvas()
    }

    /// Changes the chart, then paints it.
    pub fn with<T>(self, work: impl FnOnce(&mut C) -> T) -> T {
        let result = work(&mut self.0.chart.borrow_mut());
        self.paint();
        result
    }

    /// Returns what `work` finds in the chart.
    pub fn look<T>(self, work: impl FnOnce(&C) -> T) -> T {
        work(&self.0.chart.borrow())
    }

    /// Changes the chart to one of something else, then paints it.
    pub fn renew<T>(self, work: impl FnOnce(&mut C) -> T) -> T {
        self.leave();
        self.with(work)
    }

    /// Returns whether not everything is in sight.
    pub fn is_zoomed(self) -> bool {
        self.0.chart.borrow_mut().viewport().is_zoomed()
    }

    /// Returns the width and height in device pixels, as last painted.
    pub fn size(self) -> (i32, i32) {
        self.0.filled.size().map_or((0, 0), |size| (size.width, size.height))
    }

    /// Paints in other colours if those of the page have changed; tells whether they have.
    pub fn follow_theme(self) -> bool {
        let look = dom::look();
        let is_new = self.0.look.replace(look.clone()) != look;
        if is_new {
            self.new_theme();
        }
        is_new
    }

    /// Reads the colours again, which may have changed.
    pub fn new_theme(self) {
        self.0.theme.replace(None);
        self.paint();
    }

    /// Returns the colours it is painted in.
    pub fn theme(self) -> Rc<Theme> {
        self.0.theme.borrow_mut().get_or_insert_with(|| theme_of(self.0.filled.canvas().html())).clone()
    }

    /// Paints with the next frame.
    pub fn paint(self) {
        if self.0.frame_due.replace(true) {
            return;
        }
        if let Some(run) = self.0.run_frame.get() {
            let _ = dom::window().request_animation_frame(run.as_ref().unchecked_ref());
        }
    }

    fn frame(self, now_ms: f64) {
        let inner = self.0;
        inner.frame_due.set(false);
        if inner.filled.size().is_none() {
            // Only once it is in the page does the canvas have colours.
            inner.theme.replace(None);
        }
        let Some(surface) = inner.filled.surface() else { return };
        let theme = self.theme();
        let mut chart = inner.chart.borrow_mut();
        if chart.viewport().advance(now_ms, is_still()) {
            self.paint();
        }
        chart.paint(&surface, &theme);
        let is_zoomed = chart.viewport().is_zoomed();
        drop((chart, surface));
        if inner.is_zoomed.replace(is_zoomed) != is_zoomed
            && let Some(run) = inner.on_zoom.get()
        {
            run();
        }
    }

    /// Runs `run` when the chart is zoomed in, or out to all of it again.
    pub fn on_zoom(self, run: impl Fn() + 'static) {
        let _ = self.0.on_zoom.set(Box::new(run));
    }

    /// Hides the tip, since the chart goes out of sight.
    pub fn leave(self) {
        self.point_at(None);
    }

    /// Shows the tip of what is under the pointer; hides it where nothing is.
    fn point_at(self, pointed: Option<Pointed>) {
        let mut chart = self.0.chart.borrow_mut();
        let hit = pointed.and_then(|pointed| chart.hit(pointed.at));
        let is_new = *self.0.hovered.borrow() != hit;
        if is_new && chart.hover(hit.as_ref()) {
            self.paint();
        }
        match (pointed, &hit) {
            (Some(pointed), Some(hit)) if is_new => tip::show(pointed.client, &chart.tip(hit)),
            (Some(pointed), Some(_)) => tip::place(pointed.client),
            _ if is_new => tip::hide(),
            _ => {}
        }
        self.0.hovered.replace(hit);
    }

    /// Returns a place of the window on the canvas, in device pixels.
    fn device(self, (x, y): (f64, f64)) -> (i32, i32) {
        let place = self.0.filled.canvas().html().get_bounding_client_rect();
        let (left, top) = (x - place.left(), y - place.top());
        let scale = self.scale();
        ((left * scale).floor() as i32, (top * scale).floor() as i32)
    }

    fn pointed(self, event: &MouseEvent) -> Pointed {
        let client = (f64::from(event.client_x()), f64::from(event.client_y()));
        Pointed { at: self.device(client), client, count: event.detail() }
    }

    fn scale(self) -> f64 {
        self.0.filled.scale()
    }

    fn listen(self) {
        let add = |event: &'static str, active: bool, run: fn(ChartCanvas<C>, &web_sys::Event)| {
            let how = dom::How { active, ..dom::How::default() };
            // The listener lives as long as the chart: as long as the page.
            std::mem::forget(dom::listen(self.0.filled.canvas().html(), event, how, move |event| {
                run(self, &event)
            }));
        };
        add("pointerdown", false, |chart, event| {
            if let Some(pointer) = event.dyn_ref::<PointerEvent>().filter(|pointer| pointer.button() == 0) {
                chart.pointer_down(pointer);
            }
        });
        add("pointermove", false, |chart, event| {
            if let Some(pointer) = event.dyn_ref::<PointerEvent>() {
                chart.pointer_move(pointer);
            }
        });
        for event in ["pointerup", "pointercancel"] {
            add(event, false, |chart, event| {
                if let Some(pointer) = event.dyn_ref::<PointerEvent>() {
                    chart.0.down.borrow_mut().retain(|(id, ..)| *id != pointer.pointer_id());
                    if chart.0.dragged.get() {
                        chart.0.chart.borrow_mut().brushed();
                        chart.paint();
                    }
                }
            });
        }
        add("pointerleave", false, |chart, _| {
            if chart.0.down.borrow().is_empty() {
                chart.point_at(None);
            }
        });
        add("click", false, |chart, event| {
            if let Some(mouse) = event.dyn_ref::<MouseEvent>().filter(|_| !chart.0.dragged.get()) {
                let pointed = chart.pointed(mouse);
                let is_another = chart.0.chart.borrow_mut().click(pointed);
                if is_another {
                    chart.point_at(None);
                }
                chart.paint();
            }
        });
        add("dblclick", false, |chart, _| {
            if !chart.0.dragged.get() {
                chart.0.chart.borrow_mut().fit();
                chart.paint();
            }
        });
        add("wheel", true, |chart, event| {
            if let Some(wheel) = event.dyn_ref::<WheelEvent>() {
                event.prevent_default();
                chart.wheel(wheel);
            }
        });
    }

    fn pointer_down(self, pointer: &PointerEvent) {
        let at = (f64::from(pointer.client_x()), f64::from(pointer.client_y()));
        self.0.down.borrow_mut().push((pointer.pointer_id(), at, at));
        if self.0.down.borrow().len() == 1 {
            self.0.dragged.set(false);
        }
    }

    fn pointer_move(self, pointer: &PointerEvent) {
        let now = (f64::from(pointer.client_x()), f64::from(pointer.client_y()));
        let scale = self.scale();
        let mut down = self.0.down.borrow_mut();
        let Some(mine) = down.iter().position(|(id, ..)| *id == pointer.pointer_id()) else {
            drop(down);
            let pointed = self.pointed(pointer);
            self.point_at(Some(pointed));
            return;
        };
        let (_, before, first) = down[mine];
        let far = (now.0 - first.0).hypot(now.1 - first.1) > CLICK_PX;
        if !self.0.dragged.get() && !far && down.len() == 1 {
            return;
        }
        if !self.0.dragged.replace(true) {
            let _ = self.0.filled.canvas().html().set_pointer_capture(pointer.pointer_id());
        }
        down[mine].1 = now;
        let other = down.iter().position(|(id, ..)| *id != pointer.pointer_id()).map(|at| down[at].1);
        drop(down);
        self.point_at(None);
        let mut chart = self.0.chart.borrow_mut();
        match other {
            // Two fingers: the distance zooms, the middle moves.
            Some(other) => {
                let (was, is) = ((before.0 - other.0).abs().max(20.0), (now.0 - other.0).abs().max(20.0));
                let place = self.0.filled.canvas().html().get_bounding_client_rect();
                let middle = ((now.0 + other.0) / 2.0 - place.left(), (now.1 + other.1) / 2.0 - place.top());
                let viewport = chart.viewport();
                viewport.zoom((middle.0 * scale, middle.1 * scale), is / was);
                viewport.pan((now.0 - before.0) / 2.0 * scale, (now.1 - before.1) / 2.0 * scale);
            }
            None if chart.brush(self.device(first), self.device(now), pointer.pointer_type() == "touch") => {}
            None => chart.viewport().pan((now.0 - before.0) * scale, (now.1 - before.1) * scale),
        }
        drop(chart);
        self.paint();
    }

    fn wheel(self, wheel: &WheelEvent) {
        let unit = match wheel.delta_mode() {
            WheelEvent::DOM_DELTA_LINE => 16.0,
            WheelEvent::DOM_DELTA_PAGE => 400.0,
            _ => 1.0,
        };
        let (mut x, mut y) = (wheel.delta_x() * unit, wheel.delta_y() * unit);
        let scale = self.scale();
        let pointed = self.pointed(wheel);
        self.point_at(None);
        let mut chart = self.0.chart.borrow_mut();
        if wheel.ctrl_key() || wheel.meta_key() {
            // A pinch on a touch pad comes as small steps of this, a wheel as one of about 100.
            let at = (f64::from(pointed.at.0), f64::from(pointed.at.1));
            chart.viewport().zoom(at, (-y * 0.004).clamp(-0.6, 0.6).exp());
        } else {
            if wheel.shift_key() && x == 0.0 {
                (x, y) = (y, 0.0);
            }
            chart.viewport().pan(-x * scale, -y * scale);
        }
        drop(chart);
        self.paint();
    }
}

/// Returns whether motion is unwelcome.
fn is_still() -> bool {
    dom::window()
        .match_media("(prefers-reduced-motion: reduce)")
        .ok()
        .flatten()
        .is_some_and(|query| query.matches())
}
