//! Building the page's elements: a little sugar over web-sys, no markup as text, no style attributes.

use js_sys::Array;
use pathlight_view::draw::color;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{
    AddEventListenerOptions, Blob, BlobPropertyBag, Document, Element, Event, EventTarget, HtmlElement, Node,
    Window,
};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(thread_local_v2, js_name = document)]
    static DOCUMENT: Document;

    #[wasm_bindgen(thread_local_v2, js_name = window)]
    static WINDOW: Window;

    #[wasm_bindgen(js_namespace = document, js_name = createElement)]
    fn create_element(tag: &str) -> HtmlElement;

    #[wasm_bindgen(js_namespace = document, js_name = createElementNS)]
    fn create_element_ns(namespace: &str, tag: &str) -> Element;

    #[wasm_bindgen(js_namespace = document, js_name = createTextNode)]
    fn create_text(text: &str) -> Node;
}

/// Returns the page's document.
pub fn document() -> Document {
    DOCUMENT.with(Clone::clone)
}

/// Returns the page's window.
pub fn window() -> Window {
    WINDOW.with(Clone::clone)
}

/// Returns the `html` element, which carries the page's state for style and tests.
pub fn root() -> Option<HtmlElement> {
    document().document_element().and_then(|element| element.dyn_into().ok())
}

/// Attribute that counts how often the browser gave back canvases that it had lost.
pub const RESTORED: &str = "data-restored";

/// Attribute that counts how often other services got leading colours.
const LED: &str = "data-led";

/// Returns what a canvas is painted for besides its content: the theme, how often lost canvases came back, and how often
/// services got other colours. What is painted for another look has to be painted again, on a
/// [`Surface`](crate::canvas::Surface) of its own.
pub fn look() -> String {
    let read = |name| root().and_then(|root| root.get_attribute(name)).unwrap_or_default();
    format!("{} {} {}", read("data-theme"), read(RESTORED), read(LED))
}

/// Gives these services, and no others, colours that nobody takes for each other, on canvases and in tables alike.
pub fn lead_services(services: &[String]) {
    let leading = color::leading(services);
    let Some((root, before)) = root().zip(crate::canvas::lead(leading.clone())) else { return };
    for (number, _) in before {
        let _ = root.style().remove_property(&service_property(number));
    }
    for (number, place) in leading {
        let _ = root.style().set_property(&service_property(number), &format!("var(--lead{place})"));
    }
    let count = root.get_attribute(LED).and_then(|count| count.parse::<u32>().ok()).unwrap_or(0);
    let _ = root.set_attribute(LED, &(count + 1).to_string());
}

/// Returns the custom property with the leading colour of a service, where it has one.
fn service_property(number: u16) -> String {
    format!("--service{number}")
}

/// Returns the colour of a service, whatever theme comes and whichever services lead.
pub fn service_color(service: &str) -> String {
    let number = color::service_number(service);
    format!("var({}, var(--s{}))", service_property(number), color::service_step(number))
}

/// Returns whether the page is dark.
pub fn is_dark() -> bool {
    look().starts_with("dark")
}

/// A listener; it is taken away when this is dropped.
pub struct Listener {
    target: EventTarget,
    event: &'static str,
    capture: bool,
    run: Closure<dyn FnMut(Event)>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let run = self.run.as_ref().unchecked_ref();
        let _ = self.target.remove_event_listener_with_callback_and_bool(self.event, run, self.capture);
    }
}

/// Options of a listener.
#[derive(Clone, Copy, Default)]
pub struct How {
    /// Before the target sees it.
    pub capture: bool,
    /// It may prevent scrolling.
    pub active: bool,
}

/// Listens to `event` at `target` until the returned value is dropped.
pub fn listen(
    target: &EventTarget,
    event: &'static str,
    how: How,
    run: impl FnMut(Event) + 'static,
) -> Listener {
    listen_to(target, event, how, Box::new(On(run)))
}

/// A listener. `dyn FnMut` would hold another function of each listener, to call it only once.
trait Hear {
    fn hear(&mut self, event: Event);
}

/// A listener that looks at the event.
struct On<F>(F);

impl<F: FnMut(Event)> Hear for On<F> {
    fn hear(&mut self, event: Event) {
        self.0(event);
    }
}

/// A listener that need not look at it.
struct Click<F>(F);

