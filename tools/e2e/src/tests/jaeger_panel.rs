//! How the panel beside Jaeger UI asks for what is shown, and what it says where that cannot be had.

use axum::http::HeaderValue;
use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::jaeger::CUT;
use serde_json::json;

use super::drop::SPANS_AS_TABLE;
use super::embed::{enter, leave};
use super::jaeger_ui::{Stand, VERSIONS, says, shows};

/// Goes to another place of Jaeger UI, as its router does.
async fn go(page: &Page, place: &str) -> Outcome {
    page.run(&format!("history.pushState({{}}, '', {})", json!(place))).await.map(drop)
}

/// Opens Jaeger UI without a search, and Pathlight beside it.
async fn open(page: &Page, stand: &Stand) -> Outcome {
    page.client().goto(&format!("{}/jaeger/search", stand.jaeger.url)).await?;
    page.click("#pathlight-button").await?;
    says(page, "Nothing is searched for yet. Traces that were uploaded to Jaeger UI stay in it").await
}

pub async fn one_dialect_is_found_and_asked_from_then_on(page: &Page) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        open(page, &stand).await?;
        let asked = |from: usize| stand.jaeger.log()[from..].to_vec();
        let ids = stand.jaeger.ids();
        let (newer, older) = ("/jaeger/api/v3/traces", "/jaeger/api/traces");
        let begins = |asked: &[String], expected: &[&str]| {
            let fits = asked.len() == expected.len()
                && asked.iter().zip(expected).all(|(asked, expected)| asked.starts_with(expected));
            ensure(fits, || format!("{version}: {asked:?}, not {expected:?}"))
        };
        // Two traces, and nothing is known: one of them finds out.
        let before = stand.jaeger.log().len();
        go(page, &format!("trace/{}...{}", ids[0], ids[1])).await?;
        shows(page, "#pathlight-frame", "compare", 1).await?;
        let expected = if version == "1.76" { vec![newer, older, older] } else { vec![newer, newer] };
        begins(&asked(before), &expected)?;
        // Searches by tag are first asked for as Jaeger 1 understands them; that is found out once too.
        let search =
            |limit: usize| format!("search?service=edge-gateway&limit={limit}&tags={{}}&{}", stand.range);
        let before = stand.jaeger.log().len();
        go(page, &search(10)).await?;
        shows(page, "#pathlight-frame", "findings", 10).await?;
        begins(&asked(before), &if version == "HEAD" { vec![older, newer] } else { vec![older] })?;
        let before = stand.jaeger.log().len();
        go(page, &search(12)).await?;
        shows(page, "#pathlight-frame", "findings", 12).await?;
        begins(&asked(before), &if version == "HEAD" { vec![newer] } else { vec![older] })?;
        page.complaints().await?;
        page.run("localStorage.clear()").await?;
    }
    Ok(())
}

pub async fn a_busy_jaeger_is_waited_for_and_a_cut_connection_tried_once_more(page: &Page) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        open(page, &stand).await?;
        let search = |limit: usize| format!("search?service=edge-gateway&limit={limit}&{}", stand.range);
        // Finds the dialect out.
        go(page, &search(5)).await?;
        shows(page, "#pathlight-frame", "findings", 5).await?;
        stand.jaeger.ways().next = [(429, Some(2.into()))].into();
        go(page, &search(10)).await?;
        says(page, "Jaeger is busy: it is asked again in 2 s.").await?;
        shows(page, "#pathlight-frame", "findings", 10).await?;
        // A moment in place of seconds.
        let date = page.run("return new Date(Date.now() + 3000).toUTCString()").await?;
        stand.jaeger.ways().next =
            [(503, HeaderValue::try_from(date.as_str().unwrap_or_default()).ok())].into();
        go(page, &search(11)).await?;
        says(page, "Jaeger is busy: it is asked again in").await?;
        shows(page, "#pathlight-frame", "findings", 11).await?;
        // Longer than anybody waits.
        stand.jaeger.ways().next = [(429, Some(600.into()))].into();
        go(page, &search(12)).await?;
        says(page, "wants to be left alone for 600 s").await?;
        page.click("#pathlight-retry").await?;
        shows(page, "#pathlight-frame", "findings", 12).await?;
        let before = stand.jaeger.log().len();
        stand.jaeger.ways().next = [(CUT, None)].into();
        go(page, &search(13)).await?;
        shows(page, "#pathlight-frame", "findings", 13).await?;
        same("requests", stand.jaeger.log().len() - before, 2)?;
        stand.jaeger.ways().next = [(CUT, None), (CUT, None)].into();
        go(page, &search(14)).await?;
        says(page, "broke off in the middle of its answer, twice").await?;
        page.click("#pathlight-retry").await?;
        shows(page, "#pathlight-frame", "findings", 14).await?;
        page.complaints().await?;
        page.run("localStorage.clear()").await?;
    }
    Ok(())
}

