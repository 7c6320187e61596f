//! Rows nobody knows: a guess of what their fields are, corrected by menus, remembered, and saved for the binary.

use std::path::PathBuf;

use e2e::browser::{Page, plain};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::{root, scratch};
use serde_json::{Value, json};

use super::drop::{native, summary};
use super::tables::{catch_files, caught};

/// The roles of fields, in the order of their menus.
const ROLES: [&str; 8] = ["trace", "span", "parent", "service", "name", "start", "end", "duration"];

fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures/guess").join(name)
}

/// Drops a file that is not read, and opens the dialog about its fields.
async fn ask_about(page: &Page, name: &str) -> Outcome {
    page.drop_files(&[fixture(name)]).await?;
    page.visible("[data-test='message-map']").await?;
    page.click("[data-test='message-map']").await?;
    page.visible("[data-test='mapping']").await
}

/// Chooses an option of a menu of the dialog.
async fn choose(page: &Page, menu: &str, value: &str) -> Outcome {
    page.choose(&format!("[data-test='mapping-{menu}']"), value).await
}

/// Returns what the menus say, those without a field left out.
async fn chosen(page: &Page) -> Outcome<Vec<String>> {
    let script = format!(
        "return {}.map((role) => [role, document.querySelector(`[data-test='mapping-${{role}}']`).value, \
         document.querySelector(`[data-test='mapping-${{role}}-unit']`)?.value ?? ''])",
        json!(ROLES)
    );
    let menus = page.run(&script).await?;
    let menus = menus.as_array().into_iter().flatten().filter(|menu| menu[1] != "");
    let words = |menu: &Value| {
        let word = |at: usize| menu[at].as_str().unwrap_or_default();
        [word(0), word(1), word(2)].join(" ").trim_end().to_owned()
    };
    Ok(menus.map(words).collect())
}

/// Returns the cells of the first rows, as they are read.
async fn rows(page: &Page) -> Outcome<Vec<Vec<String>>> {
    let script = "return [...document.querySelectorAll(\"[data-test='mapping-rows'] tr\")].slice(1) \
                  .map((row) => [...row.cells].map((cell) => cell.textContent))";
    let rows: Vec<Vec<String>> = serde_json::from_value(page.run(script).await?)?;
    Ok(rows.into_iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect())
}

/// Counts traces and spans as the binary reads a file by a mapping.
fn counted(name: &str, mapping: &std::path::Path) -> Outcome<[usize; 2]> {
    let mapping = mapping.to_string_lossy().into_owned();
    let read = native(&["inspect", "--json", "--map", &mapping], &[&fixture(name)])?;
    Ok(["traces", "spans"].map(|key| read[key].as_u64().unwrap_or(0) as usize))
}

pub async fn a_guess_is_shown_with_its_first_rows_and_corrected_by_menus(page: &Page) -> Outcome {
    page.open("").await?;
    for (name, right) in [
        ("04-nested.json", "04-nested.map"),
        ("02-german.csv", "02-german.map"),
        ("01-request-log.ndjson", "01-request-log.map"),
    ] {
        ask_about(page, name).await?;
        let right = std::fs::read_to_string(fixture(right))?;
        let lines = || right.lines().filter(|line| ROLES.iter().any(|role| line.starts_with(role)));
        let said = chosen(page).await?;
        // Of times in text the unit says nothing.
        for line in lines() {
            ensure(said.iter().any(|said| said.starts_with(line)), || {
                format!("{name}: {line} is not in {said:?}")
            })?;
        }
        same("menus with a field", said.len(), lines().count())?;
        same("first rows", rows(page).await?.len(), 5)?;
        page.click("[data-test='mapping-close']").await?;
        page.hidden("[data-test='mapping']").await?;
        page.click("[data-test='message-dismiss']").await?;
        page.hidden("[data-test='message']").await?;
    }
    // What is changed is seen at once.
    ask_about(page, "01-request-log.ndjson").await?;
    let first = "r-1|a757b0||gate|POST /order";
    let row = |rows: Vec<Vec<String>>| rows[0].join("|");
    let before = row(rows(page).await?);
    ensure(before.starts_with(first) && before.ends_with("|299 ms"), || before.clone())?;
    choose(page, "duration-unit", "s").await?;
    let after = row(rows(page).await?);
    ensure(after.starts_with(first) && !after.ends_with("|299 ms"), || after.clone())?;
    choose(page, "duration-unit", "ms").await?;
    choose(page, "name", "app").await?;
    same("the first row", row(rows(page).await?), before.replace("POST /order", "gate"))?;
    choose(page, "name", "op").await?;
    // Without a duration or an end there is nothing to read.
    choose(page, "duration", "").await?;
    let said = page.text("[data-test='mapping-problem']").await?;
    ensure(said.contains("the duration or the end"), || said.clone())?;
    same("rows", rows(page).await?.len(), 0)?;
    for button in ["read", "save"] {
        let script = format!("return document.querySelector(\"[data-test='mapping-{button}']\").disabled");
        same(button, page.run(&script).await?, json!(true))?;
    }
    choose(page, "duration", "took").await?;
    page.picture("mapping").await?;
    page.click("[data-test='mapping-read']").await?;
    page.ready().await?;
    page.hidden("[data-test='message']").await?;
    let [traces, spans, ..] = summary(page).await?;
    let right = counted("01-request-log.ndjson", &fixture("01-request-log.map"))?;
    same("traces and spans", [traces, spans], right)
}

pub async fn a_mapping_is_remembered_for_its_shape_and_saved_for_the_binary(page: &Page) -> Outcome {
    page.open("").await?;
    ask_about(page, "01-request-log.ndjson").await?;
    catch_files(page).await?;
    let text = caught(page, &["[data-test='mapping-save']"]).await?;
    let saved = scratch()?.join("request-log.map");
    std::fs::write(&saved, &text)?;
    let right = counted("01-request-log.ndjson", &fixture("01-request-log.map"))?;
    same("what the binary reads by the saved file", counted("01-request-log.ndjson", &saved)?, right)?;
    page.click("[data-test='mapping-read']").await?;
    page.ready().await?;
    // After a reload rows of this form are read, and others are asked about.
    page.leave().await?;
    page.open("").await?;
    page.drop_files(&[fixture("01-request-log.ndjson")]).await?;
    page.ready().await?;
    let [traces, spans, ..] = summary(page).await?;
    same("traces and spans", [traces, spans], right)?;
    page.hidden("[data-test='message']").await?;
    ask_about(page, "05-seconds.json").await
}
