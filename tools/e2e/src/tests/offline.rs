//! Without a network.

use e2e::browser::Page;
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::firefox::Firefox;
use e2e::process::{Server, dist, scratch, single};
use e2e::webkit::WebKit;
use serde_json::{Value, json};

use super::access::VIEWS;
use super::drop::{generated, summary};
use super::hosting::host_of_utf8;

pub async fn a_kept_page_opens_without_its_server(page: &Page) -> Outcome {
    let server = Server::start(&dist())?;
    let address = server.url.clone();
    page.open(&address).await?;
    let kept = "return (await navigator.serviceWorker.getRegistrations()).length";
    same("registrations nobody asked for", page.run(kept).await?, Value::from(0))?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='offline']").await?;
    let pressed = "return document.querySelector(\"[data-test='offline']\").ariaChecked";
    page.until("the page to be kept", pressed, |pressed| pressed == "true").await?;
    drop(server);
    page.open(&address).await?;
    page.state("empty").await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 320)?;
    // Only the page itself is kept: the API of the same origin is not answered from a cache.
    let api = "return fetch('api/services').then(() => 'answered', () => 'nobody there')";
    same("API", page.run(api).await?, Value::from("nobody there"))?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='offline']").await?;
    page.until("the page to be forgotten", pressed, |pressed| pressed == "false").await?;
    same("caches", page.run("return caches.keys().then((names) => names.length)").await?, Value::from(0))?;
    // The server that is not there was asked, as it should be.
    page.complaints().await.map(drop)
}

pub async fn every_view_shows_the_same_in_webkit(page: &Page) -> Outcome {
    let Some(webkit) = WebKit::start().await? else {
        return page.skip("WEBKIT_DRIVER names no driver: `cargo xtask test e2e` installs Debian's");
    };
    let file = generated("shop.json", "--traces 400 --spans 30 --shape mixed --seed 21")?;
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let host = host_of_utf8()?;
    for address in [&single()?, &host.url, &page.base] {
        webkit.client.goto(address).await?;
        webkit.until("return document.documentElement.dataset.state ?? ''", "empty").await?;
    }
    webkit.choose("[data-test='file-input']", &file).await?;
    for view in VIEWS {
        let go = format!("location.hash = 'view={view}'");
        page.run(&go).await?;
        page.ready().await?;
        webkit.run(&go).await?;
        let idle = "const { state, busy, view } = document.documentElement.dataset; return `${state} ${busy} ${view}`";
        webkit.until(idle, &format!("ready false {view}")).await?;
        // Its window is no larger, and shows no more rows and columns.
        let (here, there) = (page.run(NUMBERS).await?, webkit.run(NUMBERS).await?);
        let known: Vec<&Value> = here.as_array().into_iter().flatten().collect();
        let shown: Vec<&Value> = there.as_array().into_iter().flatten().collect();
        ensure(shown.len() >= 4, || format!("{view} has {} numbers in WebKit", shown.len()))?;
        for number in shown {
            ensure(known.contains(&number), || format!("{view}: {number} is WebKit's alone"))?;
        }
        same(
            "errors",
            webkit.run("return document.querySelectorAll(\"[data-test='message']\").length").await?,
            json!(0),
        )?;
    }
    Ok(())
}

/// Everything on the findings that has a number and a name; how many columns a table has room for depends on the window.
const NUMBERS: &str = "return [...document.querySelectorAll('[data-value][data-test]')].filter((e) => \
                       e.checkVisibility() && !['memory', 'workers'].includes(e.dataset.test)) \
                       .map((e) => [e.dataset.test, e.dataset.value])";

pub async fn the_one_file_shows_the_same_numbers_in_firefox(page: &Page) -> Outcome {
    let file = generated("shop.json", "--traces 400 --spans 30 --shape mixed --seed 21")?;
    let address = single()?;
    page.open(&address).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let expected = page.run(NUMBERS).await?;
    ensure(expected.as_array().is_some_and(|numbers| numbers.len() > 20), || format!("only {expected}"))?;
    let mut firefox = Firefox::start()?;
    let host = host_of_utf8()?;
    for address in [&host.url, &address] {
        firefox.open(address)?;
        firefox.until("the start", "return document.documentElement.dataset.state", &json!("empty"))?;
    }
    firefox.type_into("[data-test='file-input']", &file.to_string_lossy())?;
    firefox.ready()?;
    same("numbers in Firefox", firefox.run(NUMBERS)?, expected)?;
    // Every view comes up there.
    for view in ["flame", "requests", "trace"] {
        firefox.run(&format!("location.hash = 'view={view}'"))?;
        firefox.until("the view", "return document.documentElement.dataset.view", &json!(view))?;
        firefox.ready()?;
    }
    let path = "[data-test='trace-latency']";
    ensure(
        firefox
            .run(&format!("return document.querySelector(\"{path}\")?.dataset.value ?? null"))?
            .is_string(),
        || "Firefox shows no trace".to_owned(),
    )
}

pub async fn a_page_that_is_old_says_so_once_a_newer_one_is_kept(page: &Page) -> Outcome {
    let folder = scratch()?.join("newer");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    for entry in std::fs::read_dir(dist())? {
        let path = entry?.path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap_or_default()))?;
        }
    }
    let server = Server::start(&folder)?;
    page.open(&server.url).await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='offline']").await?;
    let pressed = "return document.querySelector(\"[data-test='offline']\").ariaChecked";
    page.until("the page to be kept", pressed, |pressed| pressed == "true").await?;
    let look = "return document.querySelector(\"[data-test='newer']\").hidden";
    // The same page as before is no newer one.
    let asked = "const { active } = await navigator.serviceWorker.getRegistration(); active.postMessage('look');
                 await new Promise((done) => navigator.serviceWorker.addEventListener('message', done, { once: true }))";
    page.run(&format!("return (async () => {{ {asked} }})()")).await?;
    same("said of the same page", page.run(look).await?, Value::from(true))?;
    // The next version: its style sheet has another name.
    let index = std::fs::read_to_string(folder.join("index.html"))?;
    let at = index
        .find("href=\"style-")
        .map(|at| at + "href=\"style-".len())
        .ok_or_else(|| Failure("no style sheet".to_owned()))?;
    let hash = &index[at..at + 10];
    let newer = format!("{}{}", &hash[5..], &hash[..5]);
    std::fs::copy(folder.join(format!("style-{hash}.css")), folder.join(format!("style-{newer}.css")))?;
    std::fs::write(folder.join("index.html"), index.replace(hash, &newer))?;
    page.run("document.dispatchEvent(new Event('visibilitychange'))").await?;
    page.visible("[data-test='newer']").await?;
    page.picture("newer").await?;
    page.click("[data-test='newer-reload']").await?;
    let style = "return document.querySelector('link[rel=stylesheet]').href";
    page.until("the newer page", style, |style| style.as_str().is_some_and(|style| style.contains(&newer)))
        .await?;
    page.hidden("[data-test='newer']").await
}
