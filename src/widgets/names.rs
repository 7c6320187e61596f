//! Names of endpoints, traces and figures, written the same everywhere.

use crate::dom::{El, Listeners, button, div, el, service_color, span};
use crate::page::{Focus, Page};
use pathlight_backend::source::jaeger_id;
use pathlight_base::format;
use pathlight_base::statistics::LogHistogram;
use pathlight_trace::Endpoint;
use pathlight_view::say::glossary::{WORDS, terms};
use pathlight_view::say::sentence::{Part, Sentence};
use wasm_bindgen::prelude::*;
use web_sys::{Element, HtmlCollection};

/// Returns a dot in the colour of a service.
pub fn dot(service: &str) -> El {
    span("dot", "").styled("background", &service_color(service)).attr("aria-hidden", "true")
}

/// Returns an endpoint in one line: colour, operation, service; without an operation, the service.
pub fn endpoint(service: &str, operation: &str) -> El {
    if operation.is_empty() {
        return self::service(service);
    }
    div("endpoint")
        .attr("title", &format::endpoint(service, operation))
        .child(&dot(service))
        .child(&cut_in_the_middle(&format::printable(operation)))
        .child(&span("service", &format::printable(service)))
}

/// Returns a list of endpoints, each with some words; a click on one brings it into focus.
pub fn endpoint_list(page: Page, keep: &Listeners, rows: Vec<(Endpoint, String)>) -> El {
    let rows = rows.into_iter().map(|(of, words)| {
        let name = endpoint(&of.service, &of.operation);
        let focus = move || page.set_focus(Focus::Endpoint(of.clone()));
        let link = button("").class("link").child(&name).on_click(keep, focus);
        el("li").child(&link).child(&span("num", &words))
    });
    el("ul").children(&rows.collect::<Vec<El>>())
}

/// Characters of a name that stay at its end when it is cut, and how long it is at least to be cut there.
const TAIL: (usize, usize) = (11, 18);
/// The longest last segment of a path, or method of a service, that stays whole.
const LONGEST_SEGMENT: usize = 20;

/// Cuts an operation in the middle: long names often begin alike.
fn cut_in_the_middle(operation: &str) -> El {
    let length = operation.chars().count();
    if length < TAIL.1 {
        return span("operation", operation);
    }
    let segment = operation.rfind('/').filter(|at| {
        let rest = operation[*at..].chars().count();
        *at > 0 && (TAIL.0 / 2..=LONGEST_SEGMENT).contains(&rest)
    });
    let last = || operation.char_indices().nth(length - TAIL.0).map_or(0, |(at, _)| at);
    let (head, tail) = operation.split_at(segment.unwrap_or_else(last));
    el("span")
        .class("operation long")
        .styled("--tail", &tail.chars().count().to_string())
        .child(&span("head", head))
        .child(&span("tail", tail))
}

/// Returns a service in one line, with its colour.
pub fn service(service: &str) -> El {
    div("endpoint").child(&dot(service)).child(&span("operation", &format::printable(service)))
}

/// Returns the parts of a sentence; a click on an endpoint brings it into focus. No line begins with what ends a clause.
pub fn sentence(page: Page, keep: &Listeners, words: Sentence) -> Vec<El> {
    sentence_with(keep, words, move |endpoint| page.set_focus(Focus::Endpoint(endpoint.clone())))
}

/// Returns the parts of a sentence; a click on an endpoint opens it.
pub fn sentence_with(
    keep: &Listeners,
    words: Sentence,
    open: impl Fn(&Endpoint) + Clone + 'static,
) -> Vec<El> {
    let part = |part| match part {
        Part::Text(text) => span("", &text),
        Part::Number(number) => span("strong", &number),
        Part::Service(name) => service(&name),
        Part::Endpoint { service, operation } => {
            let name = endpoint(&service, &operation);
            let endpoint = Endpoint { service, operation };
            let open = open.clone();
            button("").class("link").child(&name).on_click(keep, move || open(&endpoint))
        }
    };
    let mut out: Vec<El> = Vec::new();
    let mut is_after_name = false;
    for mut next in words.parts {
        if let Part::Text(text) = &mut next
            && text.starts_with([',', '.', ';', ':', ')'])
            && let Some(name) = out.pop_if(|_| is_after_name)
        {
            let rest = text.split_off(1);
            // Within the name: beside one of several lines it would stand at the far end.
            out.push(name.child(&span("clause-end", text)));
            *text = rest;
        }
        is_after_name = matches!(next, Part::Endpoint { .. } | Part::Service(_));
        out.push(part(next));
    }
    out
}

