//! The latency histogram of the root endpoint, with a brush that cuts the percentile range.

use crate::canvas::theme_of;
use crate::dom::{self, El, Listeners, div, el, span};
use crate::page::Page;
use crate::page::slot::Slot;
use crate::widgets::filled_canvas::{FilledCanvas, chart_size};
use crate::widgets::tip;
use pathlight_base::format;
use pathlight_base::statistics::LogHistogram;
use pathlight_engine::requests::{PercentileRange, RangeFacts};
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::draw::axis::ValueAxis;
use pathlight_view::draw::small_histogram::SmallHistogram;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{KeyboardEvent, MouseEvent, PointerEvent};

/// Further than this, a pointer brushes, in CSS pixels.
const BRUSH_PX: f64 = 5.0;

struct Inner {
    page: Page,
    filled: FilledCanvas,
    brush: El,
    facts: RefCell<RangeFacts>,
    /// The other side of a comparison, and whether the side that views speak of is B.
    other: RefCell<Option<LogHistogram>>,
    is_b: Cell<bool>,
    range: Cell<Option<PercentileRange>>,
    axis: Cell<Option<ValueAxis>>,
    /// Start of the brush, in CSS pixels, and whether it has moved.
    from: Cell<Option<(f64, bool)>>,
    /// Says what the keys have chosen.
    said: El,
    /// The bins chosen by keys: the first, and one past the last.
    chosen: Cell<Option<(usize, usize)>>,
    keep: Listeners,
}

/// The histogram.
pub struct DistributionChart {
    inner: Rc<Inner>,
    /// State that was painted: answer, theme, size, device scale.
    painted: ([u64; 2], String, (f64, f64), f64),
}

impl DistributionChart {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> DistributionChart {
        let canvas = el("canvas").attr("role", "img").attr("tabindex", "0").test("histogram");
        let said = span("unseen", "").attr("aria-live", "polite").test("brush-said");
        let brush = div("brush");
        brush.show(false);
        let filled = FilledCanvas::new(div("distribution"), canvas);
        filled.area().add(&brush);
        filled.area().add(&said);
        let inner = Rc::new(Inner {
            page,
            filled,
            brush,
            facts: RefCell::default(),
            other: RefCell::default(),
            is_b: Cell::new(false),
            range: Cell::new(None),
            axis: Cell::new(None),
            from: Cell::new(None),
            said,
            chosen: Cell::new(None),
            keep: Listeners::default(),
        });
        listen(&inner);
        DistributionChart { inner, painted: ([0; 2], String::new(), (0.0, 0.0), 0.0) }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        self.inner.filled.area()
    }

    /// Dims what is about to be replaced.
    pub fn update(&self, page: Page) {
        self.inner.filled.area().class_if("stale", page.queries().range.is_waiting());
    }

    /// Paints the report of the percentile range, unless this very chart stands there already.
    pub fn fit(&mut self, page: Page) {
        let inner = &self.inner;
        let queries = page.queries();
        let scale = dom::window().device_pixel_ratio();
        let comparison = page.address().compared();
        let other = comparison.map(|comparison| page.slot_of_side(comparison.side.other()));
        // A comparison that comes or goes paints the other side, or takes it away.
        let of_other = other.map_or(u64::MAX, |slot| slot.fresh().map_or(0, |_| slot.revision()));
        let revisions = [queries.range.revision(), of_other];
        let now = (revisions, dom::look(), inner.filled.area().size(), scale);
        let Some(report) = queries.range.get().filter(|_| self.painted != now) else { return };
        inner.facts.replace(report.facts.clone());
        inner.other.replace(other.and_then(Slot::fresh).map(|report| report.facts.histogram.clone()));
        inner.is_b.set(comparison.is_some_and(|comparison| comparison.side == ComparedSide::B));
        // What the keys have chosen were bins of the histogram before.
        if inner.chosen.get().is_some() {
            inner.forget_chosen();
        }
        inner.range.set(Some(report.range).filter(|range| !range.is_all()));
        let facts = &report.facts;
        inner.filled.canvas().set(
            "aria-label",
            &format!(
                "Latency of {}: median {}, 95th percentile {}, 99th {}. Arrow keys choose a part, Shift \
                 makes it wider or narrower, Enter cuts to it",
                format::counted(facts.all_requests, "request"),
                format::duration(facts.all_latency_us.p50),
                format::duration(facts.all_latency_us.p95),
                format::duration(facts.all_latency_us.p99)
            ),
        );
        inner.paint();
        self.painted = now;
    }
}

