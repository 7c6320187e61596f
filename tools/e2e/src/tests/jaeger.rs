//! Fetching from a Jaeger query service: both dialects, many traces, trouble and its cure, links that reproduce.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::HeaderValue;
use e2e::browser::{KEPT, Page};
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::jaeger::{CUT, Jaeger, Login, Ways, spans};
use e2e::process::{Server, dist};
use serde_json::Value;

use super::drop::{generated, summary};

const MESSAGE: &str = "[data-test='fetch-message']";
const CURES: &str = "[data-test='fetch-cures']";

/// A Jaeger with so many traces, a service and an operation to search for, and the time range of all traces.
pub struct Stage {
    jaeger: Jaeger,
    document: Value,
    /// A service of its traces.
    pub service: String,
    operation: String,
    /// Earliest and latest start, in microseconds since the epoch.
    pub range: (u64, u64),
}

impl Stage {
    /// Starts a Jaeger with so many traces that behaves like this.
    pub fn new(traces: usize, ways: Ways) -> Outcome<Stage> {
        let file = generated("jaeger.json", &format!("--traces {traces} --spans 6 --shape mixed --seed 7"))?;
        let document: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let jaeger = Jaeger::start(&document, ways)?;
        let traces = document["data"].as_array().into_iter().flatten();
        let starts = traces.flat_map(spans).filter_map(|(_, span)| span["startTime"].as_u64());
        let range = starts.fold((u64::MAX, 0), |(from, to), us| (from.min(us), to.max(us)));
        let (service, span) =
            spans(&document["data"][0]).next().ok_or_else(|| Failure("no span".to_owned()))?;
        let operation = span["operationName"].as_str().unwrap_or_default().to_owned();
        Ok(Stage { jaeger, service: service.to_owned(), operation, range, document })
    }

    /// Returns the traces with the service, and with the operation of it if that is asked for.
    pub fn matching(&self, with_operation: bool) -> usize {
        let fits = |(service, span): (&str, &Value)| {
            service == self.service && (!with_operation || span["operationName"] == self.operation)
        };
        let traces = self.document["data"].as_array().into_iter().flatten();
        traces.filter(|trace| spans(trace).any(fits)).count()
    }

    fn ids(&self) -> Vec<&str> {
        let traces = self.document["data"].as_array().into_iter().flatten();
        traces.filter_map(|trace| trace["traceID"].as_str()).collect()
    }

    /// Returns the fragment of a search for the service.
    fn search(&self, api: &str, limit: usize) -> String {
        let (from, to) = self.range;
        format!("api={api}&service={}&start={from}&end={to}&limit={limit}", self.service)
    }

    /// Starts `pathlight serve` before this Jaeger.
    pub fn proxy(&self) -> Outcome<Server> {
        Server::start_with(&dist(), &["--jaeger", &self.jaeger.url])
    }
}

/// Returns the ways of Jaeger 1.
pub fn old() -> Ways {
    Ways { v1: true, ..Ways::default() }
}

/// Starts a host of the page without a policy.
pub fn open_host() -> Outcome<Jaeger> {
    let files = [("/page/".to_owned(), dist())].into();
    Jaeger::start(&Value::Null, Ways { files, ..Ways::default() })
}

/// Waits until a fetch is in this phase.
pub async fn phase(page: &Page, phase: &str) -> Outcome {
    page.visible(&format!("[data-test='fetch'][data-phase='{phase}']")).await
}

/// Forgets failed requests, which are the point of a test: the browser writes each down.
async fn forgive(page: &Page) -> Outcome {
    page.complaints().await.map(drop)
}

async fn says(page: &Page, words: &[&str]) -> Outcome {
    // Cures stand there only where something went wrong.
    let cures = page.run(&format!("return document.querySelector(\"{CURES}\")?.textContent ?? ''")).await?;
    let text = format!("{} {}", page.text(MESSAGE).await?, cures.as_str().unwrap_or_default());
    for word in words {
        ensure(text.contains(word), || format!("{word:?} is not in {text:?}"))?;
    }
    Ok(())
}

