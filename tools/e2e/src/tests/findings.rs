//! The findings: cards that say what the binary says, and lead to their evidence.

use e2e::browser::{Look, Modifiers, Page, plain};
use e2e::failure::{Outcome, ensure, same};
use serde_json::Value;

use super::drop::{native, open_tables};
use super::views::shop_at;

pub const VIEW: &str = "return document.documentElement.dataset.view";

pub async fn cards_say_what_the_binary_finds_and_lead_to_it(page: &Page) -> Outcome {
    let file = shop_at(page, "view=findings").await?;
    let report = native(&["findings", "--json"], &[&file])?;
    page.visible("[data-test='finding']").await?;
    // Some come later.
    page.hidden("[data-test='findings-coming']").await?;
    let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let kinds = page.attributes("[data-test='finding']", "data-kind").await?;
    let squeezed = |kind: &str| kind.replace('_', "").to_lowercase();
    same(
        "kinds",
        kinds.iter().map(|kind| squeezed(kind)).collect::<Vec<_>>(),
        findings.iter().map(|f| squeezed(f["kind"].as_str().unwrap_or_default())).collect::<Vec<_>>(),
    )?;
    let first = findings.first().cloned().unwrap_or_default();
    same("kind of a tail", findings.iter().any(|finding| finding["kind"] == "slow_tail"), true)?;
    // The block has it in short, and in full under *Why*. Names are links there and `operation @ service` here; numbers are
    // the same words.
    page.click("[data-test='finding-why'] summary").await?;
    page.until("the reasons", "return document.querySelector(\"[data-test='finding-why']\").open", |open| {
        *open == Value::Bool(true)
    })
    .await?;
    let text = page.text("[data-test='finding-why']").await?;
    for part in first["parts"].as_array().into_iter().flatten() {
        if let Some(number) = part["number"].as_str() {
            ensure(text.contains(&plain(number)), || format!("{number:?} is missing in {text:?}"))?;
        }
    }
    for (name, look) in
        [("findings-narrow", Look::NARROW), ("findings-dark", Look::DARK), ("findings", Look::DESKTOP)]
    {
        page.look(look).await?;
        let wide = page.run("return document.documentElement.scrollWidth - innerWidth").await?;
        ensure(wide.as_i64().is_some_and(|over| over <= 0), || format!("{name} is {wide} px too wide"))?;
        page.picture(name).await?;
    }
    open_row(page, "SlowTail").await?;
    page.click("[data-kind='SlowTail'] [data-test='finding-show']").await?;
    page.until("the comparison", VIEW, |view| view == "compare").await?;
    page.ready().await?;
    let hash = page.run("return location.hash").await?;
    ensure(hash.as_str().is_some_and(|hash| hash.contains("operation=")), || format!("address: {hash}"))?;
    page.run("history.back()").await?;
    page.until("the findings", VIEW, |view| view == "findings").await?;
    page.ready().await?;
    open_row(page, "SlowTail").await?;
    page.click("[data-kind='SlowTail'] [data-test='finding-example']").await?;
    page.until("the timeline", VIEW, |view| view == "trace").await?;
    Ok(())
}

/// Opens the row of a kind of finding, unless it is the block at the top or open already.
pub async fn open_row(page: &Page, kind: &str) -> Outcome {
    let row = format!("[data-kind='{kind}'] [data-test='finding-row']:not([open]) > summary");
    page.visible(&format!("[data-kind='{kind}']")).await?;
    let is_closed = page.run(&format!("return !!document.querySelector(\"{row}\")")).await?;
    if is_closed == true { page.click(&row).await } else { Ok(()) }
}

pub async fn views_begin_with_the_first_finding(page: &Page) -> Outcome {
    shop_at(page, "view=findings").await?;
    page.hidden("[data-test='findings-coming']").await?;
    let first = page.text(".finding-headline").await?;
    let cost = page.text(".finding-amount").await?;
    for view in ["flame", "endpoints", "requests"] {
        page.click(&format!("[data-test='view-{view}']")).await?;
        page.until("the view", VIEW, |shown| shown == view).await?;
        page.visible("[data-test='verdict-strip']").await?;
        let words = page.text("[data-test='verdict-strip']").await?;
        ensure(words.starts_with(&format!("{cost} {first}")), || {
            format!("{view}: {words:?} does not begin with {cost} {first:?}")
        })?;
    }
    page.click("[data-test='verdict-all']").await?;
    page.until("the findings", VIEW, |view| view == "findings").await?;
    page.hidden("[data-test='verdict-strip']").await
}

