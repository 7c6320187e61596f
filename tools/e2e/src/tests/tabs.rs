//! What browsers do to tabs: another page takes the place of this one and the user comes back, the same page stands in two
//! tabs.

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::site::{Site, reply};
use serde_json::Value;

use super::drop::{generated, shop, summary};

/// Waits until the page is up, as it is after a navigation.
async fn up(page: &Page) -> Outcome {
    let script =
        "return !!document.documentElement.dataset.state && !!document.querySelector('#app > .body')";
    page.until("the page to be up", script, |up| up == true).await.map(drop)
}

/// Returns what is loaded, and how many frames its flame graph has, both asked anew.
async fn contents(page: &Page) -> Outcome<([usize; 4], f64)> {
    page.go("view=findings").await?;
    page.ready().await?;
    let loaded = summary(page).await?;
    page.go("view=flame&range=10-90").await?;
    page.ready().await?;
    page.go("view=flame").await?;
    page.ready().await?;
    Ok((loaded, page.number("[data-test='flame']", "data-nodes").await?))
}

/// Expects that the start page names the file that was open, and that it can be dropped again.
async fn offered(page: &Page) -> Outcome {
    page.visible("[data-test='reopen']").await?;
    let words = page.text("[data-test='reopen']").await?;
    ensure(words.starts_with("shop.json was open"), || format!("the start says {words:?}"))?;
    page.drop_files(&[shop()?]).await?;
    page.visible("[data-test='flame-view']").await?;
    page.ready().await
}

pub async fn back_from_another_page_everything_is_there_or_offered_again(page: &Page) -> Outcome {
    // Of another site: pages of one are told from each other by what they keep.
    let other = Site::start(axum::Router::new().route(
        "/other",
        axum::routing::get(|| async { reply(200, "text/html", "<!doctype html><title>Other</title>other") }),
    ))?;
    page.open("view=flame").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    let whole = contents(page).await?;
    for round in 0..2 {
        page.run("addEventListener('pageshow', (event) => { window.cameBack = event.persisted })").await?;
        page.client().goto(&format!("{}other", other.url)).await?;
        page.client().back().await?;
        up(page).await?;
        let is_kept = page.run("return window.cameBack === true").await? == true;
        println!("back, round {round}: {}", if is_kept { "kept by the browser" } else { "loaded again" });
        if !is_kept {
            offered(page).await?;
        }
        page.ready().await?;
        same("what is loaded", contents(page).await?, whole)?;
        page.hidden("[data-test='message']").await?;
    }
    Ok(())
}

/// Opens the page in another tab.
async fn in_new_tab(page: &Page, fragment: &str) -> Outcome<fantoccini::wd::WindowHandle> {
    let tab = page.client().new_window(true).await?;
    switch(page, &tab.handle).await?;
    page.open(fragment).await?;
    Ok(tab.handle)
}

/// Looks at a tab, as a click on it would.
async fn switch(page: &Page, tab: &fantoccini::wd::WindowHandle) -> Outcome {
    page.client().switch_to_window(tab.clone()).await?;
    page.devtools("Page.bringToFront", Value::Object(Default::default())).await.map(drop)
}

pub async fn two_tabs_with_the_same_data_leave_each_other_alone(page: &Page) -> Outcome {
    let other = [generated("other-tab.json", "--traces 60 --spans 20 --seed 2")?];
    page.open("view=flame").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    let (whole, first) = (contents(page).await?, page.client().window().await?);
    let second = in_new_tab(page, "view=flame").await?;
    let tried = async {
        page.drop_files(&[shop()?]).await?;
        page.ready().await?;
        same("what the second has loaded", contents(page).await?, whole)?;
        // The second clears, loads something else, and looks at it; the first does not notice.
        page.click("[data-test='more']").await?;
        page.click("[data-test='clear']").await?;
        page.state("empty").await?;
        page.drop_files(&other).await?;
        page.ready().await?;
        same("traces of the second", contents(page).await?.0[0], 60)?;
        switch(page, &first).await?;
        same("what the first has loaded", contents(page).await?, whole)?;
        page.hidden("[data-test='message']").await?;
        // Each remembers what was open in it.
        page.client().refresh().await?;
        up(page).await?;
        offered(page).await?;
        same("what the first has loaded again", contents(page).await?, whole)?;
        switch(page, &second).await?;
        page.client().refresh().await?;
        up(page).await?;
        let words = page.text("[data-test='reopen']").await?;
        ensure(words.starts_with("other-tab.json was open"), || format!("the second says {words:?}"))
    };
    let tried = tried.await;
    // Whichever was looked at last, only the first stays.
    switch(page, &second).await?;
    page.client().close_window().await?;
    switch(page, &first).await?;
    tried
}