pub async fn both_dialects_give_the_same_traces_and_a_link_reproduces_them(page: &Page) -> Outcome {
    let stage = Stage::new(120, old())?;
    let server = stage.proxy()?;
    let operation = url::form_urlencoded::byte_serialize(stage.operation.as_bytes()).collect::<String>();
    let search = stage.search("/jaeger", 400);
    for (v1, v3) in [(true, false), (false, true)] {
        (stage.jaeger.ways().v1, stage.jaeger.ways().v3) = (v1, v3);
        page.open(&format!("{}#view=findings&{search}&operation={operation}", server.url)).await?;
        page.ready().await?;
        phase(page, "ended").await?;
        same("traces", summary(page).await?[0], stage.matching(true))?;
    }
    // The search's endpoint is the root endpoint; another one gets a key of its own, and the link still finds the same.
    ensure(page.text("[data-test='root-endpoint']").await?.contains(&stage.operation), || {
        "another root endpoint".to_owned()
    })?;
    let hash = page.run("return location.hash").await?;
    let asked = stage.jaeger.log().len();
    page.open(&format!("{}{}", server.url, hash.as_str().unwrap_or_default())).await?;
    page.ready().await?;
    same("traces of the link", summary(page).await?[0], stage.matching(true))?;
    ensure(stage.jaeger.log().len() > asked, || "the link fetched nothing".to_owned())?;
    forgive(page).await
}

pub async fn tempo_is_searched_directly_and_through_grafana(page: &Page) -> Outcome {
    let base = "/api/datasources/proxy/uid/abc";
    for (base, tempo) in [("", true), (base, true), (base, false)] {
        let files = [("/page/".to_owned(), dist())].into();
        let (v1, v3) = (!tempo, !tempo);
        let ways = Ways { tempo, v1, v3, base: base.to_owned(), files, ..Ways::default() };
        let stage = Stage::new(120, ways)?;
        let here = format!("{}/page/#", stage.jaeger.url);
        let id = stage.ids()[3];
        let operation = url::form_urlencoded::byte_serialize(stage.operation.as_bytes()).collect::<String>();
        let api = if base.is_empty() { "/" } else { base };
        // A link of Grafana names one trace; there is no Jaeger UI to lead back to.
        page.open(&format!("{here}view=trace&api={api}&traceID={id}")).await?;
        phase(page, "ended").await?;
        page.ready().await?;
        same("traces", page.text(MESSAGE).await?, "1 trace fetched.".to_owned())?;
        page.visible(".trace-title").await?;
        page.hidden("[data-test='jaeger-link']").await?;
        page.open(&format!("{here}view=findings&{}&operation={operation}", stage.search(api, 400))).await?;
        phase(page, "ended").await?;
        page.ready().await?;
        same("traces", summary(page).await?[0], stage.matching(true))?;
        // The newest of many, in slices.
        page.open(&format!("{here}{}", stage.search(api, 30))).await?;
        phase(page, "ended").await?;
        page.ready().await?;
        same("traces within the limit", summary(page).await?[0], 30.min(stage.matching(false)))?;
        forgive(page).await?;
    }
    Ok(())
}

pub async fn a_login_is_told_from_a_dead_address(page: &Page) -> Outcome {
    let files = [("/page/".to_owned(), dist())].into();
    let stage = Stage::new(40, Ways { files, base: "/jaeger".to_owned(), ..old() })?;
    let elsewhere = Jaeger::start(&Value::Null, Ways::default())?;
    for login in [Login::Elsewhere(format!("{}/login", elsewhere.url)), Login::Here] {
        stage.jaeger.ways().login = Some(login);
        page.open(&format!("{}/page/#{}", stage.jaeger.url, stage.search("/jaeger", 100))).await?;
        phase(page, "failed").await?;
        says(page, &["answers with a login", "then retry"]).await?;
        let links = page.attributes("[data-test='fetch-login']", "href").await?;
        same("way out", links, vec![format!("{}/jaeger", stage.jaeger.url)])?;
        stage.jaeger.ways().login = None;
        page.click("[data-test='fetch-retry']").await?;
        phase(page, "ended").await?;
        page.ready().await?;
        same("traces", summary(page).await?[0], stage.matching(false))?;
        forgive(page).await?;
    }
    Ok(())
}