/// Returns the beginning of an id, enough to tell it from others.
pub fn short_id(id: &str) -> String {
    let id = jaeger_id(id);
    if id.chars().count() > 12 {
        format!("{}\u{2026}", id.chars().take(8).collect::<String>())
    } else {
        id.to_owned()
    }
}

/// Returns a figure with its name, as in `p95 310 ms`; the number itself is there for tests.
pub fn figure(name: &str, test: &str, text: &str, value: &str) -> El {
    el("span")
        .class("figure")
        .child(&span("figure-name", name))
        .child(&span("figure-value", text).test(test).attr("data-value", value))
}

/// Returns a duration as a figure.
pub fn duration(name: &str, test: &str, us: f64) -> El {
    figure(name, test, &format::duration(us), &us.to_string())
}

const SVG: &str = "http://www.w3.org/2000/svg";

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = document, js_name = createElementNS)]
    fn create_element_ns(namespace: &str, tag: &str) -> Element;
}

/// Returns a word of the glossary as a quiet link to what explains it, by its place in [`WORDS`].
pub fn term(place: usize, text: &str) -> El {
    let (word, meaning) = WORDS[place];
    button(text)
        .class("term")
        .attr("title", meaning)
        .attr("data-word", word)
        .attr("data-own-enter", "")
        .test("term")
}

/// Longer titles are names that somebody made up.
const LONGEST_TITLE: usize = 1_000;

/// Makes links of the words of the glossary in the titles of a part of the page: of each word one, where it first stands.
pub fn link_terms(part: &El) {
    let part = part.html();
    let known = part.get_elements_by_class_name("term");
    let mut linked: Vec<String> = items(&known).filter_map(|term| term.get_attribute("data-word")).collect();
    let titles = ["title", "section-title", "note-line"].map(|class| part.get_elements_by_class_name(class));
    let heads = ["h3", "dt", "th"].map(|tag| part.get_elements_by_tag_name(tag));
    // What has elements is linked already, or a name. Keys of tags are not the page's words.
    let is_plain = |title: &Element| {
        title.first_element_child().is_none() && title.closest(".tags").ok().flatten().is_none()
    };
    for title in titles.iter().chain(&heads).flat_map(items).filter(is_plain) {
        let text = title.text_content().filter(|text| text.len() <= LONGEST_TITLE).unwrap_or_default();
        let found =
            terms(&text).into_iter().filter(|(_, word)| linked.iter().all(|known| known != WORDS[*word].0));
        let found: Vec<_> = found.collect();
        let Some(mut out) = title.dyn_into().ok().map(El::from_html).filter(|_| !found.is_empty()) else {
            continue;
        };
        out.clear();
        let mut from = 0;
        for (place, word) in found {
            linked.push(WORDS[word].0.to_owned());
            out = out.text(&text[from..place.start]).child(&term(word, &text[place.clone()]));
            from = place.end;
        }
        let _ = out.text(&text[from..]);
    }
}

/// Returns the elements of a list.
fn items(list: &HtmlCollection) -> impl Iterator<Item = Element> {
    (0..list.length()).filter_map(|at| list.item(at))
}

/// Returns filled areas, one behind the other, in a picture of this size.
pub fn areas((width, height): (f64, f64), paths: &[String]) -> Element {
    let svg = create_element_ns(SVG, "svg");
    let _ = svg.set_attribute("viewBox", &format!("0 0 {width} {height}"));
    let _ = svg.set_attribute("aria-hidden", "true");
    for path in paths {
        let area = create_element_ns(SVG, "path");
        let _ = area.set_attribute("d", path);
        let _ = svg.append_child(&area);
    }
    svg
}

/// Returns a histogram as small as a word.
pub fn spark(histogram: &LogHistogram) -> El {
    const WIDTH: f64 = 64.0;
    const HEIGHT: f64 = 16.0;
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / histogram.counts.len().max(1) as f64;
    let mut path = String::new();
    for (at, count) in histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        // What is there is seen, however little it is.
        let height = (*count as f64 / most * HEIGHT).max(1.0);
        path.push_str(&format!(
            "M{:.1} {HEIGHT}v-{height:.1}h{:.1}v{height:.1}z",
            at as f64 * step,
            (step - 0.4).max(0.6)
        ));
    }
    let svg = create_element_ns(SVG, "svg");
    let line = create_element_ns(SVG, "path");
    let _ = svg.set_attribute("viewBox", "0 0 64 16");
    let _ = svg.set_attribute("class", "spark");
    let _ = svg.set_attribute("aria-hidden", "true");
    let _ = line.set_attribute("d", &path);
    let _ = svg.append_child(&line);
    span("spark-box", "").node(&svg)
}