impl<F: FnMut()> Hear for Click<F> {
    fn hear(&mut self, _: Event) {
        self.0();
    }
}

/// Does what [`listen`] does, with one body for all listeners.
fn listen_to(target: &EventTarget, event: &'static str, how: How, mut run: Box<dyn Hear>) -> Listener {
    let run = Closure::<dyn FnMut(Event)>::new(move |event| run.hear(event));
    let options = AddEventListenerOptions::new();
    options.set_capture(how.capture);
    options.set_passive(!how.active);
    let _ = target.add_event_listener_with_callback_and_add_event_listener_options(
        event,
        run.as_ref().unchecked_ref::<js_sys::Function>(),
        &options,
    );
    Listener { target: target.clone(), event, capture: how.capture, run }
}

/// The listeners of a view: cloning shares them, and they go with the last clone or with [`Listeners::clear`].
#[derive(Clone, Default)]
pub struct Listeners(Rc<RefCell<Vec<Listener>>>);

impl Listeners {
    /// Keeps one more.
    pub fn add(&self, listener: Listener) {
        self.0.borrow_mut().push(listener);
    }

    /// Takes all away. A listener may do this from inside itself: it is dropped once it has returned.
    pub fn clear(&self) {
        let gone = std::mem::take(&mut *self.0.borrow_mut());
        if !gone.is_empty() {
            spawn_local(async move { drop(gone) });
        }
    }
}

/// An element under construction or in the page.
#[derive(Clone)]
pub struct El(HtmlElement);

/// Returns a new element.
pub fn el(tag: &str) -> El {
    El(create_element(tag))
}

/// Returns a `div` of this class.
pub fn div(class: &str) -> El {
    el("div").class(class)
}

/// Returns a `span` of this class with text.
pub fn span(class: &str, text: &str) -> El {
    let span = el("span").text(text);
    if class.is_empty() { span } else { span.class(class) }
}

/// Returns a push button with text.
pub fn button(text: &str) -> El {
    el("button").attr("type", "button").text(text)
}

/// Returns a line drawing of 16 by 16 from the data of one path, in the colour of the text around it.
pub fn icon(path: &str) -> Element {
    const SVG: &str = "http://www.w3.org/2000/svg";
    let svg = create_element_ns(SVG, "svg");
    for (name, value) in [("viewBox", "0 0 16 16"), ("class", "icon"), ("aria-hidden", "true")] {
        let _ = svg.set_attribute(name, value);
    }
    let line = create_element_ns(SVG, "path");
    let _ = line.set_attribute("d", path);
    let _ = svg.append_child(&line);
    svg
}

impl El {
    /// Wraps an element of the page.
    pub fn from_html(element: HtmlElement) -> El {
        El(element)
    }

    /// Returns the element.
    pub fn html(&self) -> &HtmlElement {
        &self.0
    }

    /// Returns the element as one of a more special kind.
    pub fn as_kind<T: JsCast>(&self) -> Option<&T> {
        self.0.dyn_ref()
    }

    /// Sets the class attribute.
    pub fn class(self, class: &str) -> El {
        self.0.set_class_name(class);
        self
    }

    /// Sets an attribute.
    pub fn attr(self, name: &str, value: &str) -> El {
        self.set(name, value);
        self
    }

    /// Sets `data-test`, the name tests know it by.
    pub fn test(self, name: &str) -> El {
        self.attr("data-test", name)
    }

    /// Sets what pointer and screen reader say of it.
    pub fn label(self, text: &str) -> El {
        self.attr("aria-label", text).attr("title", text)
    }

    /// Appends text.
    pub fn text(self, text: &str) -> El {
        let _ = self.0.append_child(&create_text(text));
        self
    }

    /// Appends an element.
    pub fn child(self, child: &El) -> El {
        let _ = self.0.append_child(&child.0);
        self
    }

    /// Appends a node of any kind.
    pub fn node(self, node: &Node) -> El {
        let _ = self.0.append_child(node);
        self
    }

