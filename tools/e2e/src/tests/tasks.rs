//! The seven questions of `docs/tasks.md`, each answered within two clicks after traces are loaded.

use std::cell::Cell;

use e2e::browser::{Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};
use serde_json::Value;

use super::drop::generated;
use super::tables::catch_files;

/// What a question may take, once traces are loaded.
const CLICKS: u32 = 2;

/// A page on which clicks are counted.
struct Counted<'a> {
    page: &'a Page,
    clicks: Cell<u32>,
}

impl Counted<'_> {
    /// Opens the page with the demo.
    async fn with_demo(page: &Page) -> Outcome<Counted<'_>> {
        page.open("").await?;
        page.click("[data-test='demo']").await?;
        page.ready().await?;
        page.hidden("[data-test='findings-coming']").await?;
        Ok(Counted { page, clicks: Cell::new(0) })
    }

    /// Opens the page with two sets, of which the second is slower in one service.
    async fn with_two_sets(page: &Page) -> Outcome<Counted<'_>> {
        page.open("").await?;
        page.drop_files(&[generated("before.json", "--traces 300 --spans 30 --seed 5")?]).await?;
        page.ready().await?;
        let change = "--traces 300 --spans 30 --seed 6 --speed pricing:Pricing/GetPrices=+200%";
        let after = generated("after.json", change)?;
        page.drop_files_on("[data-test='drop-compare']", &[after]).await?;
        page.visible("[data-test='verdict']").await?;
        page.ready().await?;
        Ok(Counted { page, clicks: Cell::new(0) })
    }

    async fn click(&self, selector: &str) -> Outcome {
        self.clicks.set(self.clicks.get() + 1);
        self.page.click(selector).await?;
        self.page.ready().await
    }

    /// Opens the row of a finding, if it is not the first.
    async fn open_row(&self, kind: &str) -> Outcome {
        let row = format!("[data-kind='{kind}'] [data-test='finding-row']:not([open]) > summary");
        let script = format!("return !!document.querySelector(\"{row}\")");
        if self.page.run(&script).await? == true { self.click(&row).await } else { Ok(()) }
    }

    fn few_clicks(&self) -> Outcome {
        ensure(self.clicks.get() <= CLICKS, || format!("it took {} clicks", self.clicks.get()))
    }

    /// Checks that the answer stands there, within the clicks it may take, and takes a picture of it.
    async fn answered(&self, name: &str, selector: &str, words: &[&str]) -> Outcome {
        let text = self.page.text(selector).await?;
        for words in words {
            ensure(text.contains(words), || format!("{words:?} is missing in {text:?}"))?;
        }
        self.few_clicks()?;
        self.page.picture_of(&format!("task-{name}")).await
    }
}

pub async fn each_of_seven_questions_takes_at_most_two_clicks(page: &Page) -> Outcome {
    why_is_p99_slow(page).await?;
    which_service_is_it(page).await?;
    would_a_cache_help(page).await?;
    why_is_this_one_slow(page).await?;
    tell_a_colleague(page).await?;
    which_requests_are_hit(page).await?;
    only_this_customer(page).await
}

async fn why_is_p99_slow(page: &Page) -> Outcome {
    let counted = Counted::with_demo(page).await?;
    let words = ["SELECT product_details", "p99 of this request type would fall", "cache.hit = false"];
    counted.open_row("SlowTail").await?;
    counted.answered("p99", "[data-kind='SlowTail'] [data-test='finding-text']", &words).await?;
    // The evidence.
    counted.click("[data-kind='SlowTail'] [data-test='finding-show']").await?;
    counted.answered("p99-evidence", "[data-test='verdict']", &["catalog"]).await?;
    // The table below it says the same, although the search names an endpoint and no service.
    page.visible("[data-test='service-change']").await?;
    let services = page.attributes("[data-test='service-change']", "data-service").await?;
    same("first service", services.first().map(String::as_str), Some("catalog"))?;
    let dimmed = "return document.querySelector(\"[data-test='service-change']\").matches('.dimmed')";
    same("whether it stands back", page.run(dimmed).await?, Value::Bool(false))
}

async fn which_service_is_it(page: &Page) -> Outcome {
    let counted = Counted::with_two_sets(page).await?;
    counted.answered("culprit", "[data-test='verdict']", &["pricing's own work", "Pricing/GetPrices"]).await
}

async fn would_a_cache_help(page: &Page) -> Outcome {
    let counted = Counted::with_demo(page).await?;
    counted.click("[data-test='view-endpoints']").await?;
    let row = "[data-test='impact'][data-operation='SELECT product_details']";
    counted.click(row).await?;
    page.visible("[data-test='detail'] [data-test='savings']").await?;
    counted.answered("cache", "[data-test='detail'] [data-test='savings']", &["100", "p99"]).await?;
    // Without scrolling.
    let [_, top, _, height] = page.place("[data-test='detail'] [data-test='savings']").await?;
    let window = page.run("return innerHeight").await?.as_f64().unwrap_or_default();
    ensure(top + height <= window, || format!("the answer ends at {} px of {window}", top + height))
}

async fn why_is_this_one_slow(page: &Page) -> Outcome {
    let counted = Counted::with_demo(page).await?;
    counted.open_row("SlowTail").await?;
    counted.click("[data-kind='SlowTail'] [data-test='finding-example']").await?;
    counted.answered("one-trace", "[data-test='trace-title']", &["GET /product/{id}"]).await
}

async fn tell_a_colleague(page: &Page) -> Outcome {
    let counted = Counted::with_demo(page).await?;
    catch_files(page).await?;
    counted.click("[data-test='copy-findings']").await?;
    counted.answered("colleague", "[data-test='redaction']", &["Contains"]).await?;
    counted.click("[data-test='redact-note']").await?;
    let note = page.until("a text", "return window.caught[0] ?? null", Value::is_string).await?;
    let note = note.as_str().unwrap_or_default();
    for words in ["SELECT product\\_details", "](http"] {
        ensure(note.contains(words) || note.contains(&words.replace('\\', "")), || {
            format!("{words:?} is missing in {note}")
        })?;
    }
    counted.few_clicks()
}

async fn which_requests_are_hit(page: &Page) -> Outcome {
    let counted = Counted::with_two_sets(page).await?;
    counted.click("[data-test='view-findings']").await?;
    counted.click("[data-test='finding-hit']").await?;
    counted.answered("hit", "[data-test='filter-chip']", &["pricing"]).await?;
    let requests = page.number("[data-test='requests']", "data-rows").await?;
    ensure(requests > 10.0, || format!("{requests} requests are listed"))
}

async fn only_this_customer(page: &Page) -> Outcome {
    let counted = Counted::with_demo(page).await?;
    counted.click("[data-test='add-filter']").await?;
    page.fill("[data-test='filter-key']", "region").await?;
    page.fill("[data-test='filter-value']", "eu").await?;
    page.key("Enter", Modifiers::None).await?;
    page.ready().await?;
    counted.answered("one-customer", "[data-test='filter-chip']", &["region", "eu"]).await
}
