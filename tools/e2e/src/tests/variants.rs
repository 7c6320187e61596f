//! Variants of a flow, and the cheapest changes: the page's answers are the binary's.

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use serde_json::Value;

use super::drop::{generated, native, shop};
use super::flow::exported;

pub async fn variants_are_those_of_the_binary_with_what_decides_them(page: &Page) -> Outcome {
    let file = generated("serial.json", "--shape serial --traces 1200 --seed 2")?;
    let parent = "parents=%5B%22unit-17%22,%22GET%20/work%22%5D";
    page.open(&format!("view=flow&panel=variants&{parent}")).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let asked = ["flow", "--json", "--variants", "--parent", "unit-17:GET /work"];
    let said = native(&asked, &[&file])?;
    let variants = said["variants"].as_array().cloned().unwrap_or_default();
    same("variants", variants.len(), 2)?;
    let invocations = page.attributes("[data-test='variant']", "data-value").await?;
    let expected: Vec<String> = variants.iter().map(|of| of["invocations"].to_string()).collect();
    same("invocations", invocations, expected)?;
    let row = page.text("[data-test='variant'][data-row='0']").await?;
    ensure(row.contains("cache.hit=true"), || row.clone())?;
    let sentence = page.text("[data-test='variants-sentence']").await?;
    ensure(sentence.contains("come in 2 variants"), || sentence.clone())?;
    page.visible("[data-test='variants-chart']").await?;
    let json = exported(page, "[data-test='variants']", "json").await?;
    same("the export", serde_json::from_str::<Value>(&json)?, said)?;
    let svg = exported(page, "[data-test='variants']", "svg").await?;
    ensure(svg.starts_with("<svg") && svg.matches(">return<").count() == 2, || {
        "the SVG has no two flows".to_owned()
    })?;
    page.picture("flow-variants").await
}

pub async fn the_cheapest_changes_of_a_what_if_are_those_of_the_binary(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("view=flow").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let changes = ["own:edge-gateway=-50%", "own:storefront=-50%"];
    let what_if = ["flow", "--json", "--what-if", changes[0], "--what-if", changes[1]];
    let report = native(&what_if, &[&file])?;
    let p50 = |side: &str| report[side]["p50"].as_f64().unwrap_or_default();
    let target_us = ((p50("before") + p50("after")) / 2.0).ceil();
    let target = format!("p50={target_us}us");
    let options = changes.map(|change| format!("{change} costs 2.5"));
    let asked = ["flow", "--json", "--target", &target, "--option", &options[0], "--option", &options[1]];
    let said = native(&asked, &[&file])?;
    let choice = format!(
        "view=flow&panel=target&target=p50:{target_us}&prices=2.5,2.5&whatif=%5B%5B%22own:edge-gateway%22,-500000,0%5D,%5B%22own:storefront%22,-500000,0%5D%5D"
    );
    page.open(&choice).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let prices = page.attributes("[data-test='cheapest-price']", "value").await?;
    same("prices", prices, vec!["2.5".to_owned(); 2])?;
    let sentence = page.text("[data-test='cheapest-sentence']").await?;
    let words = format!("for {}, bring", said["cost"].as_f64().unwrap_or_default());
    ensure(sentence.contains(&words), || format!("{sentence} is not {said}"))?;
    ensure(sentence.ends_with("No cheaper set reaches it."), || sentence.clone())?;
    page.picture("flow-cheapest").await
}