    /// Appends elements.
    pub fn children<'a>(self, children: impl IntoIterator<Item = &'a El>) -> El {
        for child in children {
            let _ = self.0.append_child(&child.0);
        }
        self
    }

    /// Listens to an event; `keep` says for how long.
    pub fn on(self, keep: &Listeners, event: &'static str, run: impl FnMut(Event) + 'static) -> El {
        keep.add(listen(&self.0, event, How::default(), run));
        self
    }

    /// Listens to `click`.
    pub fn on_click(self, keep: &Listeners, run: impl FnMut() + 'static) -> El {
        keep.add(listen_to(&self.0, "click", How::default(), Box::new(Click(run))));
        self
    }

    /// Appends an element to one in the page.
    pub fn add(&self, child: &El) {
        let _ = self.0.append_child(&child.0);
    }

    /// Removes all it contains.
    pub fn clear(&self) {
        self.0.set_text_content(None);
    }

    /// Replaces all it contains.
    pub fn fill<'a>(&self, children: impl IntoIterator<Item = &'a El>) {
        self.clear();
        for child in children {
            self.add(child);
        }
    }

    /// Replaces its text if it is another.
    pub fn set_text(&self, text: &str) {
        if self.0.text_content().as_deref() != Some(text) {
            self.0.set_text_content(Some(text));
        }
    }

    /// Sets an attribute if it is another.
    pub fn set(&self, name: &str, value: &str) {
        if self.0.get_attribute(name).as_deref() != Some(value) {
            let _ = self.0.set_attribute(name, value);
        }
    }

    /// Sets an attribute to `true` or `false`.
    pub fn set_flag(&self, name: &str, value: bool) {
        self.set(name, if value { "true" } else { "false" });
    }

    /// Removes an attribute.
    pub fn unset(&self, name: &str) {
        let _ = self.0.remove_attribute(name);
    }

    /// Adds or removes one class.
    pub fn class_if(&self, class: &str, on: bool) {
        let _ = self.0.class_list().toggle_with_force(class, on);
    }

    /// Shows or hides it.
    pub fn show(&self, shown: bool) {
        if self.0.hidden() == shown {
            self.0.set_hidden(!shown);
        }
    }

    /// Sets a style property; scripts may, under the strict policy too.
    pub fn style(&self, name: &str, value: &str) {
        let _ = self.0.style().set_property(name, value);
    }

    /// Sets a style property; the building form.
    pub fn styled(self, name: &str, value: &str) -> El {
        self.style(name, value);
        self
    }

    /// Moves the focus here without scrolling.
    pub fn focus(&self) {
        let options = web_sys::FocusOptions::new();
        options.set_prevent_scroll(true);
        let _ = self.0.focus_with_options(&options);
    }

    /// Takes it out of the page.
    pub fn remove(&self) {
        self.0.remove();
    }

    /// Returns its width and height in CSS pixels.
    pub fn size(&self) -> (f64, f64) {
        (f64::from(self.0.client_width()), f64::from(self.0.client_height()))
    }
}

/// Returns the nearest ancestor of an event's target, or itself, that has this attribute, with its value.
pub fn closest(event: &Event, attribute: &str) -> Option<(Element, String)> {
    let target: Element = event.target()?.dyn_into().ok()?;
    let found = target.closest(&format!("[{attribute}]")).ok()??;
    let value = found.get_attribute(attribute)?;
    Some((found, value))
}

/// Returns whether the event's target takes text, so that letters are no commands there.
pub fn is_typing(event: &Event) -> bool {
    let Some(target) = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok()) else {
        return false;
    };
    match target.tag_name().as_str() {
        "TEXTAREA" | "SELECT" => true,
        "INPUT" => {
            let kind = target.get_attribute("type").unwrap_or_default();
            !matches!(kind.as_str(), "checkbox" | "radio" | "button" | "range" | "file")
        }
        _ => target.is_content_editable(),
    }
}

/// Waits for some milliseconds.
pub async fn pause(ms: i32) {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms);
    });
    let _ = wasm_bindgen_futures::JsFuture::from(promise).await;
}

/// Returns the text as bytes of a media type.
pub fn text_blob(text: &str, kind: &str) -> Option<Blob> {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    let parts = Array::of1(&JsValue::from_str(text));
    Blob::new_with_str_sequence_and_options(&parts, &options).ok()
}

/// Lets canvases and tables fit themselves: a moved line or a panel that came or went is like a window of another size.
pub fn moved() {
    spawn_local(async {
        if let Ok(event) = Event::new("resize") {
            let _ = window().dispatch_event(&event);
        }
    });
}
