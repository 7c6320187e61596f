//! A canvas that is looked at through a window: size, frames, pointer, wheel, pinch; what is on it is a [`CanvasChart`].

use crate::canvas::{Surface, theme_of};
use crate::ui::dom;
use crate::ui::dom::{El, div, el};
use pathlight_chart::Theme;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use web_sys::{HtmlCanvasElement, MouseEvent, PointerEvent, WheelEvent};

/// Further than this from where it went down, a pointer is dragged, in CSS pixels.
const CLICK_PX: f64 = 5.0;

/// What a pointer does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pointed {
    /// Place on the canvas in device pixels.
    pub at: (i32, i32),
    /// Place in the window in CSS pixels, for a tip.
    pub client: (f64, f64),
    /// Which click of a row of clicks.
    pub count: i32,
}

/// What is on a canvas. Distances are device pixels.
pub trait CanvasChart: 'static {
    /// Paints; true asks for another frame, for what moves.
    fn paint(&mut self, surface: &Surface, theme: &Theme, now_ms: f64) -> bool;

    /// Zooms about a place of the horizontal axis by a factor, above 1 to see less.
    fn zoom(&mut self, x: f64, factor: f64);

    /// Zooms about a point; a picture whose height has no scale of its own zooms about the horizontal place only.
    fn zoom_at(&mut self, (x, _): (f64, f64), factor: f64) {
        self.zoom(x, factor);
    }

    /// Moves what is shown: to the right and down if positive, as a sheet under the hand.
    fn pan(&mut self, x: f64, y: f64);

    /// The pointer is here, or gone; tells whether to paint.
    fn hover(&mut self, pointed: Option<Pointed>) -> bool;

    /// A click.
    fn click(&mut self, pointed: Pointed);

    /// A double click: shows all.
    fn fit(&mut self);

    /// Something is dragged from one place to another with one pointer, a finger if `touch`. True if that marks what lies
    /// between; otherwise it moves what is shown.
    fn brush(&mut self, _from: (i32, i32), _to: (i32, i32), _touch: bool) -> bool {
        false
    }

    /// What was marked is let go.
    fn brushed(&mut self) {}
}

/// A pointer that is down: its id, where it is, where it went down.
type Down = (i32, (f64, f64), (f64, f64));

/// What runs with the next frame; it is given the time in milliseconds.
type Frame = Closure<dyn FnMut(f64)>;

struct Inner<C> {
    chart: RefCell<C>,
    surface: RefCell<Option<Surface>>,
    theme: RefCell<Option<Rc<Theme>>>,
    /// What the page said of its colours when they were last looked up.
    themed: RefCell<String>,
    frame_due: Cell<bool>,
    canvas: El,
    area: El,
    down: RefCell<Vec<Down>>,
    dragged: Cell<bool>,
    run_frame: OnceCell<Frame>,
}

/// A canvas with a chart on it. Charts live as long as the page, so a handle is a plain copy.
pub struct ChartCanvas<C: 'static>(&'static Inner<C>);

impl<C> Clone for ChartCanvas<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for ChartCanvas<C> {}

impl<C: CanvasChart> ChartCanvas<C> {
    /// Puts a chart on a canvas that tests know by this name.
    pub fn new(chart: C, test: &str, label: &str) -> ChartCanvas<C> {
        let canvas =
            el("canvas").attr("tabindex", "0").attr("role", "img").attr("aria-label", label).test(test);
        let area = div("canvas-box").child(&canvas);
        let chart = ChartCanvas(Box::leak(Box::new(Inner {
            chart: RefCell::new(chart),
            surface: RefCell::default(),
            theme: RefCell::default(),
            themed: RefCell::default(),
            frame_due: Cell::new(false),
            canvas,
            area,
            down: RefCell::default(),
            dragged: Cell::new(false),
            run_frame: OnceCell::new(),
        })));
        let _ = chart.0.run_frame.set(Closure::new(move |now_ms: f64| chart.frame(now_ms)));
        chart.listen();
        chart
    }