pub async fn what_jaeger_does_not_have_is_said(page: &Page) -> Outcome {
    let stand = Stand::new("2.20")?;
    open(page, &stand).await?;
    go(page, "trace/zzz").await?;
    says(page, "zzz is no trace id").await?;
    same("asked for zzz", stand.jaeger.log().iter().any(|asked| asked.contains("zzz")), false)?;
    go(page, "trace/abcdef").await?;
    says(page, "There is no trace 0000000000abcdef in Jaeger. Traces that were uploaded").await?;
    // A service for many tenants, and nothing that names one.
    stand.jaeger.ways().tenant = Some(("x-tenant".to_owned(), "acme".to_owned()));
    go(page, &format!("trace/{}", stand.jaeger.ids()[0])).await?;
    says(page, "whose traces are asked for").await?;
    says(page, "missing tenant header").await?;
    page.hidden("#pathlight-help").await?;
    stand.jaeger.ways().tenant = None;
    page.click("#pathlight-retry").await?;
    shows(page, "#pathlight-frame", "trace", 1).await?;
    // Written as Jaeger UI writes it.
    enter(page, "#pathlight-frame").await?;
    same("id", page.text("[data-test='trace-id']").await?, stand.jaeger.ids()[0].clone())?;
    leave(page).await?;
    page.complaints().await.map(drop)
}

/// Waits until Pathlight in the panel has more than so many traces, all of them read, and returns how many.
async fn has_more_than(page: &Page, traces: u64) -> Outcome<u64> {
    enter(page, "#pathlight-frame").await?;
    let loaded = "return Number(document.querySelector('[data-test=status-loaded]')?.dataset.value)";
    let found = page.until("more traces", loaded, |found| found.as_u64() > Some(traces)).await?;
    page.ready().await?;
    leave(page).await?;
    Ok(found.as_u64().unwrap_or_default())
}

pub async fn requests_like_a_trace_come_with_one_click_and_every_span_says_how_slow_it_is(
    page: &Page,
) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        page.client().goto(&format!("{}/jaeger/trace/{}", stand.jaeger.url, stand.jaeger.ids()[7])).await?;
        page.visible(".TracePageHeader--title").await?;
        page.click("#pathlight-button").await?;
        shows(page, "#pathlight-frame", "trace", 1).await?;
        let before = stand.jaeger.log().len();
        page.visible("#pathlight-more").await?;
        same("offer", page.text("#pathlight-more").await?, "Load requests like it".to_owned())?;
        page.click("#pathlight-more").await?;
        page.hidden("#pathlight-more").await?;
        has_more_than(page, 1).await?;
        // The last part may still be on its way.
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let traces = has_more_than(page, 1).await?;
        // The number comes first where that can be had, then traces in parts of the hour.
        let log = stand.jaeger.log()[before..].to_vec();
        let counts = log.iter().filter(|asked| asked.contains("trace-summaries")).count();
        same("counts", counts, usize::from(version != "1.76"))?;
        ensure(log.len() == counts + 4 && (counts == 0 || log[0].contains("trace-summaries")), || {
            format!("{log:?}")
        })?;
        enter(page, "#pathlight-frame").await?;
        same("view", page.run("return document.documentElement.dataset.view").await?, json!("trace"))?;
        page.run(SPANS_AS_TABLE).await?;
        page.visible("[data-test='span']").await?;
        // The root is one of the requests of its endpoint, which may be called within them too.
        page.run("document.querySelector(\"[data-test='span']\").click()").await?;
        page.visible("[data-test='span-like']").await?;
        let like = page.text("[data-test='span-like']").await?;
        let of = like.rsplit(' ').next().and_then(|of| of.parse::<u64>().ok());
        ensure(of >= Some(traces), || format!("{like}, of {traces} traces"))?;
        let listed = page.text("[data-test='span']").await?;
        ensure(listed.contains(&like), || format!("{like:?} is not in {listed:?}"))?;
        page.picture("among-like").await?;
        leave(page).await?;
        // From Jaeger's flame graph of the one to that of all.
        page.client().refresh().await?;
        page.visible(".TracePageHeader--title").await?;
        page.click(".alt-flame").await?;
        page.click("#pathlight-button").await?;
        page.visible("#pathlight-more").await?;
        page.click("#pathlight-more").await?;
        shows(page, "#pathlight-frame", "flame", traces as usize).await?;
        page.complaints().await?;
        page.run("localStorage.clear()").await?;
    }
    Ok(())
}

