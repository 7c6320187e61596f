//! The data-quality panel: what is missing or wrong in the traces and in the files they came from, with examples.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::widgets::{controls, dialog};
use pathlight_base::format;
use pathlight_engine::queries::OverviewReport;
use pathlight_ingest::FileReport;
use pathlight_trace::ReadingRule;
use pathlight_view::address::TraceChoice;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::reading::quality::{ending, has_problems};
use pathlight_view::reading::words::Note;
use pathlight_view::{reading, sampling, summaries};
use web_sys::HtmlInputElement;

/// Files listed at most; those with problems come first.
const FILES_LISTED: usize = 500;

/// Shows the panel.
pub fn show(page: Page) {
    let Some(overview) = page.overview_in_sight() else { return };
    let close = button("Close").class("quiet").test("close-notes");
    let head = div("dialog-head").child(&el("h2").text("Data quality")).child(&close);
    let body = div("dialog-body");
    let keep = Listeners::default();
    let facts = reading::quality::facts(&overview);
    let is_summary = overview.summary.is_some();
    if let Some(summary) = &overview.summary {
        body.add(&el("h3").text("Summaries"));
        body.add(&el("p").test("summary-facts").text(&format!("{}.", summaries::facts(summary))));
        let list = el("ul").class("facts");
        for note in summaries::notes(summary) {
            list.add(&el("li").text(&note));
        }
        body.add(&list);
    } else {
        let side = page.compares_sets().then(|| ComparedSide::of_group(page.address().group()).name());
        body.add(&el("h3").text(&side.map_or("Traces".to_owned(), |side| format!("Traces of {side}"))));
    }
    if facts.is_empty() && !is_summary {
        body.add(
            &el("p")
                .class("muted")
                .text("No problems: every span lies inside its parent, every parent is there."),
        );
    }
    let list = el("dl").class("facts");
    // Those that the button counts first.
    let (odd, calm): (Vec<&Note>, Vec<&Note>) = facts.iter().partition(|fact| reading::quality::is_odd(fact));
    for fact in odd {
        add_fact(page, (&list, &close, &keep), &overview, fact);
    }
    body.add(&list);
    let list = el("dl").class("facts");
    for fact in &calm {
        add_fact(page, (&list, &close, &keep), &overview, fact);
    }
    let sequences = reading::words::sequences(&overview);
    for note in &sequences {
        let number = span("number", &format::count(note.calls))
            .test(note.test)
            .attr("data-value", &note.calls.to_string());
        list.add(&el("dt").child(&number).text(" calls that ").text(note.what));
        list.add(&el("dd").text(&note.words).child(&distribution(&note.bins)));
    }
    if !sequences.is_empty() || !calm.is_empty() {
        body.add(&el("h3").text("Also seen, and no fault"));
        body.add(&list);
    }
    if !is_summary {
        body.add(&el("h3").text("Reading"));
        body.add(&reading(page, &close, &keep));
        weights(page, &overview, &close, &keep).iter().for_each(|part| body.add(part));
        if let Some(switch) = incomplete(page, &overview, &close, &keep) {
            body.add(&switch);
        }
    }
    body.add(&el("h3").text("Files"));
    body.add(&files(page.loading().files()));
    let dialog = el("dialog")
        .class("notes")
        .test("notes")
        .attr("aria-label", "Data quality")
        .child(&head)
        .child(&body);
    dialog::open(&dialog, &close, keep);
}

/// Adds a fact to a list, with a button that closes the panel and opens an example.
fn add_fact(page: Page, (list, close, keep): (&El, &El, &Listeners), overview: &OverviewReport, fact: &Note) {
    let number = span("number", &format::count(fact.count))
        .test(&format!("quality-{}", fact.key))
        .attr("data-value", &fact.count.to_string());
    let is_grave = fact.key == "orphan-roots" && reading::words::left_out(&overview.quality).is_some();
    number.class_if("grave", is_grave);
    list.add(&el("dt").child(&number).text(" ").text(&fact.what));
    let mut meaning = el("dd").text(&fact.meaning);
    if !fact.example.is_empty() {
        let (trace_id, closing) = (fact.example.clone(), close.clone());
        let open = button("See one").class("link").test("quality-example").on_click(keep, move || {
            closing.html().click();
            page.open_trace(TraceChoice { trace_id: trace_id.clone(), ..TraceChoice::default() });
        });
        meaning = meaning.text(" ").child(&open);
    }
    list.add(&meaning);
}

/// Returns how many there are in each part of a distribution, as bars.
fn distribution(bins: &[(String, u64)]) -> El {
    let most = bins.iter().map(|(_, count)| *count).max().unwrap_or(1).to_string();
    let rows = bins.iter().map(|(range, count)| {
        let bar =
            el("meter").attr("max", &most).attr("value", &count.to_string()).attr("aria-hidden", "true");
        el("tr")
            .child(&el("td").class("num").text(range))
            .child(&el("td").child(&bar))
            .child(&el("td").class("num").text(&format::count(*count)))
    });
    el("table")
        .class("distribution")
        .test("overlap-distribution")
        .child(&rows.fold(el("tbody"), |body, row| body.child(&row)))
}