pub async fn many_traces_come_in_slices(page: &Page) -> Outcome {
    // Slow enough that requests overlap.
    let stage = Stage::new(1300, Ways { delay: Duration::from_millis(100), ..old() })?;
    let server = stage.proxy()?;
    page.open(&format!("{}#{}", server.url, stage.search("/jaeger", 5000))).await?;
    phase(page, "ended").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], stage.matching(false))?;
    let log = stage.jaeger.log();
    ensure(log.len() > 6 && log.len() < 40, || format!("{} requests", log.len()))?;
    ensure((2..=6).contains(&stage.jaeger.most_open()), || format!("{} at once", stage.jaeger.most_open()))?;
    says(page, &["all that fit"]).await?;
    // A limit gives the newest.
    page.open(&format!("{}#{}", server.url, stage.search("/jaeger", 700))).await?;
    phase(page, "ended").await?;
    page.ready().await?;
    same("traces within the limit", summary(page).await?[0], 700.min(stage.matching(false)))
}

pub async fn traces_are_fetched_by_id_and_link_back(page: &Page) -> Outcome {
    let stage = Stage::new(20, old())?;
    let server = stage.proxy()?;
    let ids = stage.ids();
    let fragment = format!("view=trace&api=/jaeger&traceID={}&traceID={}&traceID=fff1", ids[3], ids[5]);
    page.open(&format!("{}#{fragment}", server.url)).await?;
    phase(page, "ended").await?;
    page.ready().await?;
    same("traces", page.text(MESSAGE).await?, "2 traces fetched.".to_owned())?;
    says(page, &["no trace 000000000000fff1"]).await?;
    let links = page.attributes(".trace-title [data-test='jaeger-link']", "href").await?;
    same("links back", links, vec![format!("{}jaeger/trace/{:0>16}", server.url, ids[3])])?;
    let links = page.attributes("a[target='_blank']", "rel").await?;
    ensure(links.iter().all(|rel| rel.contains("noopener")), || format!("{links:?}"))?;
    forgive(page).await
}

pub async fn a_slow_fetch_can_be_stopped_and_what_came_stays(page: &Page) -> Outcome {
    let stage = Stage::new(1300, old())?;
    stage.jaeger.ways().delay = Duration::from_millis(700);
    let server = stage.proxy()?;
    page.open(&format!("{}#{}", server.url, stage.search("/jaeger", 5000))).await?;
    phase(page, "running").await?;
    page.state("loading").await?;
    page.click("[data-test='fetch-stop']").await?;
    page.hidden("[data-test='fetch']").await?;
    page.until("an end", "return document.documentElement.dataset.state", |state| state != "loading").await?;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let asked = stage.jaeger.log().len();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    same("requests after the stop", stage.jaeger.log().len(), asked)
}

pub async fn a_busy_and_failing_jaeger_is_asked_again(page: &Page) -> Outcome {
    let stage = Stage::new(60, old())?;
    let server = stage.proxy()?;
    stage.jaeger.ways().next =
        [(429, Some(1.into())), (503, Some(1.into())), (500, None), (CUT, None)].into();
    page.open(&format!("{}#{}", server.url, stage.search("/jaeger", 100))).await?;
    phase(page, "ended").await?;
    ensure(stage.jaeger.ways().next.is_empty(), || "not all of its bad answers were asked for".to_owned())?;
    page.ready().await?;
    same("traces", summary(page).await?[0], stage.matching(false))?;
    // A moment in place of seconds; without it the next request would come in two.
    let date = page.run("return new Date(Date.now() + 30_000).toUTCString()").await?;
    let date = HeaderValue::try_from(date.as_str().unwrap_or_default());
    stage.jaeger.ways().next = [(503, date.ok())].into();
    page.open(&format!("{}#{}", server.url, stage.search("/jaeger", 100))).await?;
    let left = "return Number(/the next request in (\\d+)/.exec(document.querySelector(\"[data-test='fetch']\")\
                .innerText)?.[1] ?? 0)";
    page.until("the time it waits", left, |left| left.as_u64().is_some_and(|left| (10..=30).contains(&left)))
        .await?;
    page.click("[data-test='fetch-stop']").await?;
    page.hidden("[data-test='fetch']").await?;
    // Three failures in a row end it; Retry goes on.
    stage.jaeger.ways().next = (0..3).map(|_| (500, None)).collect();
    page.open(&format!("{}#{}", server.url, stage.search("/jaeger", 100))).await?;
    phase(page, "failed").await?;
    says(page, &["500", "the storage is not well", "Retry"]).await?;
    page.picture("jaeger-failed").await?;
    page.click("[data-test='fetch-retry']").await?;
    phase(page, "ended").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], stage.matching(false))?;
    forgive(page).await
}