impl Inner {
    fn paint(&self) {
        let Some(surface) = self.filled.surface() else { return };
        let theme = theme_of(self.filled.canvas().html());
        let facts = self.facts.borrow();
        let size = chart_size(&surface);
        let other = self.other.borrow();
        let view = SmallHistogram {
            shown: &facts.histogram,
            other: other.as_ref(),
            is_b: self.is_b.get(),
            range_us: self.range.get().filter(|_| facts.requests > 0).map(|_| facts.range_us),
        };
        self.axis.set(view.axis(size));
        surface.paint(&view.scene(size, &theme));
    }

    /// Returns the place of a pointer on the canvas in CSS pixels.
    fn x_of(&self, event: &MouseEvent) -> f64 {
        f64::from(event.client_x()) - self.filled.canvas().html().get_bounding_client_rect().left()
    }

    /// Returns the bins from one place to another, in CSS pixels: first, and one past the last.
    fn bins(&self, a: f64, b: f64) -> Option<(usize, usize)> {
        let axis = self.axis.get()?;
        let facts = self.facts.borrow();
        let edges = &facts.histogram.edges_us;
        let us = |x: f64| axis.value_at((x * self.filled.scale()) as i32);
        let (low, high) = (us(a.min(b)), us(a.max(b)));
        let first = edges.partition_point(|edge| *edge as f64 <= low).saturating_sub(1);
        let end = edges.partition_point(|edge| (*edge as f64) < high).max(first + 1);
        (edges.len() > 1).then(|| (first.min(edges.len() - 2), end.min(edges.len() - 1)))
    }

    fn show_brush(&self, a: f64, b: f64) {
        if let Some((first, end)) = self.bins(a, b) {
            self.show_bins(first, end);
        }
    }

    fn show_bins(&self, first: usize, end: usize) {
        let Some(axis) = self.axis.get() else { return };
        let facts = self.facts.borrow();
        let edges = &facts.histogram.edges_us;
        let scale = self.filled.scale();
        let (left, right) =
            (f64::from(axis.pixel(edges[first] as f64)), f64::from(axis.pixel(edges[end] as f64)));
        self.brush.style("left", &format!("{:.1}px", left / scale));
        self.brush.style("width", &format!("{:.1}px", (right - left) / scale));
        self.brush.show(true);
    }

    fn show_tip(&self, event: &MouseEvent, from: Option<f64>) {
        let x = self.x_of(event);
        let Some((first, end)) = self.bins(from.unwrap_or(x), x) else { return };
        let [words, much] = bins_words(&self.facts.borrow().histogram, first, end);
        let hint = if from.is_none() { "Drag to cut a percentile range" } else { "" };
        let client = (f64::from(event.client_x()), f64::from(event.client_y()));
        tip::show(client, &[div("").text(&words), div("").text(&much), div("muted small").text(hint)]);
    }
}

/// Latencies and requests of some bins in words.
fn bins_words(histogram: &LogHistogram, first: usize, end: usize) -> [String; 2] {
    let count: u64 = histogram.counts[first..end].iter().sum();
    let whole: u64 = histogram.counts.iter().sum();
    let (low, high) = (histogram.edges_us[first], histogram.edges_us[end]);
    let words = format!("{} to {}", format::duration_us(low), format::duration_us(high));
    [words, format!("{}, {}", format::counted(count, "request"), format::share_of(count, whole))]
}

/// Returns the percentile range of the requests in some bins. Edges of bins lie between requests, so their ranks are
/// percentiles.
fn range_of(histogram: &LogHistogram, first: usize, end: usize) -> PercentileRange {
    let below = |bin: usize| histogram.counts.iter().take(bin).sum::<u64>();
    PercentileRange::of_ranks(below(first)..below(end), below(histogram.counts.len()))
}

