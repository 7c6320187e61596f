//! The view of errors.

use e2e::browser::{Look, Page};
use e2e::failure::{Outcome, ensure, same};

use super::drop::{generated, native};
use super::views::shop_at;

pub async fn errors_are_said_drawn_and_listed_as_the_binary_has_them(page: &Page) -> Outcome {
    let file = shop_at(page, "view=errors").await?;
    let report = native(&["errors", "--json"], &[&file])?;
    page.visible("[data-test='errors-view']").await?;
    let words = page.text("[data-test='errors-words']").await?;
    let failing = report["requests_with_errors"].to_string();
    ensure(words.contains(&format!("Requests with errors: {failing} of")), || {
        format!("the page says {words:?}")
    })?;
    let nodes = report["nodes"].as_array().map_or(0, Vec::len);
    same(
        "nodes of the picture",
        page.number("[data-test='error-flame']", "data-nodes").await? as usize,
        nodes,
    )?;
    let rows: Vec<_> = (report["endpoints"].as_array().into_iter().flatten())
        .filter(|row| ["own", "propagated", "stopped"].iter().any(|kind| row[*kind] != 0))
        .collect();
    for (attribute, key) in
        [("data-operation", "operation"), ("data-own", "own"), ("data-saved", "latency_saved_us")]
    {
        let shown = page.attributes("[data-test='error-line']", attribute).await?;
        let expected = rows.iter().take(shown.len());
        let expected: Vec<String> = expected
            .map(|row| row[key].as_str().map_or_else(|| row[key].to_string(), str::to_owned))
            .collect();
        ensure(!shown.is_empty(), || "no endpoint is listed".to_owned())?;
        same(key, shown, expected)?;
    }
    // The selection is that of all views.
    page.click("[data-test='error-line']").await?;
    page.visible("[data-test='detail']").await?;
    for (name, look) in
        [("errors-narrow", Look::NARROW), ("errors-dark", Look::DARK), ("errors", Look::DESKTOP)]
    {
        page.look(look).await?;
        let wide = page.run("return document.documentElement.scrollWidth - innerWidth").await?;
        ensure(wide.as_i64().is_some_and(|over| over <= 0), || format!("{name} is {wide} px too wide"))?;
        page.picture(name).await?;
    }
    Ok(())
}

pub async fn without_errors_the_view_says_so(page: &Page) -> Outcome {
    let file = generated("healthy.json", "--traces 20 --spans 5 --shape wide --seed 3")?;
    page.open("view=errors").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let report = native(&["errors", "--json"], &[&file])?;
    same("requests with errors", report["requests_with_errors"].as_u64(), Some(0))?;
    same(
        "empty state",
        page.text("[data-test='errors-empty']").await?.as_str(),
        "No errors among 20 requests",
    )?;
    page.hidden("[data-test='errors-words']").await
}
