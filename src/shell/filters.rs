//! Conditions on requests: chips that can be removed, and the form that adds one. They hold in every view.

use crate::dom::{self, El, Listeners, button, div, el, icon, span};
use crate::page::Page;
use crate::widgets::popover::Popover;
use pathlight_base::format::{self, counted, parse_utc};
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::requests::Filter;
use pathlight_engine::split::TagValuesReport;
use pathlight_trace::Endpoint;
use pathlight_view::say::selection::filter_words;
use pathlight_view::table::fits;
use web_sys::HtmlInputElement;

/// Suggestions at once; typing narrows them.
const SUGGESTED: usize = 100;

/// The form that adds a filter, under its button.
pub struct FilterForm {
    popover: Popover,
    key: Field,
    value: Field,
    endpoint: Field,
    from: El,
    to: El,
    error: El,
    note: El,
    /// Answers whose suggestions are shown: overview, tag values, what was typed.
    suggested: Option<(u64, u64, [String; 2])>,
    keep: Listeners,
}

/// Reads a filter out of its fields, or says what is wrong with them.
type Read = Box<dyn Fn(Page) -> Result<Filter, &'static str>>;

/// A field with suggestions.
#[derive(Clone)]
struct Field {
    input: El,
    list: El,
}

impl Field {
    fn new(name: &str, label: &str, hint: &str) -> Field {
        let id = format!("{name}-list");
        let input = input(name, "text", label).attr("placeholder", hint).attr("list", &id);
        Field { input, list: el("datalist").attr("id", &id) }
    }

    fn value(&self) -> String {
        value_of(&self.input)
    }

    /// Suggests values, each with what is said beside it.
    fn suggest(&self, values: impl Iterator<Item = (String, String)>) {
        self.list.clear();
        for (value, beside) in values.take(SUGGESTED) {
            self.list.add(&el("option").attr("value", &value).text(&beside));
        }
    }
}

fn input(name: &str, kind: &str, label: &str) -> El {
    el("input")
        .attr("type", kind)
        .attr("aria-label", label)
        .attr("spellcheck", "false")
        .attr("autocomplete", "off")
        .test(name)
}

fn value_of(input: &El) -> String {
    input.as_kind::<HtmlInputElement>().map(HtmlInputElement::value).unwrap_or_default()
}

fn set_value(input: &El, value: &str) {
    if let Some(input) = input.as_kind::<HtmlInputElement>() {
        input.set_value(value);
    }
}

/// Adds a filter, or takes the place of one that cannot stand beside it.
pub fn add(page: Page, filter: Filter) {
    page.change(|address| address.add_filter(filter));
}

/// Returns a chip with a button that removes it.
pub fn chip(page: Page, keep: &Listeners, text: &str, test: &str, remove: impl Fn(Page) + 'static) -> El {
    let off = button("")
        .class("quiet dismiss")
        .label(&format!("Remove {text}"))
        .node(&icon("M4 4l8 8M12 4l-8 8"))
        .on_click(keep, move || remove(page));
    div("chip").test(test).attr("title", text).child(&span("chip-text", text)).child(&off)
}

/// Returns the chips of filters.
pub fn chips(page: Page, keep: &Listeners) -> Vec<El> {
    let filters = page.address().filters.clone();
    let chip = |filter: Filter| {
        let text = filter_words(&filter);
        chip(page, keep, &text, "filter-chip", move |page| {
            page.change(|address| address.filters.retain(|known| *known != filter));
        })
    };
    filters.into_iter().map(chip).collect()
}

impl FilterForm {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> FilterForm {
        let keep = Listeners::default();
        let key = Field::new("filter-key", "Tag", "region");
        let value = Field::new("filter-value", "Value of the tag", "eu-west");
        let endpoint = Field::new("filter-endpoint", "Endpoint", "operation @ service");
        let time = |name: &str, label: &str| {
            input(name, "datetime-local", label).attr("step", "0.001").attr("title", "UTC")
        };
        let (from, to) = (time("filter-from", "From (UTC)"), time("filter-to", "Before (UTC)"));
        let error = button("Has an error").test("filter-error");
        let note = div("muted small form-note").attr("role", "status").test("filter-note");
        let panel = div("popover filter-form")
            .attr("role", "dialog")
            .attr("aria-label", "Add a filter")
            .test("filter-form");
        let field = |field: &Field| div("form-field").child(&field.input).child(&field.list);
        let rows = [
            row("Tag", &[&field(&key), &span("muted", "="), &field(&value)], "filter-tag-add"),
            row("Calls", &[&field(&endpoint)], "filter-endpoint-add"),
            row("Time", &[&from, &span("muted", "to"), &to], "filter-time-add"),
        ];
        panel.add(&div("form-title").text("Only requests that match, in every view"));
        rows.iter().for_each(|row| panel.add(row));
        panel.add(&div("form-row").child(&span("form-name", "Errors")).child(&error));
        panel.add(&note);
        let opened = key.input.clone();
        let open = button("+ filter")
            .class("add-filter")
            .attr("aria-haspopup", "dialog")
            .attr("title", "Look only at requests with a tag, an error, a call, or in a time range")
            .test("add-filter");
        let popover = Popover::new(&keep, open, panel, move || {
            opened.focus();
            page.refresh();
        });
        let form = FilterForm { popover, key, value, endpoint, from, to, error, note, suggested: None, keep };
        form.listen(page, &rows);
        form
    }

    /// Returns the button with its form.
    pub fn element(&self) -> &El {
        self.popover.element()
    }