pub async fn another_origin_is_asked_only_with_consent_and_cors_is_explained(page: &Page) -> Outcome {
    let stage = Stage::new(40, old())?;
    let host = open_host()?;
    let fragment = stage.search(&stage.jaeger.encoded(), 100);
    page.open(&format!("{}/page/#{fragment}", host.url)).await?;
    phase(page, "awaiting-consent").await?;
    ensure(page.text(MESSAGE).await?.contains(&stage.jaeger.url), || "the origin is not named".to_owned())?;
    page.picture("jaeger-consent").await?;
    page.click("[data-test='fetch-refuse']").await?;
    page.hidden("[data-test='fetch']").await?;
    same("requests without consent", stage.jaeger.log().len(), 0)?;
    page.open(&format!("{}/page/#{fragment}", host.url)).await?;
    page.click("[data-test='fetch-agree']").await?;
    phase(page, "failed").await?;
    let header = format!("Access-Control-Allow-Origin: {}", host.url);
    says(page, &["(CORS)", "allowed_origins", &header, "pathlight serve dist --jaeger", "drop the files"])
        .await?;
    page.picture("jaeger-cors").await?;
    stage.jaeger.ways().cors = Some(host.url.clone());
    page.click("[data-test='fetch-retry']").await?;
    phase(page, "ended").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], stage.matching(false))?;
    forgive(page).await
}

pub async fn the_policy_of_the_host_and_a_dead_address_are_told_apart(page: &Page) -> Outcome {
    let stage = Stage::new(5, Ways { cors: Some("*".to_owned()), ..old() })?;
    // `pathlight serve` allows its own origin only.
    page.open(&stage.search(&stage.jaeger.encoded(), 100)).await?;
    page.click("[data-test='fetch-agree']").await?;
    phase(page, "failed").await?;
    says(page, &["does not let it connect", "connect-src"]).await?;
    let host = open_host()?;
    page.open(&format!("{}/page/#{}", host.url, stage.search("http:%2F%2F127.0.0.1:1", 100))).await?;
    page.click("[data-test='fetch-agree']").await?;
    phase(page, "failed").await?;
    says(page, &["cannot be reached"]).await?;
    forgive(page).await
}

/// Fetches from a Jaeger that wants the token `secret`, which it says.
pub async fn fetch_with_token(page: &Page, stage: &Stage, server: &Server) -> Outcome {
    page.open(&format!("{}#{}", server.url, stage.search("/jaeger", 100))).await?;
    phase(page, "failed").await?;
    says(page, &["401", "bearer token"]).await?;
    page.click("[data-test='fetch-change']").await?;
    page.fill("[data-test='jaeger-dialog-token']", "secret").await?;
    page.click("[data-test='jaeger-dialog-fetch']").await?;
    phase(page, "ended").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], stage.matching(false))
}

pub async fn a_closed_jaeger_wants_a_token_and_a_page_is_no_answer(page: &Page) -> Outcome {
    let stage = Stage::new(40, Ways { token: Some("secret".to_owned()), ..old() })?;
    let server = stage.proxy()?;
    fetch_with_token(page, &stage, &server).await?;
    let (kept, logged) = (page.run(KEPT).await?.to_string(), page.logged().await?);
    ensure(!kept.contains("secret"), || format!("the token is kept in {kept}"))?;
    ensure(!logged.is_empty() && !logged.concat().contains("secret"), || format!("logged: {logged:?}"))?;
    // Old versions answer what they do not know with their page.
    (stage.jaeger.ways().token, stage.jaeger.ways().v1) = (None, false);
    page.open(&format!("{}#{}", server.url, stage.search("/jaeger", 100))).await?;
    phase(page, "failed").await?;
    says(page, &["a web page", "base URL"]).await?;
    forgive(page).await
}