pub async fn two_compared_traces_become_sets_of_requests_like_them(page: &Page) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        let ids = stand.jaeger.ids();
        let (a, b) = (&ids[20], &ids[10]);
        page.client().goto(&format!("{}/jaeger/trace/{a}...{b}", stand.jaeger.url)).await?;
        page.click("#pathlight-button").await?;
        shows(page, "#pathlight-frame", "compare", 1).await?;
        same("offer", page.text("#pathlight-more").await?, "Compare requests like these".to_owned())?;
        page.click("#pathlight-more").await?;
        has_more_than(page, 1).await?;
        enter(page, "#pathlight-frame").await?;
        same("view", page.run("return document.documentElement.dataset.view").await?, json!("compare"))?;
        let sides = page.run("return document.body.innerText").await?;
        let sides = sides.as_str().unwrap_or_default().to_owned();
        ensure([a, b].iter().all(|id| sides.contains(&format!("requests like trace {id}"))), || {
            sides.clone()
        })?;
        leave(page).await?;
        // By the menu Compare of the two opens in a window of its own, A first.
        page.run("document.querySelector('.menu a').target = '_self'").await?;
        page.click(".menu a").await?;
        page.visible("[data-test='fetch'][data-phase='ended']").await?;
        page.ready().await?;
        let state =
            "const { view } = document.documentElement.dataset; return [view, document.body.innerText]";
        let state = page.run(state).await?;
        same("view", &state[0], &json!("compare"))?;
        let words = state[1].as_str().unwrap_or_default();
        let place = |id: &str| words.find(&format!("trace {id}"));
        ensure(place(a).is_some() && place(a) < place(b), || words.to_owned())?;
        page.complaints().await?;
        page.run("localStorage.clear()").await?;
    }
    Ok(())
}

pub async fn more_than_jaeger_ui_shows_is_offered_and_saved_as_a_report(page: &Page) -> Outcome {
    let stand = Stand::new("HEAD")?;
    page.client().goto(&stand.search("service=edge-gateway&limit=20")).await?;
    page.visible(".ResultItemTitle--item").await?;
    page.click("#pathlight-button").await?;
    shows(page, "#pathlight-frame", "findings", 20).await?;
    same("offer", page.text("#pathlight-more").await?, "Load up to 1,000".to_owned())?;
    page.click("#pathlight-more").await?;
    shows(page, "#pathlight-frame", "findings", stand.jaeger.ids().len()).await?;
    page.hidden("#pathlight-more").await?;
    page.click("#pathlight-report").await?;
    enter(page, "#pathlight-frame").await?;
    page.visible("[data-test='redact-report']").await?;
    page.catch_file().await?;
    page.click("[data-test='redact-report']").await?;
    let saved =
        "return window.handedOut && window.handedOut.text().then((text) => text.includes('report-part'))";
    page.until("a report", saved, |found| *found == json!(true)).await?;
    leave(page).await?;
    page.complaints().await.map(drop)
}

pub async fn where_jaeger_ui_draws_another_path_is_said(page: &Page) -> Outcome {
    let trace = |id: u32, calls: &[(&str, u64, u64)]| {
        let span = |at: usize, name: &str, from: u64, us: u64| {
            let parent = json!([{ "refType": "CHILD_OF", "traceID": format!("{id:032x}"), "spanID": format!("{:016x}", 1) }]);
            json!({
                "traceID": format!("{id:032x}"), "spanID": format!("{at:016x}"), "operationName": name, "processID": "p",
                "references": if at == 1 { json!([]) } else { parent },
                "startTime": 1_700_000_000_000_000_u64 + from, "duration": us, "tags": [], "logs": [],
            })
        };
        let calls = calls.iter().zip(2..).map(|((name, from, us), at)| span(at, name, *from, *us));
        let spans: Vec<_> = std::iter::once(span(1, "GET /", 0, 100_000)).chain(calls).collect();
        json!({
            "traceID": format!("{id:032x}"), "spans": spans,
            "processes": { "p": { "serviceName": "shop", "tags": [] } },
        })
    };
    // In the first the second call begins in the microsecond in which the first ends, in the second a little later.
    let [touching, apart] =
        [[("a", 10_000, 30_000), ("b", 40_000, 50_000)], [("a", 10_000, 30_000), ("b", 40_010, 50_000)]];
    let stored = json!({ "data": [trace(1, &touching), trace(2, &apart)] });
    let stand = Stand::holding("HEAD", &stored, |config| config)?;
    open(page, &stand).await?;
    let said = "[data-test='jaeger-difference']";
    go(page, &format!("trace/{:032x}", 1)).await?;
    shows(page, "#pathlight-frame", "trace", 1).await?;
    enter(page, "#pathlight-frame").await?;
    page.visible(said).await?;
    let words = page.text(said).await?.replace(['\u{202f}', '\u{a0}'], " ");
    ensure(
        words.starts_with("Jaeger UI draws another critical path for 30")
            && words.contains("(a @ shop first)"),
        || words.clone(),
    )?;
    page.picture("jaeger-difference").await?;
    leave(page).await?;
    go(page, &format!("trace/{:032x}", 2)).await?;
    shows(page, "#pathlight-frame", "trace", 1).await?;
    enter(page, "#pathlight-frame").await?;
    page.hidden(said).await?;
    leave(page).await
}