    /// The box of the canvas.
    pub fn element(self) -> &'static El {
        &self.0.area
    }

    /// The canvas.
    pub fn canvas(self) -> &'static El {
        &self.0.canvas
    }

    /// Changes the picture, then paints it.
    pub fn with<T>(self, work: impl FnOnce(&mut C) -> T) -> T {
        let result = work(&mut self.0.chart.borrow_mut());
        self.paint();
        result
    }

    /// Looks at the picture.
    pub fn look<T>(self, work: impl FnOnce(&C) -> T) -> T {
        work(&self.0.chart.borrow())
    }

    /// Width and height in device pixels, as last painted.
    pub fn size(self) -> (i32, i32) {
        self.0.surface.borrow().as_ref().map_or((0, 0), Surface::size)
    }

    /// Paints in other colours if those of the page have changed; tells whether they have.
    pub fn follow_theme(self) -> bool {
        let theme = dom::root().and_then(|root| root.get_attribute("data-theme")).unwrap_or_default();
        let is_new = self.0.themed.replace(theme.clone()) != theme;
        if is_new {
            self.new_theme();
        }
        is_new
    }

    /// The colours may have changed.
    pub fn new_theme(self) {
        self.0.theme.replace(None);
        self.paint();
    }

    /// The colours it is painted in.
    pub fn theme(self) -> Rc<Theme> {
        self.0.theme.borrow_mut().get_or_insert_with(|| theme_of(self.0.canvas.html())).clone()
    }

    /// The plain light or dark colours, for files.
    pub fn plain_theme(self) -> Theme {
        if self.theme().dark { Theme::dark() } else { Theme::light() }
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
        let (width, height) = inner.area.size();
        if width < 1.0 || height < 1.0 {
            return;
        }
        let mut slot = inner.surface.borrow_mut();
        if slot.is_none() {
            // Only once it is in the page does the canvas have a font.
            *slot = inner.canvas.as_kind::<HtmlCanvasElement>().cloned().and_then(Surface::new);
            inner.theme.replace(None);
        }
        let Some(surface) = &mut *slot else { return };
        surface.resize(width, height, dom::window().device_pixel_ratio());
        let more = inner.chart.borrow_mut().paint(surface, &self.theme(), now_ms);
        drop(slot);
        if more {
            self.paint();
        }
    }

    /// A place of the window on the canvas, in device pixels.
    fn device(self, (x, y): (f64, f64)) -> (i32, i32) {
        let place = self.0.canvas.html().get_bounding_client_rect();
        let (left, top) = (x - place.left(), y - place.top());
        match &*self.0.surface.borrow() {
            Some(surface) => surface.device_point(left, top),
            None => (left as i32, top as i32),
        }
    }

    fn pointed(self, event: &MouseEvent) -> Pointed {
        let client = (f64::from(event.client_x()), f64::from(event.client_y()));
        Pointed { at: self.device(client), client, count: event.detail() }
    }

    fn scale(self) -> f64 {
        self.0.surface.borrow().as_ref().map_or(1.0, |surface| surface.metrics().scale)
    }

    fn listen(self) {
        let add = |event: &'static str, active: bool, run: fn(ChartCanvas<C>, &web_sys::Event)| {
            let how = dom::How { active, ..dom::How::default() };
            // The listener lives as long as the chart: as long as the page.
            std::mem::forget(dom::listen(self.0.canvas.html(), event, how, move |event| run(self, &event)));
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
            if chart.0.down.borrow().is_empty() && chart.0.chart.borrow_mut().hover(None) {
                chart.paint();
            }
        });
        add("click", false, |chart, event| {
            if let Some(mouse) = event.dyn_ref::<MouseEvent>().filter(|_| !chart.0.dragged.get()) {
                let pointed = chart.pointed(mouse);
                chart.0.chart.borrow_mut().click(pointed);
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
            if self.0.chart.borrow_mut().hover(Some(pointed)) {
                self.paint();
            }
            return;
        };
        let (_, before, first) = down[mine];
        let far = (now.0 - first.0).hypot(now.1 - first.1) > CLICK_PX;
        if !self.0.dragged.get() && !far && down.len() == 1 {
            return;
        }
        if !self.0.dragged.replace(true) {
            let _ = self.0.canvas.html().set_pointer_capture(pointer.pointer_id());
        }
        down[mine].1 = now;
        let other = down.iter().position(|(id, ..)| *id != pointer.pointer_id()).map(|at| down[at].1);
        drop(down);
        let mut chart = self.0.chart.borrow_mut();
        chart.hover(None);
        match other {
            // Two fingers: the distance zooms, the middle moves.
            Some(other) => {
                let (was, is) = ((before.0 - other.0).abs().max(20.0), (now.0 - other.0).abs().max(20.0));
                let place = self.0.canvas.html().get_bounding_client_rect();
                let middle = ((now.0 + other.0) / 2.0 - place.left(), (now.1 + other.1) / 2.0 - place.top());
                chart.zoom_at((middle.0 * scale, middle.1 * scale), is / was);
                chart.pan((now.0 - before.0) / 2.0 * scale, (now.1 - before.1) / 2.0 * scale);
            }
            None if chart.brush(self.device(first), self.device(now), pointer.pointer_type() == "touch") => {}
            None => chart.pan((now.0 - before.0) * scale, (now.1 - before.1) * scale),
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
        let mut chart = self.0.chart.borrow_mut();
        if wheel.ctrl_key() || wheel.meta_key() {
            // A pinch on a touch pad comes as small steps of this, a wheel as one of about 100.
            let at = (f64::from(pointed.at.0), f64::from(pointed.at.1));
            chart.zoom_at(at, (-y * 0.004).clamp(-0.6, 0.6).exp());
        } else {
            if wheel.shift_key() && x == 0.0 {
                (x, y) = (y, 0.0);
            }
            chart.pan(-x * scale, -y * scale);
        }
        chart.hover(None);
        drop(chart);
        self.paint();
    }
}

/// The tip beside the pointer: one for the whole page.
#[derive(Clone)]
pub struct Tip(El);

impl Tip {
    /// A tip, out of sight.
    pub fn new() -> Tip {
        let tip = div("tip").attr("role", "tooltip").test("tip");
        tip.show(false);
        if let Some(body) = dom::document().body() {
            let _ = body.append_child(tip.html());
        }
        Tip(tip)
    }

    /// Shows these lines beside a place of the window.
    pub fn show(&self, (x, y): (f64, f64), content: &[El]) {
        self.0.fill(content);
        self.0.show(true);
        self.place((x, y));
    }

    /// Moves it.
    pub fn place(&self, (x, y): (f64, f64)) {
        let (width, height) =
            (f64::from(self.0.html().offset_width()), f64::from(self.0.html().offset_height()));
        let room = |value: Result<JsValue, JsValue>| value.ok().and_then(|v| v.as_f64()).unwrap_or(0.0);
        let (right, bottom) = (room(dom::window().inner_width()), room(dom::window().inner_height()));
        let left = if x + 16.0 + width > right { (x - 12.0 - width).max(4.0) } else { x + 16.0 };
        let top = if y + 20.0 + height > bottom { (y - 12.0 - height).max(4.0) } else { y + 20.0 };
        self.0.style("transform", &format!("translate({left:.0}px, {top:.0}px)"));
    }

    /// Hides it.
    pub fn hide(&self) {
        self.0.show(false);
    }
}

/// Whether motion is unwelcome.
pub fn is_still() -> bool {
    dom::window()
        .match_media("(prefers-reduced-motion: reduce)")
        .ok()
        .flatten()
        .is_some_and(|query| query.matches())
}