pub async fn the_dialog_lists_and_fetches_and_its_address_reproduces(page: &Page) -> Outcome {
    let stage = Stage::new(60, Ways { v3: true, ..old() })?;
    let server = stage.proxy()?;
    page.open(&server.url).await?;
    page.click("[data-test='jaeger']").await?;
    page.visible("[data-test='jaeger-dialog']").await?;
    let connected = "return document.querySelector(\"[data-test='jaeger-dialog-state']\").textContent";
    page.until("the services", connected, |text| {
        text.as_str().is_some_and(|text| text.starts_with("Connected"))
    })
    .await?;
    let names: BTreeSet<String> =
        page.attributes("#jaeger-services option", "value").await?.into_iter().collect();
    ensure(names.contains(&stage.service), || format!("{names:?}"))?;
    page.fill("[data-test='jaeger-dialog-service']", &stage.service).await?;
    let listed = "return document.querySelectorAll('#jaeger-operations option').length";
    page.until("the operations", listed, |count| count.as_u64() > Some(0)).await?;
    page.picture("jaeger-dialog").await?;
    // What is wrong with a field is said beside it.
    page.fill("[data-test='jaeger-dialog-min']", "5 apples").await?;
    page.click("[data-test='jaeger-dialog-fetch']").await?;
    page.visible("[data-test='jaeger-dialog-trouble'] [data-test='fetch-message']").await?;
    page.fill("[data-test='jaeger-dialog-min']", "1us").await?;
    choose_times(page, &stage).await?;
    page.click("[data-test='jaeger-dialog-fetch']").await?;
    phase(page, "ended").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], stage.matching(false))?;
    let hash = page.run("return location.hash").await?;
    let hash = hash.as_str().unwrap_or_default().to_owned();
    for part in ["api=/jaeger", "start=", "end=", "limit=1000", "minDuration=1us"] {
        ensure(hash.contains(part), || format!("{part} is not in {hash}"))?;
    }
    page.open(&format!("{}{hash}", server.url)).await?;
    page.ready().await?;
    same("traces of the link", summary(page).await?[0], stage.matching(false))
}

/// Chooses the time range of all traces in the dialog, by its two times.
async fn choose_times(page: &Page, stage: &Stage) -> Outcome {
    let times = format!(
        "const field = (name) => document.querySelector(`[data-test='jaeger-dialog-${{name}}']`); \
         const range = field('range'); range.value = '0'; range.dispatchEvent(new Event('change')); \
         const time = (s) => new Date(s * 1000).toISOString().slice(0, 19); \
         field('from').value = time({}); field('to').value = time({});",
        stage.range.0 / 1_000_000,
        stage.range.1 / 1_000_000 + 1
    );
    page.run(&times).await.map(drop)
}

pub async fn all_services_are_searched_where_the_api_can(page: &Page) -> Outcome {
    for (v1, v3) in [(true, true), (false, true), (true, false)] {
        let stage = Stage::new(60, Ways { v1, v3, ..Ways::default() })?;
        let server = stage.proxy()?;
        page.open(&server.url).await?;
        page.click("[data-test='jaeger']").await?;
        page.visible("[data-test='jaeger-dialog']").await?;
        choose_times(page, &stage).await?;
        page.click("[data-test='jaeger-dialog-fetch']").await?;
        if v3 {
            phase(page, "ended").await?;
            page.ready().await?;
            same("traces", summary(page).await?[0], 60)?;
        } else {
            phase(page, "failed").await?;
            says(page, &["A search needs a service"]).await?;
        }
        // What is no id is refused before anybody is asked.
        let asked = stage.jaeger.log().len();
        page.open(&format!("{}#api=/jaeger&traceID=zzz", server.url)).await?;
        phase(page, "failed").await?;
        says(page, &["\u{201c}zzz\u{201d} is no trace id"]).await?;
        same("requests for zzz", stage.jaeger.log().len(), asked)?;
        forgive(page).await?;
    }
    Ok(())
}