impl Inner {
    /// Takes a key; tells whether it was one for the brush.
    fn key(&self, key: &KeyboardEvent) -> bool {
        let bins = self.facts.borrow().histogram.counts.len();
        if bins == 0 || key.ctrl_key() || key.meta_key() || key.alt_key() {
            return false;
        }
        let now = self.chosen.get();
        let next = match (key.key().as_str(), now) {
            ("ArrowLeft" | "ArrowRight", None) => {
                let counts = &self.facts.borrow().histogram.counts;
                let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
                (first, first + 1)
            }
            ("ArrowRight", Some((first, end))) if key.shift_key() => (first, end + 1),
            ("ArrowLeft", Some((first, end))) if key.shift_key() => (first, end.max(first + 2) - 1),
            ("ArrowRight", Some((first, end))) => (first + 1, end + 1),
            ("ArrowLeft", Some((first, end))) => (first.max(1) - 1, end - usize::from(first > 0)),
            ("Enter", Some((first, end))) => {
                let range = range_of(&self.facts.borrow().histogram, first, end);
                self.forget_chosen();
                self.page.change(|address| address.cut_over_all(range));
                return true;
            }
            ("Escape", Some(_)) => {
                self.forget_chosen();
                return true;
            }
            _ => return false,
        };
        if next.1 <= bins {
            self.chosen.set(Some(next));
            self.show_bins(next.0, next.1);
            self.said.set_text(&bins_words(&self.facts.borrow().histogram, next.0, next.1).join(", "));
        }
        true
    }

    fn forget_chosen(&self) {
        self.chosen.set(None);
        self.brush.show(false);
        self.said.set_text("");
    }
}

fn listen(inner: &Rc<Inner>) {
    let weak = Rc::downgrade(inner);
    let how = dom::How { active: true, ..dom::How::default() };
    inner.keep.add(dom::listen(inner.filled.canvas().html(), "keydown", how, move |event| {
        if let (Some(inner), Some(key)) = (weak.upgrade(), event.dyn_ref::<KeyboardEvent>())
            && inner.key(key)
        {
            event.prevent_default();
            event.stop_propagation();
        }
    }));
    let weak = Rc::downgrade(inner);
    inner.keep.add(dom::listen(inner.filled.canvas().html(), "blur", dom::How::default(), move |_| {
        if let Some(inner) = weak.upgrade() {
            inner.forget_chosen();
        }
    }));
    let add = |event: &'static str, run: fn(&Inner, &PointerEvent)| {
        let weak = Rc::downgrade(inner);
        inner.keep.add(dom::listen(inner.filled.canvas().html(), event, dom::How::default(), move |event| {
            if let (Some(inner), Some(pointer)) = (weak.upgrade(), event.dyn_ref::<PointerEvent>()) {
                run(&inner, pointer);
            }
        }));
    };
    add("pointerdown", |inner, pointer| {
        if pointer.button() == 0 {
            inner.from.set(Some((inner.x_of(pointer), false)));
            let _ = inner.filled.canvas().html().set_pointer_capture(pointer.pointer_id());
        }
    });
    add("pointermove", |inner, pointer| {
        let x = inner.x_of(pointer);
        match inner.from.get() {
            Some((from, moved)) if moved || (x - from).abs() > BRUSH_PX => {
                inner.from.set(Some((from, true)));
                inner.show_brush(from, x);
                inner.show_tip(pointer, Some(from));
            }
            Some(_) => {}
            None => inner.show_tip(pointer, None),
        }
    });
    add("pointerup", |inner, pointer| {
        let Some((from, moved)) = inner.from.take() else { return };
        inner.brush.show(false);
        tip::hide();
        let range = match inner.bins(from, inner.x_of(pointer)).filter(|_| moved) {
            Some((first, end)) => range_of(&inner.facts.borrow().histogram, first, end),
            None => PercentileRange::ALL,
        };
        inner.page.change(|address| address.cut_over_all(range));
    });
    add("pointercancel", |inner, _| {
        inner.from.set(None);
        inner.brush.show(false);
        tip::hide();
    });
    add("pointerleave", |inner, _| {
        if inner.from.get().is_none() {
            tip::hide();
        }
    });
}
