//! The ways the page is put before people.

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::routing::get;
use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::process::{Server, copy_page, dist, scratch, single};
use e2e::site::{Site, reply};
use serde_json::{Value, json};
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use super::access::VIEWS;
use super::drop::{shop, summary};
use super::jaeger::open_host;

/// Returns every address the page loaded anything from.
pub async fn addresses(page: &Page) -> Outcome<Vec<String>> {
    let script = "return performance.getEntries().filter((e) => e.name.includes('://')).map((e) => e.name)";
    Ok(serde_json::from_value::<Vec<String>>(page.run(script).await?)?)
}

pub async fn any_path_will_do_and_nothing_else_is_asked_for(page: &Page) -> Outcome {
    let host = scratch()?.join("host");
    copy_page(&host.join("tools/latency/page"))?;
    let server = Server::start(&host)?;
    let base = format!("{}tools/latency/page/", server.url);
    page.open(&base).await?;
    page.state("empty").await?;
    let asked = addresses(page).await?;
    ensure(asked.iter().any(|address| address.ends_with(".wasm")), || format!("no wasm among {asked:?}"))?;
    for address in asked {
        ensure(address.starts_with(&base), || format!("the page asked for {address}"))?;
    }
    Ok(())
}

pub async fn the_one_file_starts_from_disk_and_asks_for_nothing(page: &Page) -> Outcome {
    let address = single()?;
    page.open(&address).await?;
    page.state("empty").await?;
    for asked in addresses(page).await? {
        ensure(asked == address || asked.starts_with("blob:"), || format!("the page asked for {asked}"))?;
    }
    let policy = "return document.querySelector('meta[http-equiv]').content";
    let policy = page.run(policy).await?;
    ensure(
        policy.as_str().is_some_and(|policy| policy.starts_with("default-src 'none'; script-src 'sha256-")),
        || format!("the policy is {policy}"),
    )?;
    refuses_a_foreign_script(page).await?;
    let folder = scratch()?.join("from-disk");
    std::fs::create_dir_all(&folder)?;
    std::fs::copy(shop()?, folder.join("shop.json"))?;
    page.drop_files(&[folder]).await?;
    page.ready().await?;
    same("traces of a folder", summary(page).await?[0], 400)?;
    // That the page that lies in a folder is not possible there is said.
    page.leave().await?;
    page.client().goto(&address.replace("pathlight.html", "index.html")).await?;
    page.state("failed").await?;
    let said = page.text(".boot").await?;
    ensure(said.ends_with("open pathlight.html instead."), || format!("in a folder it says {said:?}"))?;
    page.complaints().await?;
    let host = host_of_utf8()?;
    page.open(&host.url).await?;
    page.state("empty").await
}

/// Puts the page in one file into a frame as a preview does.
const PREVIEW: &str = "const [made] = arguments; const frame = document.createElement('iframe'); \
    fetch('single').then((answer) => answer.arrayBuffer()).then((bytes) => { \
        if (made === 'blob') frame.src = URL.createObjectURL(new Blob([bytes], { type: 'text/html' })); \
        else frame.srcdoc = new TextDecoder().decode(bytes); \
        document.body.replaceChildren(frame); })";

pub async fn the_one_file_starts_in_previews_and_says_what_a_part_of_it_lacks(page: &Page) -> Outcome {
    let file = std::fs::read(dist().join("pathlight.html"))?;
    let whole = file.clone();
    let routes = Router::new()
        .route("/", get(|| async { reply(200, "text/html", "<!doctype html><title>Preview</title><body>") }))
        .route("/single", get(move || async move { reply(200, "text/html", whole) }));
    let host = Site::start(routes)?;
    page.client().goto(&host.url).await?;
    for made in ["srcdoc", "blob"] {
        page.client().execute(PREVIEW, vec![json!(made)]).await?;
        let state = "return document.querySelector('iframe')?.contentDocument?.documentElement?.dataset.state ?? null";
        page.until(&format!("a preview by {made}"), state, |state| *state == "empty").await?;
    }
    let folder = scratch()?;
    let open = async |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes)?;
        let file = folder.join(name).canonicalize()?;
        page.client().goto(&format!("file://{}", file.display())).await?;
        Outcome::Ok(())
    };
    open("cut.html", &file[..file.len() / 3 * 2]).await?;
    page.state("failed").await?;
    let said = page.text(".boot").await?;
    ensure(said.ends_with("the end of this file is missing."), || format!("a part of it says {said:?}"))?;
    // What a browser saves of a page that runs.
    page.open(&single()?).await?;
    page.state("empty").await?;
    let copy = page.run("return `<!doctype html>${document.documentElement.outerHTML}`").await?;
    open("copy.html", copy.as_str().unwrap_or_default().as_bytes()).await?;
    page.state("failed").await?;
    let said = page.text(".boot").await?;
    ensure(said.contains("use Save report in the page"), || format!("a copy says {said:?}"))?;
    page.complaints().await.map(drop)
}

/// Returns a host that declares another encoding than that of the page in one file.
pub fn host_of_utf8() -> Outcome<Site> {
    let file = std::fs::read(dist().join("pathlight.html"))?;
    let answer = move || async move { reply(200, "text/html; charset=utf-8", file) };
    Site::start(Router::new().route("/", get(answer)))
}

pub async fn a_host_without_headers_gets_the_policy_of_the_page(page: &Page) -> Outcome {
    let host = open_host()?;
    page.open(&format!("{}/page/", host.url)).await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    for view in VIEWS {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
    }
    refuses_a_foreign_script(page).await
}

pub async fn a_host_that_requires_trusted_types_is_no_matter(page: &Page) -> Outcome {
    let required = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                    worker-src 'self' blob:; img-src 'self' data: blob:; require-trusted-types-for 'script'";
    let listed = "require-trusted-types-for 'script'; trusted-types pathlight";
    for policy in [required, listed] {
        let policy =
            SetResponseHeaderLayer::overriding(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
        let host = Site::start(Router::new().fallback_service(ServeDir::new(dist())).layer(policy))?;
        page.open(&host.url).await?;
        page.drop_files(&[shop()?]).await?;
        page.ready().await?;
        same("traces", summary(page).await?[0], 400)?;
        page.click("[data-test='more']").await?;
        page.click("[data-test='offline']").await?;
        let pressed = "return document.querySelector(\"[data-test='offline']\").ariaChecked";
        page.until("the page to be kept", pressed, |pressed| pressed == "true").await?;
        page.leave().await?;
        ensure(page.complaints().await?.is_empty(), || "something is refused".to_owned())?;
    }
    Ok(())
}

/// Expects a policy to be in force that has refused nothing so far: a script that is not the page's own does not run.
async fn refuses_a_foreign_script(page: &Page) -> Outcome {
    let script = "const s = document.createElement('script'); s.textContent = 'window.foreign = 1'; \
                  document.body.append(s); return window.foreign || null";
    same("foreign script", page.run(script).await?, Value::Null)?;
    let complaints = page.complaints().await?;
    same("complaints about the foreign script", complaints.len(), 1)
}