    fn listen(&self, page: Page, rows: &[El; 3]) {
        let how = dom::How { active: true, ..dom::How::default() };
        let submit = |row: &El, read: Read| {
            let (popover, note) = (self.popover.clone(), self.note.clone());
            self.keep.add(dom::listen(row.html(), "submit", how, move |event| {
                event.prevent_default();
                match read(page) {
                    Ok(filter) => {
                        note.set_text("");
                        popover.close();
                        add(page, filter);
                    }
                    Err(why) => note.set_text(why),
                }
            }));
        };
        let (key, value) = (self.key.clone(), self.value.clone());
        submit(
            &rows[0],
            Box::new(move |page| {
                let (key, value) = (key.value(), value.value());
                let overview = page.overview_in_sight();
                match overview.iter().flat_map(|overview| &overview.tag_keys).find(|known| known.key == key) {
                    None => Err("No span has this tag; choose one of those suggested."),
                    Some(known) if known.high_cardinality => {
                        Err("This tag has too many values to filter by (an id, perhaps).")
                    }
                    Some(_) if value.is_empty() => Err("Choose a value of the tag."),
                    Some(_) => Ok(Filter::Tag { key, value }),
                }
            }),
        );
        let endpoint = self.endpoint.clone();
        submit(
            &rows[1],
            Box::new(move |page| {
                let text = endpoint.value();
                let overview = page.overview_in_sight();
                let mut known = overview.iter().flat_map(|overview| &overview.endpoints);
                known
                    .find(|known| format::endpoint(&known.service, &known.operation) == text)
                    .map(|known| Filter::Contains(Endpoint::new(&known.service, &known.operation)))
                    .ok_or("No such endpoint is loaded; choose one of those suggested.")
            }),
        );
        let (from, to) = (self.from.clone(), self.to.clone());
        submit(
            &rows[2],
            Box::new(move |_| {
                let read = |input: &El, none: u64| match value_of(input) {
                    text if text.is_empty() => Some(none),
                    text => parse_utc(&text),
                };
                match (read(&from, 0), read(&to, u64::MAX)) {
                    (Some(0), Some(u64::MAX)) => Err("Give a beginning, an end, or both."),
                    (Some(from_us), Some(to_us)) if from_us < to_us => Ok(Filter::Time { from_us, to_us }),
                    (Some(_), Some(_)) => Err("The end must be after the beginning."),
                    _ => Err("Write times as 2024-05-01T12:34:56.789."),
                }
            }),
        );
        let popover = self.popover.clone();
        self.keep.add(dom::listen(self.error.html(), "click", dom::How::default(), move |_| {
            popover.close();
            add(page, Filter::HasError);
        }));
        for field in [&self.key, &self.endpoint] {
            let key = self.key.clone();
            self.keep.add(dom::listen(field.input.html(), "input", dom::How::default(), move |_| {
                page.suggest_values_of(&key.value());
                page.refresh();
            }));
        }
    }

    /// Follows what is loaded and typed.
    pub fn update(&mut self, page: Page) {
        let Some(overview) = page.overview_in_sight().filter(|_| self.popover.is_open()) else { return };
        let typed = [self.key.value(), self.endpoint.value()];
        let values = page.queries().tag_values.fresh().filter(|values| values.key == typed[0]);
        let queries = page.queries();
        let revision = page.overview_revision();
        let now = Some((revision, queries.tag_values.revision(), typed));
        if self.suggested == now {
            return;
        }
        if self.suggested.as_ref().map(|known| known.0) != Some(revision) {
            self.new_times(&overview);
        }
        self.suggested = now;
        let Some((_, _, [key, endpoint])) = &self.suggested else { return };
        let keys =
            overview.tag_keys.iter().filter(|known| !known.high_cardinality && fits(key, &[&known.key]));
        self.key.suggest(keys.map(|known| {
            let few = !known.values.is_empty();
            (known.key.clone(), if few { counted(known.values.len() as u64, "value") } else { String::new() })
        }));
        self.value.suggest(
            values
                .iter()
                .flat_map(|values| &values.values)
                .map(|known| (known.value.clone(), counted(known.requests, "request"))),
        );
        self.value.input.set("data-values", &values.as_ref().map_or(0, |v| v.values.len()).to_string());
        let endpoints = overview
            .endpoints
            .iter()
            .map(|known| (format::endpoint(&known.service, &known.operation), counted(known.spans, "span")));
        self.endpoint.suggest(endpoints.filter(|(name, _)| fits(endpoint, &[name])));
        self.note.set_text(&note_of(&overview, key, values.as_deref()));
    }

    /// Fills in from when to when the loaded requests reach.
    fn new_times(&self, overview: &OverviewReport) {
        // Milliseconds; the end lies past the last one.
        let iso = |us: u64| format::moment(us).replace(' ', "T");
        set_value(&self.from, &iso(overview.start_us));
        set_value(&self.to, &iso(overview.end_us + 1000));
    }
}

/// Returns what is to be said about the tag that is typed.
fn note_of(overview: &OverviewReport, key: &str, values: Option<&TagValuesReport>) -> String {
    let known = overview.tag_keys.iter().find(|known| known.key == key);
    match (known, values) {
        (Some(known), _) if known.high_cardinality => {
            "This tag has too many values to filter by (an id, perhaps).".to_owned()
        }
        (Some(_), Some(values)) if values.values.is_empty() => "No request in sight has this tag.".to_owned(),
        (Some(_), Some(values)) => {
            let more = if values.others > 0 { " most common of many" } else { "" };
            format!(
                "{}{more}, with the requests that have them.",
                counted(values.values.len() as u64, "value")
            )
        }
        _ => String::new(),
    }
}

fn row(name: &str, fields: &[&El], test: &str) -> El {
    let add = button("Add").attr("type", "submit").label(&format!("Add a filter: {name}")).test(test);
    el("form").class("form-row").child(&span("form-name", name)).children(fields.iter().copied()).child(&add)
}