/// Switches of the rules for real traces. A change closes the panel: what it says is of the reading before.
fn reading(page: Page, close: &El, keep: &Listeners) -> El {
    let list = div("").attr("role", "group").attr("aria-label", "Rules for real traces");
    for rule in ReadingRule::ALL {
        let check = el("input").attr("type", "checkbox").test(&format!("rule-{}", rule.key()));
        let is_on = page.address().reading.has(rule);
        if let Some(input) = check.as_kind::<HtmlInputElement>() {
            input.set_checked(is_on);
        }
        let closing = close.clone();
        let check = check.on(keep, "change", move |_| {
            closing.html().click();
            page.change(|address| address.reading = address.reading.with(rule, !is_on));
        });
        list.add(&div("").child(&el("label").child(&check).text(" ").text(reading::words::rule_words(rule))));
    }
    list
}

/// Returns the menu of tags that may say weights, and what is wrong with the chosen one. What is loaded is read again by
/// another.
fn weights(page: Page, overview: &OverviewReport, close: &El, keep: &Listeners) -> Vec<El> {
    let chosen = page.address().weight_key.clone();
    let closing = close.clone();
    let menu = controls::select(keep, "weight-key", move |key| {
        closing.html().click();
        page.change(|address| address.weight_key = Some(key).filter(|key| !key.is_empty()));
    });
    controls::offer(
        &menu,
        &sampling::words::menu(overview, chosen.as_deref()),
        chosen.as_deref().unwrap_or_default(),
    );
    let label = el("label").text(sampling::words::MENU).text(" ").child(&menu);
    let missing = chosen.filter(|key| !overview.tag_keys.iter().any(|tag| tag.key == *key));
    let missing = missing.map(|key| {
        el("p").class("muted").test("weight-key-missing").text(&sampling::words::no_such_tag(&key))
    });
    std::iter::once(div("weight-key").child(&label)).chain(missing).collect()
}

/// Returns the switch for requests whose caller is not recorded, where they are left out or were asked for.
fn incomplete(page: Page, overview: &OverviewReport, close: &El, keep: &Listeners) -> Option<El> {
    let is_on = page.address().incomplete;
    if overview.outside.coverage.left_out == 0 && !is_on {
        return None;
    }
    let check = el("input").attr("type", "checkbox").test("incomplete");
    if let Some(input) = check.as_kind::<HtmlInputElement>() {
        input.set_checked(is_on);
    }
    let closing = close.clone();
    let check = check.on(keep, "change", move |_| {
        closing.html().click();
        page.change(|address| address.incomplete = !is_on);
    });
    let words = "Count requests whose caller is not recorded among all requests";
    Some(div("").child(&el("label").child(&check).text(" ").text(words)))
}

fn files(files: &[FileReport]) -> El {
    let mut order: Vec<&FileReport> = files.iter().collect();
    order.sort_by_key(|file| !has_problems(file));
    let rows = el("tbody");
    for file in order.iter().take(FILES_LISTED) {
        let name = el("td").class("file-name").child(&span("", &file.name));
        for problem in &file.problems {
            let example =
                format!("first at byte {}: {}", format::count(problem.example.offset), problem.example.text);
            name.add(
                &div("problem")
                    .test("problem")
                    .child(&span("number", &format::count(problem.count)))
                    .text(" ")
                    .text(problem.kind.explain())
                    .child(&div("example muted").text(&example)),
            );
        }
        if let Some(words) = file.keep.words() {
            name.add(&div("problem").test("file-kept").text(&format!("Only {words}, were kept.")));
        }
        if let Some(words) = ending(file) {
            name.add(&div("problem").test("file-ending").text(&words));
        }
        rows.add(
            &el("tr")
                .test("file")
                .child(&name)
                .child(&el("td").text(if file.format.is_empty() { format::DASH } else { &file.format }))
                .child(&el("td").class("num").text(&format::bytes(file.bytes)))
                .child(&el("td").class("num").text(&format::count(file.traces)))
                .child(&el("td").class("num").text(&format::count(file.spans))),
        );
    }
    let titles = ["File", "Format", "Size", "Traces", "Spans"];
    let head = el("tr").children(&titles.map(|title| {
        el("th")
            .attr("scope", "col")
            .class(if matches!(title, "File" | "Format") { "" } else { "num" })
            .text(title)
    }));
    let table = el("table").class("files").child(&el("thead").child(&head)).child(&rows);
    let all = div("").child(&table);
    if files.len() > FILES_LISTED {
        all.add(
            &el("p")
                .class("muted")
                .text(&format!("and {} more", format::count((files.len() - FILES_LISTED) as u64))),
        );
    }
    all
}
