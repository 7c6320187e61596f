//! Charts that are saved as pictures: they say what they show, and show all of it.

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use serde_json::Value;

use super::drop::{generated, shop};

/// Keeps what the page saves as `window.saved`: the name and the Blob of each file.
async fn keep_saved(page: &Page) -> Outcome {
    let script = "window.saved = []; const blobs = new Map(); const make = URL.createObjectURL; \
        URL.createObjectURL = (blob) => { const url = make.call(URL, blob); blobs.set(url, blob); return url; }; \
        HTMLAnchorElement.prototype.click = function () { window.saved.push([this.download, blobs.get(this.href)]); }; \
        return true";
    page.run(script).await.map(drop)
}

/// Saves in a view; gives the name of the file and what `look` finds in it.
async fn saved(page: &Page, view: &str, format: &str, look: &str) -> Outcome<(String, Value)> {
    page.run("window.saved = []; return true").await?;
    for button in ["export", &format!("export-{format}")] {
        page.click(&format!("[data-test='{view}'] [data-test='{button}']")).await?;
    }
    let script = format!(
        "const [name, blob] = window.saved[0] ?? []; if (!blob) return null; \
         const look = {look}; return look(blob).then((found) => [name, found])"
    );
    let file = page.until("a file", &script, Value::is_array).await?;
    Ok((file[0].as_str().unwrap_or_default().to_owned(), file[1].clone()))
}

async fn saved_svg(page: &Page, view: &str) -> Outcome<(String, String)> {
    let (name, text) = saved(page, view, "svg", "(blob) => blob.text()").await?;
    Ok((name, text.as_str().unwrap_or_default().to_owned()))
}

pub async fn a_picture_of_two_sets_names_them_the_selection_and_the_date(page: &Page) -> Outcome {
    let after = generated("shop-after.json", "--traces 300 --spans 30 --shape mixed --seed 22")?;
    page.open("view=compare&against=set").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&after)).await?;
    page.ready().await?;
    keep_saved(page).await?;
    let (name, svg) = saved_svg(page, "compare-view").await?;
    same("name of the file", name.as_str(), "compare-A-shop-B-shop-after.svg")?;
    let date = format!("Exported from Pathlight on {}", today(page).await?);
    for words in ["Flame graph: A against B", "All requests", "A: shop; B: shop-after", &date, "slower"] {
        ensure(svg.contains(&format!(">{words}")) || svg.contains(&format!("{words}</text>")), || {
            format!("the picture does not say {words:?}: {}", svg.chars().take(1500).collect::<String>())
        })?;
    }
    // Other views show one side, and say which.
    page.click("[data-test='view-flame']").await?;
    page.ready().await?;
    page.click("[data-test='side-B']").await?;
    page.ready().await?;
    let (name, svg) = saved_svg(page, "flame-view").await?;
    same("name of the file", name.as_str(), "flame-graph-B-shop-after-All-requests.svg")?;
    ensure(svg.contains(">A: shop; B: shop-after. Side B is shown.</text>"), || svg.clone())
}

async fn today(page: &Page) -> Outcome<String> {
    let day = page.run("return new Date().toISOString().slice(0, 10)").await?;
    Ok(day.as_str().unwrap_or_default().to_owned())
}

/// Returns what of a picture does not depend on when it was saved.
fn timeless(svg: &str) -> Vec<&str> {
    svg.lines().filter(|line| !line.contains("Exported from Pathlight")).collect()
}

pub async fn a_picture_shows_the_whole_chart_whatever_is_in_sight(page: &Page) -> Outcome {
    let file = generated("deep.json", "--traces 20 --spans 60 --shape deep --seed 3")?;
    page.open("view=flame").await?;
    page.drop_files(&[file]).await?;
    page.ready().await?;
    keep_saved(page).await?;
    // Selected frames are marked, so one is selected before and after.
    page.click("[data-test='frame']:not([data-node='0'])").await?;
    page.ready().await?;
    let (_, whole) = saved_svg(page, "flame-view").await?;
    page.click("[data-test='zoom-selection']").await?;
    let zoomed = "return document.querySelector(\"[data-test='fit']\").disabled";
    page.until("a zoomed chart", zoomed, |disabled| *disabled == Value::Bool(false)).await?;
    let (_, svg) = saved_svg(page, "flame-view").await?;
    ensure(timeless(&svg) == timeless(&whole), || "what is zoomed away is missing".to_owned())?;
    // As PNG it is as large, in the pixels of the screen.
    let height =
        svg.split_once(" height=\"").and_then(|(_, rest)| rest.split('"').next()?.parse::<f64>().ok());
    let height = height.unwrap_or(0.0);
    let [.., canvas] = page.place("[data-test='flame']").await?;
    ensure(height > canvas, || format!("the chart, {height} px, is not higher than its {canvas} px"))?;
    let scale = page.run("return Math.max(devicePixelRatio, 1)").await?.as_f64().unwrap_or(1.0);
    let look = "(blob) => createImageBitmap(blob).then((image) => image.height)";
    let (name, found) = saved(page, "flame-view", "png", look).await?;
    same("name of the file", name.as_str(), "flame-graph-All-requests.png")?;
    same("height of the PNG", found.as_f64(), Some((height * scale).round()))
}
