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
  // and what to add to Pathlight's own address for the same. Nothing on pages without traces, such as a comparison for which nothing is chosen.
  const shown = (address, base) => {
    const ids = tracesOf(address, base);
    if (ids.length) {
      const key = ids.join("...");
      const what = { key, title: "trace " + key, parts: ids.map(trace), address: "view=trace&" + byId(ids) };
      // Two traces that Jaeger UI compares are two sets here.
      if (ids.length === 2) return { ...what, pair: ids.map((id) => "trace " + id) };
      return { ...what, query: new URLSearchParams({ view: "trace", traceID: ids[0] }).toString() };
    }
    if (pageOf(address, base)[0] !== "search") return null;
    const search = new URLSearchParams(address.search);
    const list = search.getAll("traceID");
    if (list.length) {
      return { key: address.search, title: "traces by id", parts: list.map(trace), address: byId(list) };
    }
    const service = search.get("service");
    if (!service) return { key: "", title: "", parts: [] };
    const title = "search for " + (isAny(service) ? "all services" : service);
    const asked = completed(search);
    const words = [...asked].filter(([name]) => WORDS.includes(name));
    return { key: address.search, title, parts: [found(asked)], address: new URLSearchParams(words).toString() };
  };

  // What Pathlight's address and that of Jaeger UI call the same.
  const WORDS = ["service", "operation", "start", "end", "limit", "minDuration", "maxDuration", "tags"];

  const byId = (ids) => new URLSearchParams(ids.map((id) => ["traceID", id])).toString();

  const trace = (id) => {
    const name = encodeURIComponent(jaegerId(id));
    const missing = "There is no trace " + jaegerId(id) + ".";
    return { asks: { v3: "api/v3/traces/" + name, v1: "api/traces/" + name }, missing };
  };

  const UNITS = { s: 1e6, m: 60e6, h: 3600e6, d: 86400e6, w: 604800e6 };

  // Jaeger UI has names for "all services" and "all operations".
  const isAny = (name) => !name || name === "all" || /^__all_/.test(name);

  // A search with what Jaeger UI takes for what its address does not say.
  const completed = (search) => {
    const asked = new URLSearchParams(search);
    if (isAny(asked.get("operation"))) asked.delete("operation");
    if (isAny(asked.get("service"))) asked.set("service", "__all_services__");
    if (!asked.get("limit")) asked.set("limit", "20");
    if (!asked.get("start") || !asked.get("end")) {
      const [, number, unit] = /^(\d+)([smhdw])/.exec(asked.get("lookback") ?? "") ?? [null, 1, "h"];
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

  // The dialect that this Jaeger answered in last; nothing where nothing may be stored.
  const memory = (base, dialect) => {
    const key = "pathlight-dialect " + base.pathname;
    try {
      if (dialect) localStorage.setItem(key, dialect);
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };

  const login = (base) =>
    Object.assign(new Error("Your session has ended: log in again, then retry."), { help: ["Log in", base.href] });

  const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

  // Asks once more where a connection was cut, and after the time it names where Jaeger is busy. Nothing if there is no
  // answer.
  const answered = async (address, options, tries = 3) => {
    const response = await fetch(address, options)
      .then(async (response) => ({ response, data: await response.arrayBuffer() }))
      .catch(() => null);
    if (tries <= 1) return response;
    if (!response) {
      await wait(0.5);
      return answered(address, options, Math.min(tries - 1, 1));
    }
    const seconds = Number(response.response.headers.get("retry-after"));
    if (![429, 503].includes(response.response.status) || !(seconds >= 0 && seconds <= LONGEST_WAIT)) return response;
    await wait(seconds || 1);
    return answered(address, options, tries - 1);
  };

  // Seconds that a busy Jaeger is waited for.
  const LONGEST_WAIT = 30;

  // Asks for one part, first in the dialect remembered. Gives the bytes; nothing if there are no such traces.
  const ask = async (part, base) => {
    let reason = "";
    const order = Object.keys(part.asks);
    if (!part.isOrdered) order.unshift(memory(base));
    for (const dialect of new Set(order)) {
      if (!part.asks[dialect]) continue;
      const address = new URL(part.asks[dialect], base);
      const headers = { accept: "application/json" };
      // A redirect to another server is not followed: nobody has agreed to ask that.
      const mode = address.origin === location.origin ? "same-origin" : "cors";
      const answer = await answered(address, { headers, mode });
      if (!answer) {
        // A login of another origin may not be read; that there is a way to it can be seen.
        const probe = await fetch(address, { headers, redirect: "manual" }).catch(() => null);
        throw probe?.type === "opaqueredirect" ? login(base) : new Error("Jaeger cannot be reached.");
      }
      const { response, data } = answer;
      const head = new TextDecoder().decode(data.slice(0, 16384)).trimStart();
      if (response.status === 401) throw login(base);
      // An old server answers what it does not know with its own page; another page is that of a login.
      const isPage = head[0] === "<" && !head.includes("jaeger-ui-root");
      if (isPage && (response.ok || response.redirected)) throw login(base);
      const body = head[0] === "{" ? parsed(head) : null;
      const says = body?.error?.message ?? body?.errors?.[0]?.msg;
      if (response.ok && (head[0] === "{" || head[0] === "[") && !says) {
        memory(base, dialect);
        const isNothing = body && !body.data?.length && !(body.result ?? body).resourceSpans?.length;
        return isNothing ? null : data;
      }
      // A trace that is not there, or the newer dialect's answer to a search that finds none.
      if (response.status === 404 && (body?.error || part.missing && says)) {
        memory(base, dialect);
        return null;
      }
      const refusal = "Jaeger answers " + response.status + " " + (says ?? response.statusText);
      if (response.status >= 500 || [403, 429].includes(response.status)) throw new Error(refusal);
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
  const collect = async (what, base) => {
    const answers = await Promise.all(what.parts.map((part) => ask(part, base)));
    const data = answers.filter(Boolean);
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

  window.pathlightJaeger = { shown, collect, messages, link, show };
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
    panel.help = make("a", { id: "pathlight-help", hidden: true, target: "_blank", rel: "noopener" });
    panel.retry = make("button", { id: "pathlight-retry", type: "button", hidden: true }, ["Retry"]);
    const close = make("button", { id: "pathlight-close", type: "button" }, ["Close"]);
    const head = make("div", { id: "pathlight-head" }, [panel.note, panel.help, panel.retry, panel.link, close]);
    panel.grip = grip();
    panel.element = make("aside", { id: "pathlight-panel" }, [panel.grip, head]);
    panel.element.setAttribute("aria-label", "Pathlight");
    panel.element.addEventListener("keydown", (event) => event.key === "Escape" && shut());
    close.addEventListener("click", shut);
    panel.link.addEventListener("click", follow);
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
    const turn = panel.turn;
    tell(what.parts.length ? "Reading " + what.title + "..." : "");
    if (!what.parts.length) return;
    try {
      const answer = await collect(what, base);
      // Meanwhile the page may show something else, or the panel be gone.
      if (panel.turn !== turn || !panel.isReady) return;
      for (const message of messages(what, answer)) send(message, message.data ? [message.data] : []);
      if (answer.nothing) tell(answer.nothing);
    } catch (error) {
      if (panel.turn === turn && panel.element) tell(error.message, error);
    }
  };

  const counted = (number, word) => number + " " + word + (number === 1 ? "" : "s");

  const say = {
    loaded: ({ traces, spans }) => counted(traces, "trace") + ", " + counted(spans, "span"),
    error: ({ message }) => message,
  };

  addEventListener("message", ({ source, origin, data }) => {
    if (!panel.frame || source !== panel.frame.contentWindow || origin !== home.origin || data?.pathlight !== 1) return;
    if (say[data.type]) tell(say[data.type](data));
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
