//! The heat map: its rows and columns against the binary's, its clicks and its brush.

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};

use super::drop::{native, shop};

async fn heat_at(page: &Page, fragment: &str) -> Outcome<std::path::PathBuf> {
    let file = shop()?;
    page.open(fragment).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.visible("[data-test='heat-view']").await?;
    Ok(file)
}

pub async fn the_heat_map_has_the_rows_and_columns_of_the_binary(page: &Page) -> Outcome {
    let file = heat_at(page, "view=heatmap").await?;
    let report = native(&["heatmap", "--json"], &[&file])?;
    let rows = report["rows"].as_array().map_or(0, Vec::len);
    same("rows", page.number("[data-test='heat']", "data-rows").await? as usize, rows)?;
    same("columns", page.number("[data-test='heat']", "data-columns").await? as usize, 400)?;
    page.picture("heat-map").await?;
    // The sum of all cells is the sum of all latencies.
    let total: u64 = report["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .fold(0, |sum, row| sum + row["exclusive_us"]["sum"].as_u64().unwrap_or_default());
    let path = native(&["critical-path", "--json"], &[&file])?;
    same("sum of cells", Some(total), path["latency_sum_us"].as_u64())?;
    let values = page.attributes("[data-test='heat-row']", "data-value").await?;
    ensure(values.len() >= 5, || format!("only {} rows in the table", values.len()))?;
    let most = report["rows"].as_array().into_iter().flatten();
    let most = most.filter_map(|row| row["exclusive_us"]["sum"].as_u64()).max();
    same("largest row", values[0].parse().ok(), most)?;
    page.click("[data-test='rows-inclusive']").await?;
    page.click("[data-test='columns-start']").await?;
    page.ready().await?;
    let link = page.run("return location.hash").await?;
    let link = link.as_str().unwrap_or_default();
    ensure(link.contains("rows=inclusive-total") && link.contains("columns=start"), || {
        format!("the address is {link}")
    })?;
    // By a row: chosen in the table.
    page.click("[data-test='heat-row']").await?;
    page.click("[data-test='columns-row']").await?;
    page.ready().await?;
    page.picture("heat-map-by-row").await
}

pub async fn a_cell_opens_its_trace_and_a_brush_cuts_the_percentile_range(page: &Page) -> Outcome {
    let file = heat_at(page, "view=heatmap").await?;
    let [x, y, width, height] = page.place("[data-test='heat']").await?;
    let (left, right, middle) = (x + width * 0.7, x + width - 1.0, y + height / 2.0);
    page.move_to(left, middle).await?;
    page.visible("[data-test='tip']:not([hidden])").await?;
    page.drag((left, middle), (right + 20.0, middle)).await?;
    page.ready().await?;
    let shown = page.number("[data-test='range-requests']", "data-value").await? as u64;
    let link = page.run("return location.hash").await?;
    let range = link.as_str().unwrap_or_default().split("range=").nth(1).unwrap_or_default();
    let range = range.split('&').next().unwrap_or_default().to_owned();
    ensure(range.ends_with("-100"), || format!("the range is {range:?}"))?;
    let report = native(&["critical-path", "--json", "--over-all", "--range", &range], &[&file])?;
    same("requests of the brushed range", Some(shown), report["requests"].as_u64())?;
    same("columns", page.number("[data-test='heat']", "data-columns").await? as u64, shown)?;
    // Ordered by time, a brush is a filter of time.
    page.click("[data-test='columns-start']").await?;
    page.ready().await?;
    page.drag((left, middle), (right, middle)).await?;
    page.ready().await?;
    page.visible("[data-test='filter-chip']").await?;
    // The first row of the slowest request: a click leads to its timeline.
    page.go("view=heatmap").await?;
    page.ready().await?;
    page.click_at(right - 1.0, y + 44.0, 1).await?;
    page.visible("[data-test='timeline-view']").await?;
    page.ready().await?;
    let latency = page.number("[data-test='trace-latency']", "data-value").await? as u64;
    let report = native(&["critical-path", "--json"], &[&file])?;
    same("the slowest request", Some(latency), report["latency_us"]["max"].as_u64())
}

pub async fn rows_and_columns_that_are_alike_stand_together(page: &Page) -> Outcome {
    heat_at(page, "view=heatmap").await?;
    let extent = "const { rows, columns } = document.querySelector(\"[data-test='heat']\").dataset; return `${rows} ${columns}`";
    let before = page.run(extent).await?;
    page.click("[data-test='columns-alike']").await?;
    let choose = "const list = document.querySelector(\"[data-test='rows-stat']\"); list.value = 'alike'; \
                  list.dispatchEvent(new Event('change', { bubbles: true }))";
    page.run(choose).await?;
    page.ready().await?;
    same("rows and columns", page.run(extent).await?, before)?;
    let hash = page.run("return location.hash").await?;
    ensure(
        ["rows=alike", "columns=alike"]
            .iter()
            .all(|part| hash.as_str().is_some_and(|hash| hash.contains(part))),
        || format!("the address is {hash}"),
    )?;
    page.picture("heat-map-alike").await?;
    // No range of latencies is what is brushed here: the columns alone are shown.
    let [x, y, width, height] = page.place("[data-test='heat']").await?;
    page.drag((x + width * 0.5, y + height / 2.0), (x + width * 0.7, y + height / 2.0)).await?;
    page.ready().await?;
    let after = page.run("return location.hash").await?;
    same("the address after a brush", after, hash)
}
