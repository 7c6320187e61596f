//! Filters: made in the form, shown as chips, kept in the address, and the same requests as the binary finds.

use e2e::browser::{Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};

use super::drop::{native, shop};

async fn requests(page: &Page) -> Outcome<u64> {
    page.ready().await?;
    Ok(page.number("[data-test='range-requests']", "data-value").await? as u64)
}

async fn hash(page: &Page) -> Outcome<String> {
    Ok(page.run("return decodeURIComponent(location.hash)").await?.as_str().unwrap_or_default().to_owned())
}

pub async fn a_tag_filter_is_suggested_and_holds_in_every_view(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("view=flame").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.click("[data-test='add-filter']").await?;
    page.fill("[data-test='filter-key']", "version").await?;
    page.ready().await?;
    let options =
        "return [...document.querySelectorAll('#filter-value-list option')].map((o) => [o.value, o.text])";
    let offered =
        page.until("values of the tag", options, |list| list.as_array().is_some_and(|l| !l.is_empty()));
    let offered = offered.await?;
    let (value, beside) = (&offered[0][0], &offered[0][1]);
    let value = value.as_str().unwrap_or_default();
    page.picture("filter-form").await?;
    page.fill("[data-test='filter-value']", value).await?;
    page.key("Enter", Modifiers::None).await?;
    page.hidden("[data-test='filter-form']").await?;
    let shown = requests(page).await?;
    let tag = format!("version={value}");
    let report = native(&["critical-path", "--json", "--with-tag", &tag], &[&file])?;
    same("requests with the tag", Some(shown), report["requests"].as_u64())?;
    // The suggestion said how many there would be.
    let digits: String = beside.as_str().unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
    same("requests beside the suggestion", digits.parse().ok(), Some(shown))?;
    let nodes = page.number("[data-test='flame']", "data-nodes").await?;
    same("nodes", Some(nodes as usize), report["nodes"].as_array().map(Vec::len))?;
    let title = page.text("[data-test='flame-title']").await?;
    ensure(title.contains(value), || format!("the view does not say so: {title}"))?;
    let link = hash(page).await?;
    ensure(link.contains(&format!("tag.version={value}")), || format!("the address is {link}"))?;
    for view in ["findings", "heatmap", "requests"] {
        page.click(&format!("[data-test='view-{view}']")).await?;
        same(view, requests(page).await?, shown)?;
    }
    page.picture("filters").await?;
    page.click("[data-test='filter-chip'] button").await?;
    same("requests without a filter", requests(page).await?, 400)?;
    ensure(!hash(page).await?.contains("tag."), || "the filter is still in the address".to_owned())
}

pub async fn errors_calls_and_times_are_filters_too(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.click("[data-test='add-filter']").await?;
    // What is no tag is refused with the reason, and the form stays.
    page.fill("[data-test='filter-key']", "nonsense").await?;
    page.key("Enter", Modifiers::None).await?;
    let note = "return document.querySelector('[data-test=\"filter-note\"]').textContent";
    page.until("a reason", note, |text| text.as_str().is_some_and(|text| text.contains("No span"))).await?;
    page.click("[data-test='filter-error']").await?;
    let report = native(&["critical-path", "--json", "--with-error"], &[&file])?;
    same("requests with an error", Some(requests(page).await?), report["requests"].as_u64())?;
    page.click("[data-test='filter-chip'] button").await?;
    page.click("[data-test='add-filter']").await?;
    page.fill("[data-test='filter-endpoint']", "SELECT product_details").await?;
    let options = "return [...document.querySelectorAll('#filter-endpoint-list option')].map((o) => o.value)";
    let offered =
        page.until("endpoints", options, |list| list.as_array().is_some_and(|l| l.len() == 1)).await?;
    let endpoint = offered[0].as_str().unwrap_or_default().to_owned();
    page.fill("[data-test='filter-endpoint']", &endpoint).await?;
    page.click("[data-test='filter-endpoint-add']").await?;
    let service = endpoint.rsplit(" @ ").next().unwrap_or_default();
    let contains = format!("{service}:SELECT product_details");
    let report = native(&["critical-path", "--json", "--contains", &contains], &[&file])?;
    same("requests that call it", Some(requests(page).await?), report["requests"].as_u64())?;
    // The time range comes filled with all there is, and cuts nothing off.
    page.click("[data-test='filter-chip'] button").await?;
    page.click("[data-test='add-filter']").await?;
    page.click("[data-test='filter-time-add']").await?;
    same("requests of all times", requests(page).await?, 400)?;
    let chips = page.attributes("[data-test='filter-chip']", "title").await?;
    ensure(chips.len() == 1 && chips[0].starts_with("from "), || format!("chips {chips:?}"))
}