pub async fn a_search_dims_counts_and_steps_through_cards_too(page: &Page) -> Outcome {
    shop_at(page, "view=findings").await?;
    page.hidden("[data-test='findings-coming']").await?;
    open_tables(page).await?;
    page.visible("[data-test='top-endpoint']").await?;
    // An endpoint of the table that some cards name and some do not.
    let script = "const texts = [...document.querySelectorAll(\"[data-test='finding']\")].map((text) => text.textContent); \
        return [...document.querySelectorAll(\"[data-test='top-endpoint']\")].map((row) => row.dataset.operation) \
        .find((name) => texts.some((text) => text.includes(name)) && !texts.every((text) => text.includes(name)))";
    let name = page.run(script).await?;
    let name = name.as_str().unwrap_or_default();
    // Names have blanks: as one piece.
    page.fill("[data-test='search']", &format!("\"{name}\"")).await?;
    let found = "const [cards, dimmed] = ['', '.dimmed'].map((of) => document.querySelectorAll(`[data-test='finding']${of}`).length); \
        const named = [...document.querySelectorAll(\"[data-test='finding']:not(.dimmed)\")].every((card) => card.textContent.includes(NAME)); \
        const rows = Number(document.querySelector(\"[data-test='top-endpoints']\").dataset.rows); \
        return [cards, dimmed, named, rows, document.querySelector(\"[data-test='search-matches']\").textContent]";
    let found = found.replace("NAME", &Value::from(name).to_string());
    let is_there = |found: &Value| found[4].as_str().is_some_and(|words| words.contains("found"));
    let found = page.until("what is found", &found, is_there).await?;
    let [cards, dimmed, rows] = [0, 1, 3].map(|at| found[at].as_u64().unwrap_or_default());
    ensure(dimmed > 0 && dimmed < cards && found[2] == true, || format!("{name}: {found}"))?;
    let words = found[4].as_str().unwrap_or_default();
    ensure(words.starts_with(&format!("{} found", cards - dimmed + rows)), || format!("{name}: {found}"))?;
    page.key("Enter", Modifiers::None).await?;
    let at = "return [...document.querySelectorAll(\"[data-test='finding']:not(.dimmed)\")].findIndex((card) => card.ariaCurrent === 'true')";
    page.until("the first card", at, |at| at == 0).await?;
    // Behind the last card comes the table.
    for _ in 0..cards - dimmed {
        page.key("Enter", Modifiers::None).await?;
    }
    page.visible("[data-test='top-endpoints'] [aria-selected='true']").await?;
    page.until("no card", at, |at| at == -1).await.map(drop)
}

pub async fn tags_that_tell_the_slow_requests_filter_by_one_click(page: &Page) -> Outcome {
    let file = shop_at(page, "view=findings").await?;
    let report = native(&["findings", "--json"], &[&file])?;
    page.visible("[data-test='tag-row']").await?;
    let rows = page.attributes("[data-test='tag-row']", "aria-label").await?;
    let expected = report["tags"]["rows"].as_array().map_or(&[][..], Vec::as_slice);
    same("rows", rows.len(), expected.len())?;
    let tag = &expected.first().cloned().unwrap_or_default()["tags"][0];
    let name = format!(
        "{} = {}",
        tag["key"].as_str().unwrap_or_default(),
        tag["value"].as_str().unwrap_or_default()
    );
    let first = rows.first().cloned().unwrap_or_default();
    ensure(first.starts_with(&name), || format!("{name} is not first in {first}"))?;
    page.click("[data-test='tag-row']").await?;
    page.until("the filter", "return location.hash", |hash| {
        hash.as_str().is_some_and(|hash| hash.contains("tag"))
    })
    .await?;
    let chips = page.text("[data-test='chips']").await?;
    ensure(chips.contains(&name), || format!("{name} is no chip: {chips}"))?;
    // The bars of before are replaced by those of these requests.
    page.ready().await?;
    page.click("[data-test='share-service']").await?;
    page.until("the search", "return location.hash", |hash| {
        hash.as_str().is_some_and(|hash| hash.contains("search="))
    })
    .await?;
    Ok(())
}