pub async fn a_tenant_is_named_and_remembered_only_if_asked(page: &Page) -> Outcome {
    let stage = Stage::new(40, Ways { tenant: Some(("x-tenant".to_owned(), "acme".to_owned())), ..old() })?;
    let server = stage.proxy()?;
    let search = format!("{}#{}", server.url, stage.search("/jaeger", 100));
    for is_remembered in [false, true] {
        page.open(&search).await?;
        phase(page, "failed").await?;
        says(page, &["whose traces are asked for", "missing tenant header", "x-tenant", "X-Scope-OrgID"])
            .await?;
        page.click("[data-test='fetch-change']").await?;
        page.fill("[data-test='jaeger-dialog-tenant']", "other").await?;
        page.click("[data-test='jaeger-dialog-fetch']").await?;
        phase(page, "failed").await?;
        says(page, &["unknown tenant"]).await?;
        page.click("[data-test='fetch-change']").await?;
        page.fill("[data-test='jaeger-dialog-tenant']", "acme").await?;
        if is_remembered {
            page.click("[data-test='jaeger-dialog-remembers']").await?;
        }
        page.picture("jaeger-tenant").await?;
        page.click("[data-test='jaeger-dialog-fetch']").await?;
        phase(page, "ended").await?;
        page.ready().await?;
        same("traces", summary(page).await?[0], stage.matching(false))?;
        let kept = page.run(KEPT).await?.to_string();
        same("is kept", kept.contains("acme"), is_remembered)?;
    }
    // Remembered, it goes along until it is taken away.
    page.open(&search).await?;
    phase(page, "ended").await?;
    page.click("[data-test='fetch-change']").await?;
    page.fill("[data-test='jaeger-dialog-tenant']", "").await?;
    page.click("[data-test='jaeger-dialog-fetch']").await?;
    phase(page, "failed").await?;
    let kept = page.run(KEPT).await?.to_string();
    ensure(!kept.contains("acme"), || format!("the tenant is kept in {kept}"))?;
    // A header that says something else names no tenant.
    page.click("[data-test='fetch-change']").await?;
    page.fill("[data-test='jaeger-dialog-tenant']", "acme").await?;
    page.fill("[data-test='jaeger-dialog-tenant-header']", "Cookie").await?;
    page.click("[data-test='jaeger-dialog-fetch']").await?;
    page.visible("[data-test='jaeger-dialog-trouble'] [data-test='fetch-message']").await?;
    forgive(page).await
}

pub async fn files_beside_the_page_are_fetched(page: &Page) -> Outcome {
    let file = generated("beside.json", "--traces 30 --spans 6 --seed 3")?;
    let files = [("/data/traces.json".to_owned(), file.clone()), ("/page/".to_owned(), dist())];
    let host = Jaeger::start(&Value::Null, Ways { files: files.into(), ..Ways::default() })?;
    let other = open_host()?;
    page.open(&format!("{}/page/#src={}%2Fdata%2Ftraces.json", other.url, host.encoded())).await?;
    phase(page, "awaiting-consent").await?;
    page.open(&format!("{}/page/#src=../data/traces.json", host.url)).await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 30)?;
    page.open(&format!("{}/page/#src=../page/none.json", host.url)).await?;
    phase(page, "ended").await?;
    says(page, &["none.json could not be fetched (status 404)"]).await?;
    // What a person has opened is not lost over an address that brings nothing.
    page.open(&format!("{}/page/", host.url)).await?;
    page.drop_files(&[file]).await?;
    page.ready().await?;
    page.run("location.hash = 'src=../page/none.json'").await?;
    phase(page, "ended").await?;
    page.click("[data-test='undo']").await?;
    page.ready().await?;
    same("traces that come back", summary(page).await?[0], 30)?;
    page.open(&format!("{}/page/#src=javascript:foreign()", host.url)).await?;
    phase(page, "failed").await?;
    says(
        page,
        &["\u{201c}javascript:foreign()\u{201d} is not the address of a file", "Write an address of http"],
    )
    .await?;
    forgive(page).await
}