pub async fn a_search_by_tags_is_completed_counted_and_becomes_filters(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("view=flame").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.fill("[data-test='search']", "vers").await?;
    page.visible("[data-test='search-panel']").await?;
    page.key("ArrowDown", Modifiers::None).await?;
    page.key("Enter", Modifiers::None).await?;
    let value = "return document.querySelector('[data-test=\"search\"]').value";
    page.until("the key", value, |text| text == "version=").await?;
    // Its values, with the requests that have them.
    let options = "return [...document.querySelectorAll('[data-test=\"search-option\"]')].map((o) => o.firstChild.textContent)";
    let offered =
        page.until("values", options, |list| list.as_array().is_some_and(|l| !l.is_empty())).await?;
    let version = offered[0].as_str().unwrap_or_default().to_owned();
    page.key("ArrowDown", Modifiers::None).await?;
    page.picture("search-tags").await?;
    page.key("Enter", Modifiers::None).await?;
    page.until("the value", value, |text| text.as_str().is_some_and(|t| t.trim_end().ends_with(&version)))
        .await?;
    let tag = format!("version={version}");
    let report = native(&["critical-path", "--json", "--where", &tag], &[&file])?;
    let found = report["requests"].as_u64().unwrap_or_default();
    let total = "return document.querySelector('[data-test=\"search-total\"]').textContent.replace(/[\\u202f\\u2009]/g, '')";
    let said = format!("; {found} of 400 requests");
    page.until("the count", total, |text| text.as_str().is_some_and(|text| text.contains(&said))).await?;
    // Every view that lists spans, endpoints or requests shows what is found.
    for view in ["heatmap", "endpoints", "requests", "trace"] {
        page.click(&format!("[data-test='view-{view}']")).await?;
        page.ready().await?;
        let matches = "return document.querySelector('[data-test=\"search-matches\"]').textContent";
        page.until(view, matches, |text| {
            text.as_str().is_some_and(|t| t.contains("found") && !t.starts_with("0 "))
        })
        .await?;
    }
    // One key makes filters of it: those of tags one by one, and what has alternatives as a whole.
    page.fill("[data-test='search']", &format!("{tag} -error=true")).await?;
    page.key("Enter", Modifiers::Control).await?;
    page.ready().await?;
    let chips = page.attributes("[data-test='filter-chip']", "title").await?;
    same("chips", chips, vec![format!("version = {version}"), "-error=true".to_owned()])?;
    let report =
        native(&["critical-path", "--json", "--with-tag", &tag, "--where", "-error=true"], &[&file])?;
    same("requests that are left", Some(requests(page).await?), report["requests"].as_u64())?;
    page.until("an empty field", value, |text| text == "").await?;
    ensure(hash(page).await?.contains("where=-error=true"), || "the address lacks the filter".to_owned())?;
    // What cannot be found is said.
    page.fill("[data-test='search']", "colour=red").await?;
    let trouble = "return document.querySelector('[data-test=\"search-trouble\"]').textContent";
    page.until("why", trouble, |text| {
        text.as_str().is_some_and(|text| text.contains("No span has a tag colour"))
    })
    .await?;
    page.key("Escape", Modifiers::None).await?;
    page.hidden("[data-test='search-panel']").await
}
