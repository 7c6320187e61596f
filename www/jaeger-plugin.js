// Adds Pathlight to Jaeger UI: a button on its search and trace pages, which opens Pathlight in a panel beside them and
// hands over what they show. docs/jaeger-ui.md tells how to switch it on.
//
// Jaeger UI has no interface for plugins, so this stays at its edges: it reads the address (Jaeger UI is a single page
// and changes it by the history), asks the API of the same origin with the user's own rights, adds two elements to the
// body, and makes room for the panel by a style sheet. Jaeger's server replaces what follows a dollar sign in its
// configuration; there is none in this file, so that its text may stand there as well.
"use strict";
(() => {
  if (window.pathlightJaeger) return;
  const script = document.currentScript;

  // ---- What a page of Jaeger UI shows, and how to ask Jaeger for it. ----

  // A trace id as Jaeger writes it: 16 digits, or 32 where 16 do not suffice. Jaeger UI rewrites any other form.
  const jaegerId = (id) => {
    const digits = id.toLowerCase().replace(/^0+/, "");
    return /[^0-9a-f]/.test(digits) ? id : digits.padStart(digits.length > 16 ? 32 : 16, "0");
  };

  const pageOf = (address, base) => {
    if (address.origin !== base.origin || !address.pathname.startsWith(base.pathname)) return [];
    return address.pathname.slice(base.pathname.length).split("/");
  };

  // The ids of a trace page; two with dots between are being compared.
  const tracesOf = (address, base) => {
    const [page, ids] = pageOf(address, base);
    return page === "trace" && ids ? decodeURIComponent(ids).split("...").filter(Boolean).map(jaegerId) : [];
  };

  // What an address of Jaeger UI shows: the parts to ask for, each in every dialect, what Pathlight should show of them,
  // and what to add to Pathlight's own address for the same. Nothing on pages without traces, such as a comparison for which
  // nothing is chosen. The last parameter is the window of Jaeger UI.
  const shown = (address, base, view = window) => {
    const ids = tracesOf(address, base);
    if (ids.length) {
      const key = ids.join("...");
      const what = { key, title: "trace " + key, parts: ids.map(trace) };
      // Two traces that Jaeger UI compares are two sets here.
      if (ids.length === 2) {
        return { ...what, pair: ids.map((id) => "trace " + id), address: "view=compare&" + byId(ids) };
      }
      what.address = "view=trace&" + byId(ids);
      return { ...what, query: new URLSearchParams({ view: "trace", traceID: ids[0] }).toString() };
    }
    if (pageOf(address, base)[0] !== "search") return null;
    const search = new URLSearchParams(address.search);
    const list = search.getAll("traceID");
    if (list.length) {
      return { key: address.search, title: "traces by id", parts: list.map(trace), address: byId(list) };
    }
    const service = search.get("service");
    if (!service) return { key: "", title: "", parts: [], note: "Nothing is searched for yet. " + UPLOADED };
    const title = "search for " + (isAny(service) ? "all services" : service);
    const asked = completed(search, isFirst(view));
    const words = [...asked].filter(([name]) => WORDS.includes(name));
    const parts = [found(asked)];
    return { key: address.search, title, parts, asked, address: new URLSearchParams(words).toString() };
  };

  // What Pathlight's address and that of Jaeger UI call the same.
  const WORDS = ["service", "operation", "start", "end", "limit", "minDuration", "maxDuration", "tags"];

  const byId = (ids) => new URLSearchParams(ids.map((id) => ["traceID", id])).toString();

  const UPLOADED = "Traces that were uploaded to Jaeger UI stay in it: drop their file here too.";

  const trace = (id) => {
    const name = jaegerId(id);
    if (/[^0-9a-f]/.test(name) || name.length > 32) {
      return { asks: {}, wrong: name + " is no trace id: it has up to 32 digits, 0 to 9 and a to f." };
    }
    const missing = "There is no trace " + name + " in Jaeger. " + UPLOADED;
    return { asks: { v3: "api/v3/traces/" + name, v1: "api/traces/" + name }, missing };
  };

  const UNITS = { s: 1e6, m: 60e6, h: 3600e6, d: 86400e6, w: 604800e6 };

  // Jaeger UI has names for "all services" and "all operations".
  const isAny = (name) => !name || name === "all" || /^__all_/.test(name);

  // Whether it is the UI of Jaeger 1, which leaves to its server what its address does not say.
  const isFirst = (view) => /^v?1[.]/.test(view.getJaegerVersion?.().gitVersion ?? "");

  // A search with what Jaeger UI, or the server of its first version, takes for what its address does not say.
  const completed = (search, isOfFirst) => {
    const asked = new URLSearchParams(search);
    if (isAny(asked.get("operation"))) asked.delete("operation");
    if (isAny(asked.get("service"))) asked.set("service", "__all_services__");
    if (!asked.get("limit")) asked.set("limit", isOfFirst ? "100" : "20");
    if (!asked.get("start") || !asked.get("end")) {
      const usual = isOfFirst ? [null, 2, "d"] : [null, 1, "h"];
      const [, number, unit] = /^(\d+)([smhdw])/.exec(asked.get("lookback") ?? "") ?? usual;
      const end = Date.now() * 1000;
      asked.set("end", String(end));
      asked.set("start", String(end - number * UNITS[unit]));
    }
    return asked;
  };

  // A search in the words of every dialect.
  const found = (completed) => {
    const asked = new URLSearchParams(completed);
    if (isAny(asked.get("service"))) asked.delete("service");
    const words = {
      service_name: asked.get("service"),
      operation_name: asked.get("operation"),
      start_time_min: new Date(Math.floor(asked.get("start") / 1000)).toISOString(),
      start_time_max: new Date(Math.ceil(asked.get("end") / 1000)).toISOString(),
      duration_min: asked.get("minDuration"),
      duration_max: asked.get("maxDuration"),
      search_depth: asked.get("limit"),
      attributes: asked.get("tags"),
    };
    const newer = (spelled) => {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(words)) if (value) query.set("query." + spelled(name), value);
      return "api/v3/traces?" + query;
    };
    const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
    // The first versions call the limit otherwise.
    const v3 = newer((name) => name) + "&query.num_traces=" + encodeURIComponent(words.search_depth);
    const asks = { v3, v1: "api/traces?" + asked, camel: newer(camel) };
    // They also pass over tags, where the first dialect does not.
    return words.attributes ? { asks: { v1: asks.v1, ...asks }, isOrdered: true } : { asks };
  };

  // The dialect that the Jaeger at an address answered in last: remembered over visits, where anything may be stored. Of
  // searches by tag it is another memory, since they are asked for in another order.
  const known = new Map();
  const memory = (base, { isOrdered }, dialect) => {
    const key = "pathlight-dialect " + base.pathname + (isOrdered ? " tags" : "");
    if (dialect) known.set(key, dialect);
    try {
      if (dialect) localStorage.setItem(key, dialect);
      return known.get(key) ?? localStorage.getItem(key);
    } catch {
      return known.get(key);
    }
  };

  const login = (base) =>
    Object.assign(new Error("Your session has ended: log in again, then retry."), { help: ["Log in", base.href] });

  const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

  // Seconds that a busy Jaeger is waited for, and how often.
  const LONGEST_WAIT = 60;
  const MOST_WAITS = 3;

  // Seconds for which a busy Jaeger wants to be left alone: it names them or a date, or nothing.
  const patience = ({ headers }) => {
    const said = headers.get("retry-after") ?? "1";
    const seconds = /^[0-9]+/.test(said) ? Number(said) : Math.ceil((Date.parse(said) - Date.now()) / 1000);
    return Math.max(seconds || 1, 1);
  };

  // Asks once more where a connection was cut, and after the time it names where Jaeger is busy. Without an answer it tells
  // whether one had begun.
  const answered = async (address, options, say) => {
    let cuts = 0;
    let waits = 0;
    for (;;) {
      let response;
      try {
        response = await fetch(address, options);
        const data = await response.arrayBuffer();
        const isBusy = [429, 503].includes(response.status);
        const seconds = patience(response);
        if (!isBusy || waits === MOST_WAITS || seconds > LONGEST_WAIT) return { response, data };
        waits += 1;
        say("Jaeger is busy: it is asked again in " + seconds + " s.");
        await wait(seconds);
      } catch {
        cuts += 1;
        if (cuts > 1) return { isCut: Boolean(response) };
        await wait(0.5);
      }
    }
  };

  // Asks for one part, first in the dialect remembered. Gives the bytes; nothing if there are no such traces.
  const ask = async (part, base, say) => {
    let reason = "";
    const order = [memory(base, part), ...Object.keys(part.asks)];
    for (const dialect of new Set(order)) {
      if (!part.asks[dialect]) continue;
      const address = new URL(part.asks[dialect], base);
      const headers = { accept: "application/json" };
      // A redirect to another server is not followed: nobody has agreed to ask that.
      const mode = address.origin === location.origin ? "same-origin" : "cors";
      const { response, data, isCut } = await answered(address, { headers, mode }, say);
      if (!response) {
        // A login of another origin may not be read; that there is a way to it can be seen.
        const probe = await fetch(address, { headers, redirect: "manual" }).catch(() => null);
        if (probe?.type === "opaqueredirect") throw login(base);
        throw new Error(isCut
          ? "The connection to Jaeger broke off in the middle of its answer, twice: retry, or ask for fewer traces."
          : "Jaeger cannot be reached.");
      }
      const head = new TextDecoder().decode(data.slice(0, 16384)).trimStart();
      if (response.status === 401 && /tenant|no org id/i.test(head.slice(0, 200))) {
        throw new Error("Jaeger wants to know whose traces are asked for, and does not know it by this request ("
          + head.slice(0, 200).trim() + "). What names the tenant for Jaeger UI, such as a proxy, must do so for all of /api/.");
      }
      if (response.status === 401) throw login(base);
      // An old server answers what it does not know with its own page; another page is that of a login.
      const isPage = head[0] === "<" && !head.includes("jaeger-ui-root");
      if (isPage && (response.ok || response.redirected)) throw login(base);
      const body = head[0] === "{" ? parsed(head) : null;
      const says = body?.error?.message ?? body?.errors?.[0]?.msg;
      if (response.ok && (head[0] === "{" || head[0] === "[") && !says) {
        memory(base, part, dialect);
        const isNothing = body && !body.data?.length && !(body.result ?? body).resourceSpans?.length;
        return isNothing ? null : data;
      }
      // A trace that is not there, or the newer dialect's answer to a search that finds none.
      if (response.status === 404 && (body?.error || part.missing && says)) {
        memory(base, part, dialect);
        return null;
      }
      if ([429, 503].includes(response.status)) {
        throw new Error("Jaeger is too busy (status " + response.status + "): it wants to be left alone for "
          + patience(response) + " s. Retry then.");
      }
      const refusal = "Jaeger answers " + response.status + " " + (says ?? response.statusText);
      if (response.status >= 500 || response.status === 403) throw new Error(refusal);
      // What it says itself tells more than that there is something else.
      if (says || !reason) reason = refusal;
    }
    throw new Error(reason);
  };

  // What is whole JSON.
  const parsed = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  };

  // Asks for everything that is shown: bytes to be handed over, in the order of the parts, and a sentence if there are none.
  // What it waits for is said meanwhile.
  const collect = async (what, base, say = () => {}) => {
    const wrong = what.parts.find((part) => part.wrong);
    if (wrong) return { data: [], nothing: wrong.wrong };
    // One part finds out which dialect is understood, if that is not known.
    const answers = [];
    for (const part of what.parts) {
      if (answers.length && memory(base, part)) break;
      answers.push(await ask(part, base, say));
    }
    const rest = what.parts.slice(answers.length).map((part) => ask(part, base, say));
    const data = [...answers, ...(await Promise.all(rest))].filter(Boolean);
    return { data, nothing: data.length ? "" : what.parts[0]?.missing ?? "No traces match this search." };
  };

  // What is sent to Pathlight of what was collected. Two traces that Jaeger UI compares are two sets there.
  const messages = (what, { data, nothing }) => {
    if (nothing) return [{ type: "clear" }];
    const pair = data.length === 2 && what.pair;
    const named = (at) => (pair ? { title: pair[at], side: "ab"[at] } : { title: what.title });
    const traces = data.map((bytes, at) => ({ type: "traces", data: bytes, replace: at === 0, ...named(at) }));
    return what.query ? [...traces, { type: "query", query: what.query }] : traces;
  };

  // ---- More than is shown: requests like a trace, or like two; more of what a search finds. ----

  const parsedAll = (bytes) => parsed(new TextDecoder().decode(bytes)) ?? {};

  // Spans of an answer in either dialect, as far as needed to find a request.
  const spansOf = (answer) => [
    ...(answer.data ?? []).flatMap(({ traceID, spans, processes }) => spans.map((span) => ({
      traceID,
      id: span.spanID,
      parent: span.references?.find(({ refType }) => refType === "CHILD_OF")?.spanID,
      service: processes[span.processID]?.serviceName,
      operation: span.operationName,
      start: span.startTime,
    }))),
    ...((answer.result ?? answer).resourceSpans ?? []).flatMap(({ resource, scopeSpans }) => {
      const service = resource?.attributes?.find(({ key }) => key === "service.name")?.value?.stringValue;
      return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({
        traceID: span.traceId,
        id: span.spanId,
        parent: span.parentSpanId,
        service,
        operation: span.name,
        start: Math.floor(Number(span.startTimeUnixNano) / 1000),
      })));
    }),
  ];

  // The first span whose parent is not there: what the request of a trace is called, and when it began in microseconds.
  const requestOf = (bytes) => {
    const spans = spansOf(parsedAll(bytes));
    const ids = new Set(spans.map(({ id }) => id));
    const roots = spans.filter(({ parent, service }) => service && !ids.has(parent));
    return roots.sort((a, b) => a.start - b.start)[0];
  };

  // Traces of one set at most, and how its time range is cut: an answer that is too large would be slow to come, or cut.
  const MOST = 1000;
  const SLICES = 4;
  const HALF_HOUR = 1800e6;

  const likeIt = ({ service, operation }, [start, end]) => new URLSearchParams({ service, operation, start, end, limit: MOST });

  // The hours around two moments; where they overlap, each ends in the middle between them.
  const hours = (a, b) => {
    const around = (at) => [at - HALF_HOUR, at + HALF_HOUR];
    const [first, second] = [around(Math.min(a, b)), around(Math.max(a, b))];
    const middle = Math.floor((a + b) / 2);
    if (a !== b && first[1] > second[0]) [first[1], second[0]] = [middle, middle + 1];
    return a <= b ? [first, second] : [second, first];
  };

  // What can be loaded beyond what is shown, of the bytes that came for it: its name and the sets that it is. Nothing where
  // there is no more.
  const wider = (what, data) => {
    if (what.pair && data.length === 2) {
      const [a, b] = data.map(requestOf);
      if (!a || !b) return null;
      const ranges = hours(a.start, b.start);
      const sets = [a, b].map((request, at) => ({
        title: "requests like " + what.pair[at], search: likeIt(request, ranges[at]), side: "ab"[at], replace: at === 0,
      }));
      return { label: "Compare requests like these", sets };
    }
    if (what.query && data.length === 1) {
      const request = requestOf(data[0]);
      if (!request) return null;
      const [range] = hours(request.start, request.start);
      return { label: "Load requests like it", sets: [{ title: "requests like it", search: likeIt(request, range) }] };
    }
    const limit = Number(what.asked?.get("limit") ?? MOST);
    if (limit >= MOST) return null;
    const ids = new Set(spansOf(parsedAll(data[0])).map(({ traceID }) => traceID));
    if (ids.size < limit) return null;
    const search = new URLSearchParams(what.asked);
    search.set("limit", MOST);
    return { label: "Load up to 1,000", sets: [{ title: what.title, search, replace: true }] };
  };

  // Number of traces that a search finds, where Jaeger can tell without sending them; else nothing.
  const count = async (search, base) => {
    const ask = found(search).asks.v3;
    if (memory(base, {}) !== "v3" || !ask) return null;
    const address = new URL(ask.replace("api/v3/traces", "api/v3/trace-summaries"), base);
    try {
      const response = await fetch(address, { headers: { accept: "application/json" } });
      return response.ok ? (await response.json()).summaries?.length ?? null : null;
    } catch {
      return null;
    }
  };

  // Cuts a search into parts of its time range, the newest first.
  const slices = (search) => {
    const [start, end] = ["start", "end"].map((name) => Number(search.get(name)));
    const width = Math.ceil((end - start + 1) / SLICES);
    return Array.from({ length: SLICES }, (_, at) => {
      const part = new URLSearchParams(search);
      part.set("start", Math.max(start, end - (at + 1) * width + 1));
      part.set("end", end - at * width);
      part.set("limit", MOST / SLICES);
      return found(part);
    });
  };

  // Brings the traces of sets in parts, each to be handed over as it comes: message and bytes. Says how far it is.
  const collectMore = async (sets, base, say, take) => {
    let parts = 0;
    for (const set of sets) {
      const all = await count(set.search, base);
      const known = all === null ? "" : all === MOST ? ", 1,000 or more" : ", " + counted(all, "trace");
      let isFirst = true;
      for (const [at, part] of slices(set.search).entries()) {
        say("Reading " + set.title + known + ": part " + (at + 1) + " of " + SLICES + "...");
        const data = await ask(part, base, say);
        if (!data) continue;
        const replace = Boolean(set.replace) && isFirst;
        if (!take({ type: "traces", title: set.title, data, replace, ...(set.side && { side: set.side }) })) return parts;
        isFirst = false;
        parts += 1;
      }
    }
    return parts;
  };

  const counted = (number, word) => number + " " + word + (number === 1 ? "" : "s");

  const link = (base, { traceID, spanID }) => {
    const address = new URL("trace/" + encodeURIComponent(jaegerId(traceID)), base);
    if (spanID) address.searchParams.set("uiFind", spanID);
    return address.href;
  };

  // Goes to an address within the Jaeger UI of a window, so that nothing is loaded anew: its router hears a step of the
  // history. Jaeger UI looks for a span when a trace page opens, and forgets which when it goes from one trace to
  // another or writes an id otherwise; so it is told again, and its own button brings the span into sight.
  const show = (view, href, base) => {
    const step = () => view.dispatchEvent(new view.PopStateEvent("popstate", { state: view.history.state }));
    const wanted = new URL(href);
    const span = wanted.searchParams.get("uiFind");
    const [id] = tracesOf(wanted, base);
    const end = Date.now() + 10000;
    let calm = 0;
    const look = () => {
      const now = new URL(view.location.href);
      if (show.turn !== turn || Date.now() > end || tracesOf(now, base)[0] !== id) return;
      const locate = view.document.querySelector(".TracePageSearchBar--locateBtn");
      if (now.searchParams.get("uiFind") !== span) {
        calm = 0;
        now.searchParams.set("uiFind", span);
        view.history.replaceState(view.history.state, "", now);
        step();
      } else if (locate && !locate.disabled && ++calm > 1) {
        return locate.click();
      }
      setTimeout(look, 100);
    };
    const turn = (show.turn ?? 0) + 1;
    show.turn = turn;
    view.history.pushState(null, "", wanted);
    step();
    if (span) setTimeout(look, 100);
  };

  window.pathlightJaeger = { shown, collect, messages, wider, collectMore, link, show };
  // The example host page wants nothing but these.
  if (script?.dataset.only === "asking") return;

  // ---- The button and the panel. ----

  // Where Pathlight is: beside this script, or where the configuration says.
  const home = new URL(window.pathlightHome ?? (script?.src ? "." : "/pathlight/"), script?.src || location.href);
  // Jaeger UI writes where it is into <base>.
  const base = new URL(".", document.baseURI);

  const isDark = () => {
    for (const element of [document.body, document.documentElement]) {
      const [red, green, blue, alpha = 1] = getComputedStyle(element).backgroundColor.match(/[\d.]+/g).map(Number);
      if (alpha > 0) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
    }
    return false;
  };
  const theme = () => (isDark() ? "dark" : "light");

  // Jaeger UI positions its content absolutely and its heads by the window, so a margin would move nothing.
  const BESIDE = "min(var(--pathlight-width), 100vw - 360px)";
  const LEFT = "calc(100% - " + BESIDE + ") !important";
  const STYLE = [
    "#pathlight-button { position: fixed; z-index: 1000; right: 16px; bottom: 16px; padding: 8px 16px; border: 0;"
      + " border-radius: 6px; background: #1a66c2; color: #fff; font: 600 14px/20px system-ui, sans-serif;"
      + " cursor: pointer }",
    // The assistant writes where the button is.
    "body:has(.JaegerAssistantPanel) #pathlight-button { right: auto; left: 16px }",
    "#pathlight-button[hidden], #pathlight-panel [hidden] { display: none }",
    "#pathlight-panel { position: fixed; z-index: 1001; top: 0; right: 0; bottom: 0; width: min(600px, 100vw);"
      + " display: flex; flex-direction: column; background: #151515; color: #fff; box-shadow: 0 0 12px #0006 }",
    "#pathlight-head { display: flex; gap: 12px; align-items: center; padding: 4px 8px;"
      + " font: 13px/20px system-ui, sans-serif }",
    "#pathlight-note { flex: 1; min-width: 0; overflow-wrap: anywhere }",
    "#pathlight-head a { color: #9cc8ff; white-space: nowrap }",
    "#pathlight-head button { padding: 0; border: 0; background: none; color: inherit; font: inherit; cursor: pointer }",
    "#pathlight-frame { flex: 1; min-height: 0; width: 100%; border: 0; background: transparent }",
    "#pathlight-grip { display: none; position: absolute; top: 0; bottom: 0; left: -4px; width: 8px; cursor: ew-resize;"
      + " touch-action: none }",
    "#pathlight-grip:hover, #pathlight-grip:focus-visible { background: #1a66c2; outline: 0 }",
    "@media (min-width: 1000px) {",
    "#pathlight-panel { width: " + BESIDE + " }",
    "#pathlight-grip { display: block }",
    "[data-pathlight] .Page--content { right: " + BESIDE + " !important }",
    "[data-pathlight] :is(.Page--topNav, .Tracepage--headerSection, .TimelineHeaderRow) { width: " + LEFT + " }",
    "[data-pathlight] :is(.TraceDiff--graphWrapper, .DependencyGraph--graphWrapper, .TraceTimelineViewer--sidePanel)"
      + " { right: " + BESIDE + " !important }",
    // What is wider than the rest of the window: tables of a trace, and its flame graph.
    "[data-pathlight] :is(.Page--content:not(:has(> .Page--assistantShell--open)), .Page--assistantMain)"
      + ":has(.TraceStatisticsHeader, .title--TraceSpanView, .Flamegraph-toolbar) { overflow-x: auto }",
    // Beside an open assistant, what is fixed is fixed to its column, which is narrower already.
    "[data-pathlight] .Page--assistantShell--open :is(.Tracepage--headerSection, .TimelineHeaderRow)"
      + " { width: 100% !important }",
    "[data-pathlight] .Page--assistantShell--open :is(.TraceDiff--graphWrapper, .DependencyGraph--graphWrapper,"
      + " .TraceTimelineViewer--sidePanel) { right: 0 !important }",
    "}",
  ];

  const make = (name, properties, children = []) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  const button = make("button",
    { id: "pathlight-button", type: "button", hidden: true, title: "Where does the latency of these traces come from?" },
    ["Pathlight"]);
  const CLOSED = { element: null, frame: null, isReady: false, key: null, followed: null, turn: 0 };
  const panel = { ...CLOSED };

  const send = (message, transfer = []) =>
    panel.frame.contentWindow.postMessage({ pathlight: 1, ...message }, home.origin, transfer);

  // Says something in the panel's head; trouble comes with a way out.
  const tell = (words, trouble = null) => {
    panel.note.textContent = words;
    panel.retry.hidden = !trouble;
    panel.help.hidden = !trouble?.help;
    if (trouble?.help) [panel.help.textContent, panel.help.href] = trouble.help;
  };

  // Jaeger UI measures itself anew when the window changes.
  const changed = () => dispatchEvent(new Event("resize"));

  const widen = (width) => {
    const fits = Math.round(Math.max(320, Math.min(width, innerWidth - 360)));
    document.documentElement.style.setProperty("--pathlight-width", fits + "px");
    panel.grip.setAttribute("aria-valuenow", fits);
    panel.width = fits;
    changed();
  };

  const keepWidth = () => {
    try {
      localStorage.setItem("pathlight-width", panel.width);
    } catch {
      // Then it is as wide as ever the next time.
    }
  };

  const storedWidth = () => {
    try {
      return Number(localStorage.getItem("pathlight-width"));
    } catch {
      return 0;
    }
  };

  const grip = () => {
    const element = make("div", { id: "pathlight-grip", tabIndex: 0, title: "Drag to make the panel wider or narrower" });
    element.setAttribute("role", "separator");
    element.setAttribute("aria-orientation", "vertical");
    element.setAttribute("aria-label", "Width of Pathlight");
    const drag = (event) => widen(innerWidth - event.clientX);
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      element.setPointerCapture(event.pointerId);
      element.addEventListener("pointermove", drag);
    });
    element.addEventListener("lostpointercapture", () => {
      element.removeEventListener("pointermove", drag);
      keepWidth();
    });
    element.addEventListener("keydown", ({ key }) => {
      const by = { ArrowLeft: 40, ArrowRight: -40 }[key];
      if (!by) return;
      widen(panel.width + by);
      keepWidth();
    });
    return element;
  };

  // Puts a fresh Pathlight into the panel.
  const load = () => {
    const fragment = new URLSearchParams({ v: 1, embed: 1, allow: location.origin, theme: theme() });
    const frame = make("iframe", { id: "pathlight-frame", title: "Pathlight" });
    frame.src = new URL("#" + fragment, new URL("./", home)).href;
    panel.frame?.remove();
    Object.assign(panel, { frame, isReady: false, key: null });
    panel.element.append(frame);
    tell("Starting Pathlight...");
    // A frame that is refused says nothing; it only looks like one that has loaded.
    frame.addEventListener("load", () => setTimeout(() => frame === panel.frame && !panel.isReady && refused(), 8000));
  };

  const refused = () =>
    tell("Pathlight does not come up in this panel: there is none at " + home.href
      + ", or a policy does not let it be shown in a frame (frame-src here, frame-ancestors there).",
      { help: ["Open it in a window", home.href] });

  const open = () => {
    panel.link = make("a", { id: "pathlight-link", hidden: true }, ["Show in Jaeger UI"]);
    panel.note = make("span", { id: "pathlight-note" });
    panel.note.setAttribute("role", "status");
    panel.more = make("button", { id: "pathlight-more", type: "button", hidden: true });
    panel.report = make("button", { id: "pathlight-report", type: "button", hidden: true }, ["Save report"]);
    panel.help = make("a", { id: "pathlight-help", hidden: true, target: "_blank", rel: "noopener" });
    panel.retry = make("button", { id: "pathlight-retry", type: "button", hidden: true }, ["Retry"]);
    const close = make("button", { id: "pathlight-close", type: "button" }, ["Close"]);
    const head = make("div", { id: "pathlight-head" }, [panel.note, panel.help, panel.retry, panel.more, panel.report, panel.link, close]);
    panel.grip = grip();
    panel.element = make("aside", { id: "pathlight-panel" }, [panel.grip, head]);
    panel.element.setAttribute("aria-label", "Pathlight");
    panel.element.addEventListener("keydown", (event) => event.key === "Escape" && shut());
    close.addEventListener("click", shut);
    panel.link.addEventListener("click", follow);
    panel.more.addEventListener("click", handMore);
    panel.report.addEventListener("click", () => send({ type: "report" }));
    panel.retry.addEventListener("click", () => (panel.isReady ? handOver(shown(location, base)) : load()));
    load();
    document.body.append(panel.element);
    document.documentElement.dataset.pathlight = "";
    widen(storedWidth() || Math.max(0.45 * innerWidth, 600));
    button.hidden = true;
    close.focus();
  };

  const shut = () => {
    panel.element.remove();
    Object.assign(panel, CLOSED, { turn: panel.turn + 1 });
    delete document.documentElement.dataset.pathlight;
    changed();
    update();
    button.focus();
  };

  // Goes to the selected trace, which the panel has already.
  const follow = (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    panel.followed = shown(new URL(panel.link.href), base).key;
    show(window, panel.link.href, base);
  };

  const handOver = async (what) => {
    if (!what) return;
    panel.key = what.key;
    panel.turn += 1;
    panel.more.hidden = true;
    const turn = panel.turn;
    tell(what.parts.length ? "Reading " + what.title + "..." : what.note ?? "");
    if (!what.parts.length) return;
    // Meanwhile the page may show something else, or the panel be gone.
    const isWanted = () => panel.turn === turn && panel.element;
    try {
      const answer = await collect(what, base, (words) => isWanted() && tell(words));
      if (!isWanted() || !panel.isReady) return;
      const more = answer.nothing ? null : wider(what, answer.data);
      for (const message of messages(what, answer)) send(message, message.data ? [message.data] : []);
      if (answer.nothing) tell(answer.nothing);
      Object.assign(panel, { wider: more });
      panel.more.hidden = !more;
      panel.more.textContent = more?.label ?? "";
    } catch (error) {
      if (isWanted()) tell(error.message, error);
    }
  };

  // Loads more than is shown.
  const handMore = async () => {
    const { sets } = panel.wider;
    panel.turn += 1;
    panel.more.hidden = true;
    const turn = panel.turn;
    const isWanted = () => panel.turn === turn && panel.element && panel.isReady;
    // From Jaeger's own flame graph of one trace to that of all.
    const view = document.querySelector(".Flamegraph-toolbar") && !sets[0].side ? "flame" : null;
    const take = (message) => {
      if (isWanted()) send(message, [message.data]);
      return isWanted();
    };
    try {
      const parts = await collectMore(sets, base, (words) => isWanted() && tell(words), take);
      if (!isWanted()) return;
      if (!parts) tell("Jaeger has no others of that hour.");
      if (view) send({ type: "view", view });
    } catch (error) {
      if (!isWanted()) return;
      tell(error.message);
      panel.more.hidden = false;
    }
  };

  const say = {
    loaded: ({ traces, spans }) => counted(traces, "trace") + ", " + counted(spans, "span"),
    error: ({ message }) => message,
  };

  addEventListener("message", ({ source, origin, data }) => {
    if (!panel.frame || source !== panel.frame.contentWindow || origin !== home.origin || data?.pathlight !== 1) return;
    if (say[data.type]) tell(say[data.type](data));
    if (data.type === "loaded") panel.report.hidden = false;
    if (data.type === "ready") {
      panel.isReady = true;
      tell("");
      update();
    }
    // In the frame there is nothing left to close.
    if (data.type === "escape") shut();
    if (data.type === "select") {
      panel.link.href = link(base, data);
      panel.link.hidden = false;
    }
  });

  const update = () => {
    const what = shown(location, base);
    button.hidden = !what || Boolean(panel.element);
    if (!what || !panel.isReady) return;
    // A trace that was followed to from the panel is loaded there already, whatever is looked for in it.
    if (panel.followed !== what.key) panel.followed = null;
    if (panel.key !== what.key && !panel.followed) handOver(what);
  };

  // A link to Pathlight with this Jaeger, as in the menu, opens what is shown; the menu itself cannot know that.
  const plain = new WeakMap();
  const complete = ({ target }) => {
    const link = target.closest?.("a");
    if (!link?.href.startsWith(home.href)) return;
    const hash = plain.get(link) ?? link.hash;
    const query = new URLSearchParams(hash.slice(1));
    if (!query.has("api") || query.has("traceID")) return;
    plain.set(link, hash);
    const address = shown(location, base)?.address;
    link.hash = hash + (address ? "&" + address : "");
  };
  for (const kind of ["pointerdown", "click"]) addEventListener(kind, complete, true);

  button.addEventListener("click", open);
  document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
    if (panel.frame && !panel.isReady && effectiveDirective === "frame-src") refused();
  });
  for (const name of ["pushState", "replaceState"]) {
    const original = history[name];
    history[name] = function (...words) {
      const result = original.apply(this, words);
      // After whoever changes the page has done so.
      setTimeout(update);
      return result;
    };
  }
  addEventListener("popstate", () => setTimeout(update));
  // Jaeger UI changes its colours by attributes.
  const colours = new MutationObserver(() => panel.isReady && send({ type: "theme", theme: theme() }));
  const start = () => {
    // Not a style element, which a policy may forbid.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE.join("\n"));
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    for (const element of [document.documentElement, document.body]) {
      colours.observe(element, { attributes: true, attributeFilter: ["class", "data-theme"] });
    }
    document.body.append(button);
    update();
  };
  if (document.body) start();
  else addEventListener("DOMContentLoaded", start);
})();
